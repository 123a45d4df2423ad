"""The one template environment: sandboxed, always escaping, and strict about missing names."""

import json
import pickle
import subprocess
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateAssertionError, TemplateNotFound, TemplateSyntaxError
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..core.support.errors import RenderError
from ..core.support.processes import command
from ..core.support.text import clean
from .bounds import CLOCK
from .filters import FILTERS, GLOBALS, TESTS, printable
from .theme import NO_THEME, StyleLoader, read_theme, refuse_unused

HELP = "templates/README.md lists the fields."
TEMPLATES = 2  # the version of what themes may rely on
MAX_PAGE = 50_000_000  # characters; the largest reports have a few million
MAX_STEPS = 1_000_000  # of all `range` of one page
MAX_PRODUCT = 1_000_000  # characters or items of a repeated text or list

_steps: ContextVar[int] = ContextVar("steps")


class Limits(NamedTuple):
    """Processor time of a page (the largest reports take a few seconds), and memory beside what libraries take."""

    cpu_seconds: float = 60.0
    memory_mb: int = 2048


USUAL = Limits()


class _AlwaysEscaping(CodeGenerator):
    """Jinja's compiler without the tag that turns escaping off."""

    def visit_ScopedEvalContextModifier(  # noqa: N802 - the name Jinja calls
        self, node: nodes.ScopedEvalContextModifier, frame: Frame
    ) -> NoReturn:
        del frame
        raise TemplateAssertionError("'autoescape' is not allowed: text is always escaped", node.lineno, self.name)


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which also refuses what a page has no use for: huge texts by one operator or call."""

    code_generator_class = _AlwaysEscaping
    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute a product of numbers, or of a text and a number that stays small."""
        if operator == "**":
            raise TypeError("'**' is not allowed in templates")
        sized, times = (left, right) if hasattr(left, "__len__") else (right, left)
        if hasattr(sized, "__len__") and isinstance(times, int) and len(sized) * times > MAX_PRODUCT:
            raise OverflowError(f"a text or list repeated must stay below {MAX_PRODUCT} items")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call what the sandbox allows, without counts such as those of ``"".ljust(10**9)``; macros print numbers."""
        if not isinstance(obj, Macro) and any(
            isinstance(value, int) and value > MAX_PRODUCT for value in (*args, *kwargs.values())
        ):
            raise OverflowError(f"a count must stay below {MAX_PRODUCT}")
        return super().call(context, obj, *args, **kwargs)


def _limited_range(*bounds: int) -> range:
    """Return a range, as long as all of this page's ranges are not too long together."""
    steps = range(*bounds)
    left = _steps.get(MAX_STEPS) - len(steps)
    if left < 0:
        raise OverflowError(f"all ranges of a page together must stay below {MAX_STEPS} steps")
    _steps.set(left)
    return steps


