"""What a full audit needs of a machine: Python, libraries, fonts; each with the remedy."""

from __future__ import annotations

import platform
from ctypes.util import find_library
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from ..render.libraries import PANGO
from ..runner import plugins


class Finding(NamedTuple):
    """One thing looked at: ``ready``, ``missing`` (reports fail without it) or ``optional``."""

    what: str
    state: str
    detail: str


def examine() -> list[Finding]:
    """Look at everything once; import the libraries that fail at import when parts of them are missing."""
    return [
        Finding("Python", "ready", platform.python_version()),
        _self(),
        _weasyprint(),
        _subsetter(),
        _fonts(),
        *(_optional(module, extra) for module, extra in plugins.optional("uq_report", "full").items()),
    ]


def _self() -> Finding:
    built_in = [plugin for plugin in plugins.find(plugins.EXPLAINERS) if plugin.distribution == "uq_report"]
    if not built_in:
        return Finding("uq_report", "missing", "it is not installed, so no plugin is registered: pip install uq_report")
    return Finding("uq_report", "ready", f"{built_in[0].version}, {len(built_in)} explainers")


def _weasyprint() -> Finding:
    try:
        version = import_module("weasyprint").__version__
    except OSError as error:
        return Finding("WeasyPrint", "missing", f"{str(error).splitlines()[0]}. {PANGO}")
    except ImportError as error:
        return Finding("WeasyPrint", "missing", f"{error}. pip install weasyprint")
    return Finding("WeasyPrint", "ready", str(version))


def _subsetter() -> Finding:
    if find_library("harfbuzz-subset"):
        return Finding("HarfBuzz subsetter", "ready", "equal inputs give equal bytes of the PDF")
    return Finding("HarfBuzz subsetter", "optional", f"not found: bytes of the PDF may differ between runs. {PANGO}")


def _fonts() -> Finding:
    fonts = import_module("matplotlib.font_manager").fontManager.ttflist
    if any(font.name == "DejaVu Sans" and "matplotlib" not in font.fname for font in fonts):
        return Finding("Fonts", "ready", "DejaVu Sans is installed")
    return Finding(
        "Fonts", "optional", "DejaVu Sans is not installed: another font is used. apt-get install fonts-dejavu-core"
    )


def _optional(module: str, extra: str) -> Finding:
    if find_spec(module) is None:
        return Finding(module, "optional", f"not installed: pip install 'uq_report[{extra}]'")
    return Finding(module, "ready", plugins.versions([module]).get(module, "installed"))
