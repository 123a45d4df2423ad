"""Models, subjects and runs of known truth, a document with every kind of block, and the error of contract checks."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from .. import runner
from ..core.model.adapter import Adapter, Match
from ..core.model.measures import Measure
from ..core.model.subject import Subject, make_subject
from ..core.predictive import Distribution
from ..core.support.arrays import Table
from ..core.support.errors import UQReportError
from ..distributions import Categorical, Normal
from ..document import document as doc
from ..document.text import mention
from ..evidence import ids
from ..evidence.run import Run
from ..runner import plugins
from ..runner.settings import Settings


class ContractError(UQReportError):
    """A plugin breaks its contract; the message names the plugin and the rule."""


def require(holds: bool, plugin: Any, rule: str) -> None:
    """Raise `ContractError` with the name of the plugin and the rule it breaks, unless it holds."""
    if not holds:
        name = getattr(plugin, "name", None) or getattr(plugin, "__name__", repr(plugin))
        raise ContractError(f"{name} {rule}.")


def require_declared(group: str, plugin: Any) -> None:
    """Require the members and class variables of the contract, as `plugins.load` does."""
    breaches = plugins.breaches(group, plugin)
    require(not breaches, plugin, f"breaks its contract: {'; '.join(breaches)}")


AS_OF = "2026-01-01"
EMPTY = Run(as_of=AS_OF, subject={}, settings={}, environment={})
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="6"><path d="M1 5L8 1" stroke="#17456f"/></svg>'


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
class KnownTruth(Adapter):
    """The adapter of the models above."""

    name: ClassVar[str] = "known_truth"

    def matches(self, model: Any) -> Match | None:
        """Match the models of this module only."""
        return Match(0, "a model of uq_report.testing") if isinstance(model, KnownLinear | KnownLogistic) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the model's own distribution."""
        distribution: Distribution = model.distribution(X)
        return distribution


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
    sample = dist.sample(rng, 1)[0]
    y = np.array(dist.classes)[sample] if isinstance(dist, Categorical) else sample
    return (pd.DataFrame(X, columns=list("abcd")) if frame else X), y


def measures() -> dict[str, Measure]:
    """Return every registered measure by name."""
    return {plugin.name: plugins.load(plugin) for plugin in plugins.find(plugins.MEASURES)}


def equipped(make: Callable[..., Subject]) -> Subject:
    """Return a subject with all that an explainer may ask for: y, training rows and a protected attribute."""
    subject = make(100, train=True)  # beyond the smallest sample of every explainer
    return dataclasses.replace(subject, protected={"group": np.arange(subject.n) % 2})


def overconfident_subject(n: int = 80, seed: int = 0) -> Subject:
    """Return the subject of `linear_subject` with outcomes twice as far from their mean as the model says."""
    subject = linear_subject(n, seed, train=True)
    return dataclasses.replace(subject, y=2 * np.asarray(subject.y) - subject.model.distribution(subject.X).mean())


@cache
def known_runs() -> tuple[Run, ...]:
    """Return audits by everything that is installed, and one of a sample in order of time with grades."""
    n = 100  # segments ask for 80 inside the training domain
    subjects = (equipped(partial(linear_subject, n)), equipped(partial(logistic_subject, n)), overconfident_subject(n))
    settings = Settings(
        as_of=AS_OF, explainers=("calibration", "segments"), options={"calibration": {"grades": (0.2, 0.5, 0.8)}}
    )
    rows = logistic_subject(4 * n)
    in_time = make_subject(rows.model, rows.adapter, rows.X, rows.y, time=np.arange(rows.n))
    whole = (runner.run(subject, Settings(as_of=AS_OF)).run for subject in subjects)
    return (*whole, runner.run(in_time, settings).run)


def known_document() -> doc.Document:
    """Return a document with every kind of block, three levels of sections and an appendix."""
    columns = (doc.Column("Feature"), doc.Column("Importance", "number", "nats"), doc.Column("p", "pvalue"))
    cells: tuple[tuple[doc.Cell, ...], ...] = (("a <b> & c", 0.1, None), (doc.Badge("about 0"), 2, 0.04))
    table = doc.Table(id="table", caption="A table.", columns=columns, rows=cells, evidence=ids.PFI, note="A note.")
    figure = doc.Figure(id="figure", caption="A line.", alt="It rises from 0 to 1.", svg=_SVG, evidence=ids.PFI)
    fails = "The gate fails."
    callout = doc.Callout(tone="bad", title="Fails", text=fails, evidence=(ids.PFI,), code="UQ501", id="f1")
    verdict = doc.Verdict(badge=doc.Badge("Use", "good"), text=f"{mention('age')} drives it.", note="People decide.")
    card = doc.Card(title="How good?", headline="0.76", aside="AUC", texts=("Good.",))
    steps = doc.Steps(steps=(doc.Step(lead="Look", text="at UQ501", aside="owner", tone="warning"),))
    answer = (verdict, doc.Cards(cards=(card, card)), steps)
    split = doc.Split(left=(doc.Paragraph(text="A figure."),), right=(doc.Paragraph(text="Its words."),))
    fold = doc.Fold(title="Evidence", blocks=(split,))
    words = (doc.Paragraph(text="Text."), doc.Bullets(items=("one", "two")), doc.Facts(rows=(("Share", 0.25),)))
    pair = doc.Columns(names=("old", "new"), left=doc.Paragraph(text="Left."), right=None)
    deep = doc.Section(id="deep", title="Deep", blocks=(pair,))
    inner = doc.Section(id="inner", title="Inner", blocks=(table, figure), sections=(deep,))
    return doc.Document(
        title="Audit",
        subtitle="of a model",
        as_of=AS_OF,
        generator="uq_report",
        evidence_sha256="0" * 64,
        facts=(("Rows", 80), ("Gate", doc.Badge("passes", "good"))),
        sections=(
            doc.Section(id="first", title="First", blocks=(*answer, *words, callout), sections=(inner,)),
            doc.Section(id="last", title="Last", blocks=(fold,), feature="age", appendix=True),
        ),
        checks=(doc.CheckEntry(ids.SUPPORT, "Support", "found", "", (("UQ501", "high", "Rows are outside."),)),),
    )
