"""Every error a user can meet, under one root.

Messages follow one grammar: ``<who>.<what> must be <allowed>; got <value>. <what to do>.``
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any, ClassVar, Literal, Protocol

from .text import clean, harmless

SITE = "https://uq-report.readthedocs.io/en/stable"

# How a command ends, for a pipeline; the reference prints this table.
DONE, FINDINGS, USAGE, INPUT, RENDER, VERIFICATION, UNJUDGED = 0, 1, 2, 3, 4, 5, 6
INTERNAL, OUTPUT, TEMPORARY, INTERRUPTED = 70, 74, 75, 130
EXIT_CODES: Mapping[int, str] = {
    DONE: "done, or nothing changed since the last run",
    FINDINGS: "a gate failed: an open finding at or above `fail_on`, or something that the gate reads or requires "
    "was not measured",
    USAGE: "the command line has a mistake",
    INPUT: "the input, model or data cannot be used",
    RENDER: "a report could not be rendered; what was computed is saved",
    VERIFICATION: "something filed or signed was changed",
    UNJUDGED: "it could not be assessed whether something was changed",
    INTERNAL: "a fault of uq_report or of a plugin; the message names the file with the details",
    OUTPUT: "something could not be written: a full disk, a closed pipe, a folder without rights",
    TEMPORARY: "to be tried later: another process holds the lock, a service does not answer, or predictions of a plan "
    "are missing",
    INTERRUPTED: "interrupted",
}

# By what kind of cause something did not run; run.schema.json says what each means.
Cause = Literal["not asked", "limit", "missing library", "data", "model", "fault"]


class UQReportError(Exception):
    """The root of all errors uq_report raises on purpose.

    `exit_code` is how a command ends by one, `cause` why a part of an audit does not run by one, `row` the first row
    that it is about, counted in what was checked.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/exit_codes.html

    Examples
    --------
    >>> InputError.exit_code, issubclass(InputError, UQReportError)
    (3, True)
    """

    exit_code: ClassVar[int] = INPUT
    cause: ClassVar[Cause] = "fault"

    def __init__(self, *words: str, row: int | None = None) -> None:
        super().__init__(*words)
        self.row = row


# What code of others may raise: it must not end the process either.
FOREIGN: tuple[type[BaseException], ...] = (Exception, SystemExit)


class InputError(UQReportError, ValueError):
    """A model, data set, argument or option that cannot be used as given."""

    cause: ClassVar[Cause] = "data"


class OutputError(InputError):
    """Something could not be written: a full disk, a closed pipe, something in the way, a folder without rights."""

    exit_code: ClassVar[int] = OUTPUT
    cause: ClassVar[Cause] = "fault"


class UnsupportedError(UQReportError):
    """A predictive distribution, measure or model cannot do what was asked."""

    cause: ClassVar[Cause] = "model"


class ModelError(UQReportError):
    """The model failed, or returned something that is no predictive distribution."""


class BudgetError(UQReportError):
    """A limit of rows, time or memory would be exceeded by the next prediction."""

    cause: ClassVar[Cause] = "limit"


class PluginError(UQReportError):
    """A plugin is missing, invalid, denied, or registered twice."""


class MissingDependencyError(UQReportError, ImportError):
    """An optional library is not installed; the message names the extra to install, that of its name by default."""

    cause: ClassVar[Cause] = "missing library"

    def __init__(self, who: str, library: str, extra: str = "") -> None:
        remedy = f"Install it with: pip install 'uq_report[{extra or library}]'."
        super().__init__(f"{who} needs {library}, which is not installed. {remedy}")


class LockedError(UQReportError):
    """Another process is at the same work; try again later."""

    exit_code: ClassVar[int] = TEMPORARY


class PendingError(UQReportError):
    """Predictions are missing that another program makes; the message names the file of rows."""

    exit_code: ClassVar[int] = TEMPORARY


class WorkersError(UQReportError):
    """A cluster does not answer, or has no workers; try again later."""

    exit_code: ClassVar[int] = TEMPORARY


class RenderError(UQReportError):
    """A report could not be rendered; the message names the template or output and the cause."""

    exit_code: ClassVar[int] = RENDER


def cause_of(error: BaseException) -> Cause:
    """Return why a part of an audit that raised an error did not run; what nobody raises on purpose is a fault.

    Examples
    --------
    >>> cause_of(BudgetError("no rows are left")), cause_of(ModuleNotFoundError("z")), cause_of(KeyError("a"))
    ('limit', 'missing library', 'fault')
    """
    if isinstance(error, ImportError) or isinstance(error.__cause__, ImportError):
        return "missing library"
    return error.cause if isinstance(error, UQReportError) else "fault"


def words_of(error: BaseException, limit: int = 500) -> str:
    r"""Return what an error says: one of ours by its own words, another on one line after its type, without controls.

    Examples
    --------
    >>> words_of(InputError("X must have rows; got none.")), words_of(KeyError("b")), words_of(ValueError("\x1b[31m a"))
    ('X must have rows; got none.', "KeyError: 'b'", 'ValueError: [31m a')
    >>> words_of(ValueError())
    'ValueError'
    """
    if isinstance(error, UQReportError):
        return harmless(str(error))
    return f"{type(error).__name__}: {clean(error, limit)}".removesuffix(": ")


def attribute_of(model: Any, name: str) -> Any:
    """Return an attribute of a model, None where it has none; one that fails is the model's fault, said by name.

    Examples
    --------
    >>> attribute_of(3, "classes_") is None
    True
    """
    try:
        return getattr(model, name, None)
    except FOREIGN as error:
        raise ModelError(
            f"model.{name} must be readable; {type(model).__name__} raises {words_of(error)}. Mend the property."
        ) from error


_NAMES: Mapping[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("foreign_names.toml").read_text(encoding="utf-8")
)
# Names in scikit-learn, shap, DALEX and other libraries -> ours, the first that a call takes.
FOREIGN_NAMES = {name: tuple(ours.split()) for ours, names in _NAMES.items() for name in names}


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Say which allowed name is meant, if one is close or the same thing has that name in another library.

    Examples
    --------
    >>> nearest("entrpy", ["entropy", "nll"]), nearest("X_test", ["X", "y", "train"])
    ("Did you mean 'entropy'?", "Did you mean 'X'?")
    >>> nearest("zzz", ["entropy", "nll"])
    'Allowed: entropy, nll.'
    """
    names = sorted(allowed)
    same = [ours for ours in FOREIGN_NAMES.get(name, ()) if ours in names]
    close = same or get_close_matches(name, names, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Allowed: {', '.join(names)}."


def meant(name: object, allowed: Iterable[object]) -> str:
    """Return the allowed name that is meant as the end of a message, if one is close."""
    hint = nearest(str(name), (each for each in allowed if isinstance(each, str)))
    return f" {hint}" if hint.startswith("Did you mean") else ""


def check_choice(who: str, given: object, allowed: Iterable[object]) -> None:
    """Refuse what is none of the allowed values; of these the message has the first 20.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_choice("profile.kind", "averge", ("average", "individual"))
    Traceback (most recent call last):
    ...
    uq_report.core.support.errors.InputError: profile.kind must be one of ['average', 'individual']; got 'averge'. ...
    """
    values = list(allowed)
    if given not in values:
        raise InputError(f"{who} must be one of {values[:20]}; got {given!r}.{meant(given, values)}")


def to_type(code: str) -> str:
    """Return the end of a refusal: the lines that work when typed, and the page that says more.

    They may use what the reader has: `model`, `X` and `y`, the training rows `X_train` and `y_train`, and other rows
    `X_calibration` and `y_calibration` that neither the fit nor the audit uses.

    Examples
    --------
    >>> print("model.voting must be 'soft'; got 'hard'. " + to_type("model.voting = 'soft'"))
    model.voting must be 'soft'; got 'hard'. Type:
    <BLANKLINE>
        model.voting = 'soft'
    <BLANKLINE>
    https://uq-report.readthedocs.io/en/stable/models.html lists what every family of models supports.
    """
    return f"Type:\n\n{indent(code, '    ')}\n\n{SITE}/models.html lists what every family of models supports."


def check_options(who: str, options: object, rules: Sequence[tuple[str, bool, str]]) -> None:
    """Refuse every option whose rule does not hold; a rule is its field, whether it holds, and what is allowed."""
    wrong: dict[str, str] = {}
    for field, holds, allowed in rules:
        if not holds:
            wrong.setdefault(field, f"{who}.{field} must be {allowed}; got {getattr(options, field)!r}.")
    if wrong:
        raise InputError("\n".join(wrong.values()))


class NeedsLibraries(Protocol):
    """Optional: a plugin that is of no use without libraries that its distribution does not always bring.

    Parameters
    ----------
    libraries : tuple of str
        The names by which they are imported; the first is the one that people know.
    """

    libraries: ClassVar[tuple[str, ...]]


def optional(module: str, who: str, library: str, extra: str = "") -> Any:
    """Return an optional module for `who` needs it; refuse with the `extra` to install where it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(who, library, extra) from error


def installed(library: str) -> bool:
    """Say whether a library can be found, without importing it.

    Examples
    --------
    >>> installed("json"), installed("no_such_library")
    (True, False)
    """
    try:
        return find_spec(library) is not None
    except ValueError:  # it is blocked in sys.modules
        return False
