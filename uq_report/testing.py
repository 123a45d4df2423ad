"""Contract checks and subjects of known truth, for plugin authors and for our own tests.

Each ``check_*`` function takes one plugin object and raises `ContractError` with one sentence when
the contract is broken. Parametrise them over your own plugins::

    @pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
    def test_explainer(check):
        check(MyExplainer)
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from . import plugins
from .core.adapter import Match
from .core.arrays import FloatArray, Table
from .core.distributions import Categorical, Normal
from .core.engine import Engine
from .core.errors import UQReportError
from .core.explainer import Explainer, wishes
from .core.finding import Outcome
from .core.measures import Measure
from .core.predictive import Distribution
from .core.results import KINDS, Result
from .core.run import Run
from .core.subject import Subject, make_subject


class ContractError(UQReportError):
    """A plugin breaks its contract; the message names the plugin and the rule."""


@dataclass(frozen=True)
class KnownLinear:
    """y | x ~ N(x @ coefficients, (exp(x @ log_std))²): every measure has a closed form.

    Examples
    --------
    >>> model = KnownLinear((1.0, 2.0, 0.0), (0.0, 0.0, 0.0))
    >>> model.distribution(np.array([[1.0, 1.0, 5.0]])).mean()
    array([3.])
    """

    coefficients: tuple[float, ...]
    log_std: tuple[float, ...]

    def distribution(self, X: Table) -> Distribution:
        """Return the true distribution of each row."""
        rows = np.asarray(X, dtype=float)
        return Normal(rows @ np.array(self.coefficients), np.exp(rows @ np.array(self.log_std)))


@dataclass(frozen=True)
class KnownLogistic:
    """P(y = "yes" | x) = 1 / (1 + exp(-x @ coefficients))."""

    coefficients: tuple[float, ...]

    def distribution(self, X: Table) -> Distribution:
        """Return the true distribution of each row."""
        p = 1 / (1 + np.exp(-np.asarray(X, dtype=float) @ np.array(self.coefficients)))
        return Categorical(np.column_stack([1 - p, p]), classes=("no", "yes"))


@dataclass(frozen=True)
class KnownTruth:
    """The adapter of the models above."""

    name: ClassVar[str] = "known_truth"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        """Match the models of this file only."""
        return Match(0, "a model of uq_report.testing") if isinstance(model, KnownLinear | KnownLogistic) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the model's own distribution."""
        distribution: Distribution = model.distribution(X)
        return distribution

    def batch_rows(self, model: Any) -> int | None:
        """Let calls hold the subject's own rows."""
        return None


def linear_subject(n: int = 80, seed: int = 0, *, frame: bool = True, train: bool = False) -> Subject:
    """Return a regression subject with a calibrated model: two features that matter, two correlated, one unused.

    Features a, b (correlation 0.8, coefficients 1 and 1), c (independent, coefficient 1 and scale
    exp(0.3 c)), d (unused); y is drawn from the model's own distribution.
    """
    model = KnownLinear((1.0, 1.0, 1.0, 0.0), (0.0, 0.0, 0.3, 0.0))
    return _subject(model, n, seed, frame=frame, train=train)


def logistic_subject(n: int = 80, seed: int = 0, *, frame: bool = True, train: bool = False) -> Subject:
    """Return a binary subject with a calibrated model on the features of `linear_subject`."""
    return _subject(KnownLogistic((1.0, 1.0, 1.0, 0.0)), n, seed, frame=frame, train=train)


def _subject(model: KnownLinear | KnownLogistic, n: int, seed: int, *, frame: bool, train: bool) -> Subject:
    rng = np.random.default_rng(seed)
    parts = [_draw(model, n, rng, frame=frame) for _ in range(1 + train)]
    return make_subject(model, KnownTruth(), *parts[0], train=parts[1] if train else None, label=type(model).__name__)


def _draw(model: KnownLinear | KnownLogistic, n: int, rng: np.random.Generator, *, frame: bool) -> tuple[Table, Any]:
    X = rng.normal(size=(n, 4))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    dist = model.distribution(X)
    drawn = dist.sample(rng, 1)[0]
    y = np.array(dist.classes)[drawn] if isinstance(dist, Categorical) else drawn
    return (pd.DataFrame(X, columns=list("abcd")) if frame else X), y


