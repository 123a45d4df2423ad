"""The files of a theme: read in their folder and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG

from jinja2 import BaseLoader, Environment
from jinja2.exceptions import TemplateNotFound
from jinja2.loaders import split_template_path

from ..core.support.errors import RenderError

MAX_FILE = 5_000_000  # bytes


class StyleLoader(BaseLoader):
    """Loads the templates of a folder.

    A name is resolved once, and what it leads to is opened step by step without links: a link that is put in its way
    meanwhile is not followed. Links inside the folder are, as volumes of Kubernetes have them.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    RenderError
        By `get_source`: a file leads out of the folder, is no text in UTF-8, no file at all, or has more than
        5 million bytes.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's text and file."""
        del environment
        place = self._root.joinpath(*split_template_path(template))
        real = place.resolve()
        if not real.is_relative_to(self._root):
            raise RenderError(
                f"template {template} must lie in the folder of its style, {self._root}; it leads to {real}. "
                "Copy the file into the folder."
            )
        try:
            text = _read(self._root, real).decode()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise TemplateNotFound(template) from error
        except UnicodeDecodeError as error:
            raise RenderError(f"template {template} must be text in UTF-8; got {error}. Save it so.") from error
        except OSError as error:
            raise RenderError(f"template {template} must be a readable file; got {error}. Mend it.") from error
        return text, str(place), lambda: True


def _read(root: Path, file: Path) -> bytes:
    """Return what a file holds that has no links on its way from `root`."""
    with os.fdopen(_opened(root, file), "rb") as stream:
        if not S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("no regular file")
        content = stream.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise OSError(f"more than {MAX_FILE} bytes")
    return content


def _opened(root: Path, file: Path) -> int:
    if os.open not in os.supports_dir_fd:  # Windows
        return os.open(file, os.O_RDONLY)
    here = os.open(root, os.O_RDONLY)
    for part in file.relative_to(root).parts:
        try:
            deeper = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
        finally:
            os.close(here)
        here = deeper
    return here
