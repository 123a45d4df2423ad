"""What decides an audit beside its subject, typed and frozen."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, date, datetime
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from ..core.statistics.inference import CONFIDENCE
from ..core.support.errors import InputError, meant, nearest
from ..evidence.canonical import plain

# Facts of the machine, not of the audit: they change no number, so they are kept out of run.json.
MACHINE = frozenset({"n_jobs", "backend", "scheduler"})


# simple models that an audit can fit as its benchmark: in words, and of which outcomes
BENCHMARKS: Mapping[str, tuple[str, str]] = {
    "logistic": ("logistic regression", "classes"),
    "ridge": ("Bayesian ridge regression", "numbers"),
    "poisson": ("Poisson regression", "numbers"),
    "constant": ("constant prediction", ""),
}


def logical_date(environ: Mapping[str, str] = os.environ) -> str:
    """Return the report's date: SOURCE_DATE_EPOCH if set, else today.

    Examples
    --------
    >>> logical_date({"SOURCE_DATE_EPOCH": "0"})
    '1970-01-01'
    """
    epoch = environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return datetime.now().astimezone().date().isoformat()
    try:
        return datetime.fromtimestamp(int(epoch), tz=UTC).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"SOURCE_DATE_EPOCH must be seconds since 1970 as an integer; got {epoch!r}. Correct or unset it."
        ) from error


def _is_date(text: str) -> str:
    try:
        date.fromisoformat(text if len(text) == len("2000-01-01") else "")
    except ValueError as error:
        raise ValueError("a date written YYYY-MM-DD") from error
    return text


def must(holds: Callable[[Any], bool], allowed: str) -> Callable[[Any], Any]:
    """Return a validator that takes the values for which `holds` is true; the message says what is allowed."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(allowed)
        return value

    return check


def _number(kind: type, allowed: str) -> BeforeValidator:
    """Return a validator of numbers of a kind of the abstract ones; text and booleans are none."""
    return BeforeValidator(must(lambda value: isinstance(value, kind) and not isinstance(value, bool), allowed))


_WHOLE, _REAL = _number(Integral, "an integer"), _number(Real, "a number")
Switch = Annotated[bool, Field(strict=True)]
Positive = Annotated[int, Field(ge=1), _WHOLE]
Level = Annotated[float, Field(gt=0.5, lt=1), _REAL]
_WORKERS = "a number of workers, or -1 for all processors"
Workers = Annotated[int, AfterValidator(must(lambda value: value >= 1 or value == -1, _WORKERS)), _WHOLE]
_ONE_OR_MORE = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema(_ONE_OR_MORE),
]
Date = Annotated[str, AfterValidator(_is_date)]
Noun = Annotated[str, AfterValidator(must(lambda value: len(value) <= 40, "a word of at most 40 characters"))]
Text = Annotated[str, AfterValidator(must(str.strip, "some text"))]


if TYPE_CHECKING:  # type checkers know the fields, and the type of a model by its private name alone
    from pydantic._internal._model_construction import ModelMetaclass as _Answering
else:

    class _Answering(type(BaseModel)):
        """The type of settings, which answer a mistake in their call in the grammar of errors."""

        def __call__(cls, *values: Any, **fields: Any) -> Any:
            if values:
                raise InputError(f"{cls.__name__} must be given by name; got {values[0]!r}. Fields: {_names(cls, ())}.")
            try:
                return super().__call__(**fields)
            except ValidationError as error:
                raise _refusal(cls, fields, cls.__name__, error) from None