def measures() -> dict[str, Measure]:
    """Return every registered measure by name."""
    return {plugin.name: plugins.load(plugin) for plugin in plugins.find("uq_report.measures")}


def explain(cls: type[Explainer], subject: Subject, seed: int = 0) -> Sequence[Result]:
    """Run an explainer with its defaults on a subject, after the explainers it needs or names in ``after``."""
    engine = Engine(subject, measures(), seed=seed)
    known = {plugin.name: plugin for plugin in plugins.find("uq_report.explainers")}
    prior: dict[str, Sequence[Result]] = {}

    def run(one: type[Explainer]) -> Sequence[Result]:
        for need in (*one.needs, *(name for name in wishes(one) if name in known)):
            if need not in prior:
                prior[need] = run(plugins.load(known[need]))
        return one().explain(subject, engine.bound(one.name), prior)

    return run(cls)


# ---------------------------------------------------------------------- explainers


def explainer_checks() -> tuple[Callable[[type[Explainer]], None], ...]:
    """Return every check of an explainer class."""
    return (
        check_explainer_declares_itself,
        check_explainer_options_are_plain,
        check_explainer_results_keep_the_contract,
        check_explainer_repeats_itself,
        check_explainer_leaves_the_subject_alone,
    )


def check_explainer_declares_itself(cls: type[Explainer]) -> None:
    """Require a frozen dataclass with the class variables of the contract."""
    _require(dataclasses.is_dataclass(cls), cls, "must be a dataclass: its fields are its options")
    _require(cls.__dataclass_params__.frozen, cls, "must be frozen")  # type: ignore[attr-defined]
    for name, kind in (
        ("name", str),
        ("section", str),
        ("needs", tuple),
        ("requires", frozenset),
        ("api_version", int),
    ):
        _require(
            isinstance(getattr(cls, name, None), kind), cls, f"must have the class variable {name}: {kind.__name__}"
        )
    _require(bool(cls.__doc__), cls, "must have a docstring: the report's method card quotes it")


def check_explainer_options_are_plain(cls: type[Explainer]) -> None:
    """Require that defaults make a valid object whose options survive JSON."""
    options = dataclasses.asdict(cls())  # type: ignore[call-overload]
    _require(isinstance(json.loads(json.dumps(options)), dict), cls, "must have options that JSON can hold")


def check_explainer_results_keep_the_contract(cls: type[Explainer]) -> None:
    """Require known kinds, ids under the explainer's name, something in every result or a reason why not."""
    for subject in (_with_everything(linear_subject), _with_everything(logistic_subject)):
        results = explain(cls, subject)
        ids = [r.id for r in results]
        _require(len(set(ids)) == len(ids), cls, f"must give unique ids; got {ids}")
        for result in results:
            own = result.id == cls.name or result.id.startswith(f"{cls.name}.")
            _require(
                own and result.explainer == cls.name, cls, f"must name its results after itself; got {result.id!r}"
            )
            _require(result.kind in KINDS, cls, f"must return known kinds; got {result.kind!r}")
            said = len(result.frame) or len(result.estimates) or result.omissions or result.notes
            _require(bool(said), cls, f"must say why {result.id!r} is empty")


def check_explainer_repeats_itself(cls: type[Explainer]) -> None:
    """Require that the same seed gives the same numbers to the last bit."""
    subject = _with_everything(linear_subject)
    for a, b in zip(explain(cls, subject, seed=5), explain(cls, subject, seed=5), strict=True):
        same = a.frame.equals(b.frame) and a.estimates.equals(b.estimates)
        _require(same, cls, f"must repeat {a.id!r} exactly with the same seed")


def check_explainer_leaves_the_subject_alone(cls: type[Explainer]) -> None:
    """Require that neither the rows nor numpy's global random state change."""
    subject = _with_everything(linear_subject)
    before, state = subject.X.copy(), np.random.get_state()  # noqa: NPY002 - the global state is what is guarded
    explain(cls, subject)
    after = np.random.get_state()  # noqa: NPY002 - as above
    _require(np.array_equal(before, subject.X), cls, "must not change the subject's rows")
    _require(
        all(map(np.array_equal, tuple(state)[1:2], tuple(after)[1:2])),
        cls,
        "must not touch numpy's global random state",
    )


