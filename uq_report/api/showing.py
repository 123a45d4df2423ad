"""Reports and figures on the screen: in the notebook's cell at work, else in the browser."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any


def in_notebook() -> bool:
    """Say whether a kernel of IPython is at work."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def show(thing: Any) -> None:
    """Show a thing with a notebook's hooks below the cell at work."""
    import_module("IPython.display").display(thing)


def show_page(content: bytes) -> None:
    """Show a page of HTML: in a frame below the cell at work, else in the browser."""
    if in_notebook():
        frame = f'<iframe srcdoc="{escape(content.decode())}" style="width:100%;height:720px;border:0"></iframe>'
        show(import_module("IPython.display").HTML(frame))
    else:
        open_file(content, ".html")


def open_file(content: bytes, suffix: str) -> None:
    """Write a temporary file and open it in the browser."""
    with tempfile.NamedTemporaryFile(prefix="uq-report-", suffix=suffix, delete=False) as file:
        file.write(content)
    webbrowser.open(Path(file.name).as_uri())