class SettingsPart(BaseModel, metaclass=_Answering):
    """A part of the settings, frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class About(SettingsPart):
    """What only people can say of a model and its audit; an empty text is shown as open, never made up.

    Parameters
    ----------
    title, author, classification : str
        Of the report; the classification ("internal") is printed on every page.
    status : {"draft", "final"}
    version, owner, tier, users : str
        Of the model, as in the inventory.
    purpose, intended_use, out_of_scope, materiality, assumptions : str
    legal_basis : str
        For the use of protected attributes.
    observation, unit : str
        What one observation is called ("application"), and the unit of the outcome ("kW").
    data_origin, data_split, data_licence : str
    preparer, validator, approver, independence : str
        For the sign-off.
    signers : str
        Names of the signatures that the PDF is to bear, with commas between them; `verify` tells which it lacks.
    response, next_review : str
        What happens when a threshold is crossed; when the model is looked at again.
    """

    title: str = ""
    author: str = ""
    classification: str = ""
    status: Literal["draft", "final"] = "draft"
    version: str = ""
    owner: str = ""
    tier: str = ""
    users: str = ""
    purpose: str = ""
    intended_use: str = ""
    out_of_scope: str = ""
    materiality: str = ""
    assumptions: str = ""
    legal_basis: str = ""
    observation: Noun = ""
    unit: Noun = ""
    data_origin: str = ""
    data_split: str = ""
    data_licence: str = ""
    preparer: str = ""
    validator: str = ""
    approver: str = ""
    independence: str = ""
    signers: str = ""
    response: str = ""
    next_review: str = ""


class WaiverSettings(SettingsPart):
    """A finding that somebody answers for until a day; see `evidence.finding.Waiver`."""

    code: Text
    owner: Text
    reason: Text
    expires: Date
    feature: str = ""


class Action(SettingsPart):
    """Who deals with a finding, until when, and the management response; printed with the finding."""

    code: Text
    owner: Text
    due: Date
    feature: str = ""
    response: str = ""


class RunSettings(SettingsPart):
    """What is run, and how; `confidence` is the level of every interval of the run."""

    explainers: Names | None = None
    checks: Names | None = None
    seed: Annotated[int, Field(ge=0), _WHOLE] = 0
    confidence: Level = CONFIDENCE
    n_jobs: Workers = 1
    backend: Literal["auto", "threading", "loky", "dask"] = "auto"
    scheduler: Text | None = None
    as_of: Date = Field(default_factory=logical_date)
    fast_paths: Switch = True
    deny: Names = ()
    require: Names = ()
    benchmark: Text | None = None


class BudgetSettings(SettingsPart):
    """Limits; what they cut is listed as not run. A time limit makes a run that hit it not reproducible."""

    batch_rows: Positive | None = None
    row_budget: Positive | None = None
    time_limit: Annotated[float, Field(gt=0), _REAL] | None = None
    cpu_time: Annotated[float, Field(gt=0), _REAL] | None = None
    memory_limit_mb: Positive | None = None


class Settings(RunSettings, BudgetSettings):
    """Everything that decides an audit, beside the subject.

    ``audit.toml`` has the same names in its sections ``[run]``, ``[budget]`` and ``[about]``.

    Parameters
    ----------
    explainers : tuple of str, optional
        Names of the explainers to run; all that are registered by default.
    checks : tuple of str, optional
        Names of the checks to run; all by default.
    options : mapping of str to mapping
        Options of explainers, and of checks as ``checks.<name>``, ``{"NAME": {"n_repeats": 10}}``.
    seed : int
        All random streams derive from it.
    confidence : float
        Level of every interval of the run, between 0.5 and 1; levels of tests are options of the rules.
    n_jobs : int
        Workers; they change no number.
    backend : {"auto", "threading", "loky", "dask"}
        What the workers are. ``"auto"``: dask where a scheduler is given, else processes (loky), or threads where the
        model cannot be pickled.
    scheduler : str, optional
        Address of a dask scheduler, ``"tcp://host:8786"``: the run uses the workers it has, whatever `n_jobs` says.
    fast_paths : bool
        Whether the structure of a model may be used to predict changed rows, where that agrees with the model itself
        on rows compared in the run; they change results by rounding only.
    batch_rows, row_budget : int, optional
        Rows per predict call, and in all; see `core.engine.Engine`.
    time_limit : float, optional
        Seconds of an audit from the call of the verb on, without the reading of files and the writing of reports; two
        models side by side share them. The most valuable explainers that fit run first, each with what it needs; one
        that reaches the limit, or whose pace says that it will, stops where it computes. A twentieth of it is for
        rules and records. What was cut is not run, listed with what it would have taken, and the run says that it
        cannot be reproduced.
    cpu_time : float, optional
        Seconds of the processor, which a busy machine does not use up: those of this process and of its workers
        while they predict. Beyond them the explainer at work is stopped at its next step.
    memory_limit_mb : int, optional
        Memory of this process beyond which the explainer at work is stopped at its next step.
    as_of : str
        The report's date, ``YYYY-MM-DD``; else SOURCE_DATE_EPOCH, else today.
    deny, require : tuple of str
        Plugins that must not be imported, and that must be there: a name, ``group.name``, or a distribution.
    benchmark : str, optional
        A simple model that is fitted to the training rows, whose scores stand beside the model's with paired
        differences: ``"logistic"``, ``"ridge"``, ``"poisson"`` or ``"constant"``; in ``audit.toml`` also the file of a
        fitted model.
    about : About
        Texts of the report; empty ones are shown as open.
    waivers : tuple of WaiverSettings
        Findings that are not open while the waiver holds.
    actions : tuple of Action
        Owners and due dates of findings.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/audit_toml.html

    Examples
    --------
    >>> Settings(seed=1, as_of="2026-01-31").seed
    1
    """

    options: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    about: About = About()
    waivers: tuple[WaiverSettings, ...] = ()
    actions: tuple[Action, ...] = ()

    def recorded(self) -> dict[str, Any]:
        """Return the settings that enter run.json, as JSON values; those without a place in older runs if given."""
        later: dict[str, Any] = {key: True for key in ("cpu_time", "benchmark") if getattr(self, key) is None}
        later |= {} if self.about.signers else {"about": {"signers"}}
        dumped = self.model_dump(mode="json", exclude={**dict.fromkeys((*MACHINE, "options"), True), **later})
        return dumped | {"options": plain(self.options, "options")}


P = TypeVar("P", bound=BaseModel)


def make_settings(content: Mapping[str, Any], who: str = "settings") -> Settings:
    """Return validated settings; list every mistake at once, by key.

    Raises
    ------
    InputError
        One line per mistake, with the nearest valid name for an unknown key.
    """
    return validated(Settings, {key: value for key, value in content.items() if value is not None}, who)


def validated(model: type[P], content: Mapping[str, Any], who: str) -> P:
    """Return an object of a part of the configuration; `who` opens each line of the error."""
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        raise _refusal(model, content, who, error) from error


def settled(model: type[P], content: Mapping[str, Any], who: str = "") -> tuple[P | None, list[str]]:
    """Return an object and all mistakes by key; with mistakes, what is left without the keys they are in.

    `who` opens each line. What is left serves to look for more mistakes, never to run: None, if nothing can be made of
    it.
    """
    rest = deepcopy(dict(content))
    mistakes: dict[tuple[str, ...], str] = {}
    for _ in range(2):
        try:
            return model.model_validate(rest), [*mistakes.values()]
        except ValidationError as error:
            for place, line in _mistakes(model, rest, who, error).items():
                mistakes.setdefault(place, line)  # a mistaken key that was removed is missing the second time
            for detail in error.errors():
                _remove(rest, _place(rest, detail))
    return None, [*mistakes.values()]


def refuse(mistakes: Iterable[str], who: str = "") -> None:
    """Raise one error of all mistakes, if there are any; `who`, the name of a file, opens each line."""
    lines = [f"{who}: {line}" if who else line for line in dict.fromkeys(mistakes)]
    if lines:
        raise InputError("\n".join(lines))


def _refusal(model: type[BaseModel], content: Any, who: str, error: ValidationError) -> InputError:
    """Return the error with one line per mistaken key."""
    return InputError("\n".join(_mistakes(model, content, who, error).values()))


def _mistakes(model: type[BaseModel], content: Any, who: str, error: ValidationError) -> dict[tuple[str, ...], str]:
    """Return one line per mistaken key; what a key may be instead is joined from all of its alternatives."""
    by_key: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for detail in error.errors():
        by_key.setdefault(_place(content, detail), []).append(detail)
    return {place: _mistake(model, who, place, details) for place, details in by_key.items()}


def _mistake(model: type[BaseModel], who: str, place: tuple[str, ...], details: Sequence[ErrorDetails]) -> str:
    """Return one mistake in the grammar of errors."""
    key = ".".join(filter(None, (who, *place)))
    detail = details[0]
    if detail["type"] == "extra_forbidden":
        return f"{key} must be a known setting; got {place[-1]!r}. {nearest(place[-1], _names(model, place[:-1]))}"
    if detail["type"] == "missing":
        return f"{key} must be given; it is missing."
    needs = (each["msg"].removeprefix("Input should be ").removeprefix("Value error, ") for each in details)
    return f"{key} must be {' or '.join(dict.fromkeys(needs))}; got {_shown(detail['input'])}.{_choice_meant(detail)}"


def _shown(value: Any) -> str:
    """Return a refused value, of an address only what comes before its first colon: it may hold a password."""
    shown = repr(value)
    return f"{shown.partition(':')[0]}:***" if re.search(r"://|:.*@", shown) else shown


def _choice_meant(detail: ErrorDetails) -> str:
    """Return the choice that is meant, if one is close."""
    if detail["type"] not in ("literal_error", "enum") or not isinstance(detail["input"], str):
        return ""
    return meant(detail["input"], re.findall(r"'([^']+)'", str(detail.get("ctx", {}).get("expected", ""))))


def _place(content: Any, detail: ErrorDetails) -> tuple[str, ...]:
    """Return the key of a mistake: the steps that lead through the content, without the names of alternatives."""
    steps: list[str] = []
    for step in detail["loc"]:
        if isinstance(content, Mapping):
            content = content.get(step)
        elif isinstance(content, list | tuple) and isinstance(step, int):
            content = content[step]
        else:
            break
        steps.append(str(step))
    return tuple(steps)


def _remove(content: dict[str, Any], place: tuple[str, ...]) -> None:
    """Take the key of a mistake out of nested tables; a list goes as a whole, so that others keep their numbers."""
    *path, last = place or ("",)
    for step in path:
        inner = content.get(step)
        if not isinstance(inner, dict):
            last = step
            break
        content = inner
    content.pop(last, None)


def _names(model: type[BaseModel], place: Iterable[str]) -> tuple[str, ...]:
    """Return the keys that are known at a place inside a model."""
    for step in place:
        if step in model.model_fields:
            inner = _models(model.model_fields[step].annotation)
            if not inner:
                return ()
            model = inner[0]
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Return the models inside an annotation such as ``tuple[Waiver, ...]`` or ``Hooks | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