def _with_everything(make: Callable[..., Subject]) -> Subject:
    """Return a subject with all that an explainer may ask for: y, training rows and a protected attribute."""
    subject = make(train=True)
    return dataclasses.replace(subject, protected={"group": np.arange(subject.n) % 2})


# ---------------------------------------------------------------------- measures, adapters, checks, renderers


def measure_checks() -> tuple[Callable[[Measure], None], ...]:
    """Return every check of a measure."""
    return (check_measure_declares_itself, check_measure_gives_a_number_per_row)


def check_measure_declares_itself(measure: Measure) -> None:
    """Require a name, a unit, a title, and a role the report knows."""
    _require(isinstance(measure, Measure), measure, "must be a Measure")
    _require(bool(measure.name and measure.unit and measure.title), measure, "must have a name, a unit and a title")
    _require(
        measure.role in ("prediction", "loss", "uncertainty"), measure, f"must have a known role; got {measure.role!r}"
    )


def check_measure_gives_a_number_per_row(measure: Measure) -> None:
    """Require where it applies: shape (n,), floats, no NaN; where not: a reason."""
    for subject in (linear_subject(), logistic_subject()):
        engine = Engine(subject, {measure.name: measure})
        chosen, omitted = engine.select([measure.name])
        _require(bool(chosen) != bool(omitted), measure, "must either apply or say why not")
        for one in chosen:
            values: FloatArray = one.rows(engine.baseline, engine.y)
            good = isinstance(values, np.ndarray) and values.shape == (subject.n,) and not np.isnan(values).any()
            _require(good, measure, "must return one number per row")


def adapter_checks() -> tuple[Callable[[type[Any]], None], ...]:
    """Return every check of an adapter class."""
    return (check_adapter_declares_itself, check_adapter_ignores_strangers)


def check_adapter_declares_itself(cls: type[Any]) -> None:
    """Require a name, the API version, and the three methods."""
    adapter = cls()
    _require(
        isinstance(adapter.name, str) and isinstance(adapter.api_version, int), cls, "must have name and api_version"
    )
    for method in ("matches", "predict", "batch_rows"):
        _require(callable(getattr(adapter, method, None)), cls, f"must have the method {method}")


def check_adapter_ignores_strangers(cls: type[Any]) -> None:
    """Require that objects that are no model match nothing and raise nothing."""
    for stranger in (object(), None, 3, "model", {}, [1]):
        _require(cls().matches(stranger) is None, cls, f"must return None for {stranger!r}")


def check_checks() -> tuple[Callable[[type[Any]], None], ...]:
    """Return every check of a check class."""
    return (check_check_ends_in_one_state,)


def check_check_ends_in_one_state(cls: type[Any]) -> None:
    """Require that a run without evidence gives one outcome under the check's own name, and no finding."""
    outcome = cls().check(Run(as_of="2026-01-01", subject={}, settings={}, environment={}))
    _require(isinstance(outcome, Outcome) and outcome.check == cls.name, cls, "must return one Outcome under its name")
    _require(outcome.state in ("not_applicable", "skipped"), cls, "must not judge a run without evidence")


def renderer_checks() -> tuple[Callable[[type[Any], Any], None], ...]:
    """Return every check of a renderer class; each takes the class and a `report.document.Document`."""
    return (check_renderer_is_a_pure_function,)


def check_renderer_is_a_pure_function(cls: type[Any], document: Any) -> None:
    """Require that the same document gives the same, non-empty bytes."""
    first, second = cls().render(document), cls().render(document)
    _require(isinstance(first, bytes) and bool(first), cls, "must return bytes")
    _require(first == second, cls, "must give the same bytes for the same document")


def _require(holds: bool, plugin: Any, rule: str) -> None:
    if not holds:
        name = getattr(plugin, "name", None) or getattr(plugin, "__name__", repr(plugin))
        raise ContractError(f"{name} {rule}.")