def templates_dir() -> Path:
    """Return our templates: beside pyproject.toml in a checkout, else inside the installed package."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent / "templates"
    if (package.parent / "pyproject.toml").is_file() and (checkout / "report.html").is_file():
        return checkout
    return package / "templates"


@lru_cache
def environment() -> ImmutableSandboxedEnvironment:
    """Return the environment of our own templates."""
    return _made(None)


def _made(house: Path | None) -> ImmutableSandboxedEnvironment:
    """Return an environment.

    ``report.html`` is the `house` style's if it has one, else ours; ``uq_report/report.html`` is always ours.
    """
    if house is not None and not house.is_dir():
        raise RenderError(f"render.templates must be a directory; got {str(house)!r}. Create it or leave it out.")
    ours = FileSystemLoader(templates_dir())
    own = [] if house is None else [StyleLoader(house)]
    loader = ChoiceLoader([*own, PrefixLoader({"uq_report": ours}), ours])
    jinja = _Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters.update(FILTERS)
    jinja.globals.update(GLOBALS, range=_limited_range)
    jinja.tests.update(TESTS)
    del jinja.filters["safe"]
    jinja.globals["theme"] = read_theme(house) if house is not None else NO_THEME
    _check_contract(jinja.parse(loader.get_source(jinja, "report.html")[0], "report.html"))
    return jinja


def _check_contract(page: nodes.Template) -> None:
    """Refuse a page that says, by ``{% set templates = 1 %}``, that it is written for another version than ours."""
    for node in page.find_all(nodes.Assign):
        version = node.node.value if isinstance(node.node, nodes.Const) else None
        if getattr(node.target, "name", "") == "templates" and version != TEMPLATES:
            raise RenderError(f"template report.html is written for templates {version}; these are {TEMPLATES}. {HELP}")


def render(house: Path | None, kind: str, limits: Limits = USUAL, **data: object) -> str:
    """Fill the template of a kind of document, such as ``brief.html``; a theme's in a process of its own.

    Raises
    ------
    RenderError
        A template is missing, does not parse, uses a field that does not exist, writes without end, takes too much
        time or memory, or leads out of its folder; the message names file and line.
    """
    return fill(None, kind, data) if house is None else filled_apart(house, kind, data, limits)


def ready(house: Path | None, kind: str, limits: Limits = USUAL) -> None:
    """Refuse a kind of document whose template is missing, and a theme that does not parse; see `render`."""
    if house is None:
        fill(None, kind, None)
    else:
        filled_apart(house, kind, None, limits)


def fill(house: Path | None, kind: str, data: Mapping[str, object] | None) -> str:
    """Fill a template in this process; without data parse it, and all of a theme, and return no text. See `render`."""
    _steps.set(MAX_STEPS)
    with _faults_placed():
        jinja = environment() if house is None else _made(house)
        template = jinja.get_template(f"{kind}.html")
        if data is not None:
            return "".join(_capped(template.generate(data)))
        names = [] if house is None else FileSystemLoader(house).list_templates()
        for name in names:
            if name.endswith(".html"):
                jinja.get_template(name)
        if house is not None:
            refuse_unused(jinja, house, names, FileSystemLoader(templates_dir()).list_templates())
    return ""


@contextmanager
def _faults_placed() -> Iterator[None]:
    """Raise what goes wrong in a template with its file and line."""
    try:
        yield
    except RenderError:
        raise
    except TemplateSyntaxError as error:
        place = f"{error.filename or error.name}, line {error.lineno}"
        raise RenderError(f"template {place}: {error.message}. {HELP}") from error
    except TemplateNotFound as error:
        raise RenderError(f"template {_place(error)}: there is no template {error.message!r}. {HELP}") from error
    except MemoryError as error:
        raise RenderError(f"template {_place(error)}: no memory is left. Look for a text that grows.") from error
    except Exception as error:  # a template can fail in any way; the reader needs its file and line
        raise RenderError(f"template {_place(error)}: {error}. {HELP}") from error


def _capped(parts: Iterator[str]) -> Iterator[str]:
    """Pass a page on until it is too long to be one."""
    length = 0
    for part in parts:
        length += len(part)
        if length > MAX_PAGE:
            raise RenderError(f"template: a page must stay below {MAX_PAGE} characters; it does not. Look for a loop.")
        yield part


def _place(error: Exception) -> str:
    """Return file and line of the innermost template an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f"{frame.filename}, line {frame.lineno}" for frame in frames if not frame.filename.endswith(".py")]
    return inside[-1] if inside else "of the page"


def filled_apart(house: Path, kind: str, data: Mapping[str, object] | None, limits: Limits) -> str:
    """Return a page that a process of its own fills; without `data`, parse its templates and return no text.

    Parsing alone may take all memory, as Jinja computes constants.

    Raises
    ------
    RenderError
        See `render`; or the process could not be started, or ended without a page.
    """
    seconds = ceil(limits.cpu_seconds)
    words = command("uq_report.render.filler", str(seconds), str(limits.memory_mb))
    job = pickle.dumps((house.resolve(), kind, data))
    try:
        done = subprocess.run(words, input=job, capture_output=True, check=False, timeout=2 * CLOCK * seconds)  # noqa: S603 - our own interpreter and module
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RenderError(f"template: the process that fills {house} must start and end; got {error}.") from error
    line, _, page = done.stdout.partition(b"\n")
    head = json.loads(line) if line.startswith(b"{") else {"size": -1}
    if "error" in head:
        raise RenderError(str(head["error"]))
    if head["size"] != len(page):
        noise = clean(done.stderr.decode(errors="replace"), 300) or "no message"
        raise RenderError(
            f"template: a page of {house} must need less than {seconds} s of processor time and {limits.memory_mb} MB; "
            f"the process that fills it ended with {done.returncode} ({noise}). Look for a loop, or a text that grows, "
            "or raise template_cpu_seconds or template_memory_mb."
        )
    return page.decode("utf-8", "surrogatepass")
