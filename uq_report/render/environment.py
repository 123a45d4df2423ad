"""The one template environment: sandboxed, always escaping, and strict about missing names."""

from __future__ import annotations

import traceback
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined, TemplateAssertionError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..core.errors import RenderError
from .filters import FILTERS, GLOBALS, TESTS, printable

HELP = "templates/README.md lists the fields."


class _AlwaysEscaping(CodeGenerator):
    """Jinja's compiler without the tag that turns escaping off."""

    def visit_ScopedEvalContextModifier(  # noqa: N802 - the name Jinja calls
        self, node: nodes.ScopedEvalContextModifier, frame: Frame
    ) -> NoReturn:
        del frame
        raise TemplateAssertionError("'autoescape' is not allowed: text is always escaped", node.lineno, self.name)


class _Environment(ImmutableSandboxedEnvironment):
    code_generator_class = _AlwaysEscaping


def templates_dir() -> Path:
    """Return our templates: beside pyproject.toml in a checkout, else inside the installed package."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent / "templates"
    if (package.parent / "pyproject.toml").is_file() and (checkout / "report.html").is_file():
        return checkout
    return package / "templates"


@lru_cache
def environment(house: Path | None = None) -> ImmutableSandboxedEnvironment:
    """Return the environment; templates of a `house` style come first, ours stay under ``uq_report/``."""
    ours = PrefixLoader({"uq_report": FileSystemLoader(templates_dir())})
    made = _Environment(
        loader=ours if house is None else ChoiceLoader([FileSystemLoader(house), ours]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals.update(GLOBALS)
    made.tests.update(TESTS)
    del made.filters["safe"]
    return made


def render(house: Path | None, **data: object) -> str:
    """Fill ``report.html``: the house style's if it has one, else ours.

    Raises
    ------
    RenderError
        A template is missing, does not parse, or uses a field that does not exist; the message
        names file and line.
    """
    if house is not None and not house.is_dir():
        raise RenderError(f"render.templates must be a directory; got {str(house)!r}. Create it or leave it out.")
    try:
        return environment(house).select_template(["report.html", "uq_report/report.html"]).render(data)
    except RenderError:
        raise
    except TemplateSyntaxError as error:
        place = f"{error.filename or error.name}, line {error.lineno}"
        raise RenderError(f"template {place}: {error.message}. {HELP}") from error
    except TemplateNotFound as error:
        raise RenderError(f"template {_place(error)}: there is no template {error.message!r}. {HELP}") from error
    except Exception as error:  # a template can fail in any way; the reader needs its file and line
        raise RenderError(f"template {_place(error)}: {error}. {HELP}") from error


def _place(error: Exception) -> str:
    """Return file and line of the innermost template an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f"{frame.filename}, line {frame.lineno}" for frame in frames if not frame.filename.endswith(".py")]
    return inside[-1] if inside else "report.html"
