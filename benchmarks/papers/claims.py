"""Claims of the sources, and the experiments that judge them."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binom

import uq_report as uq
from uq_report.api.views import ResultView
from uq_report.core.statistics.score_intervals import normal_quantile, wilson
from uq_report.core.support.arrays import FloatArray
from uq_report.document.plots.picture import to_svg

FILE = Path(__file__).with_name("claims.toml")
SOURCES = {"W": "Wood et al.", "LM": "Lecture, Modeva", "C": "Pereira et al.", "R": "Paananen et al."}
AGREES, REFUTED, LEVEL = 0.8, 0.5, 0.05
Z = normal_quantile(1 - LEVEL)
Verdict = Literal["agrees", "in part", "does not agree", "no public function", "not run"]
Number: TypeAlias = tuple[float, float]  # an estimate with its standard error


class Claim(NamedTuple):
    """What a source states, where, and how it is judged.

    ``kind`` is "rate" (by the hit rate over repetitions), "exact" (by one comparison with an identity), or "absent":
    the package has no public function for it, and a run shows that it is refused or answers with something else.
    """

    id: str
    place: str
    states: str
    kind: Literal["rate", "exact", "absent"]


def claims() -> dict[str, Claim]:
    """Return every claim by its id, in the order of the sources."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {key: Claim(key, **value) for key, value in content.items()}


class Settings(NamedTuple):
    """Where the data sets are, whether the run is a quick one, and after how long an experiment begins no repetition."""

    data: Path | None = None
    quick: bool = True
    seconds: float = float("inf")

    def table(self, name: str) -> pd.DataFrame:
        """Read a data set of the papers."""
        if self.data is None:
            raise FileNotFoundError(2, "no folder was given by --data", name)
        return pd.read_csv(self.data / name)


class Picture(NamedTuple):
    """A figure of a source, drawn anew: what the source states, what is seen here, and how to draw it."""

    key: str
    title: str
    states: str
    reading: str
    draw: Callable[[], Figure]


@dataclass
class Repetition:
    """What one repetition found; the first one also draws figures.

    Parameters
    ----------
    hits : mapping of str to bool
        By claim, whether the repetition agrees with it.
    values : mapping of str to mapping of str to float
        By claim, the named numbers that decide; the document prints their mean with its standard error.
    facts : mapping of str to str
        By claim, a sentence on what was compared; that of the first repetition is printed.
    """

    hits: Mapping[str, bool]
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Experiment:
    """A function of a seed that judges some claims.

    Parameters
    ----------
    run : callable
        ``run(seed, settings) -> Repetition``.
    quick, full : int
        Repetitions.
    paper : mapping of str to mapping of str to Number
        Numbers of the source with their standard errors, by claim and by the name that `Repetition.values` uses.
    """

    name: str
    title: str
    run: Callable[[int, Settings], Repetition]
    claims: Sequence[str]
    quick: int = 1
    full: int = 1
    paper: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)


@dataclass
class Outcome:
    """All repetitions of an experiment, as plain data that passes from one process to another."""

    name: str
    hits: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    facts: dict[str, str] = field(default_factory=dict)
    pictures: list[tuple[str, str, str, str, bytes]] = field(default_factory=list)
    why: str = ""
    seconds: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Return plain dictionaries."""
        values = {claim: dict(numbers) for claim, numbers in self.values.items()}
        return {**vars(self), "hits": dict(self.hits), "values": values}


def repeat(experiment: Experiment, settings: Settings) -> Outcome:
    """Run all repetitions; `why` tells why there are none, where data or a library are missing."""
    outcome, start = Outcome(experiment.name), process_time()
    for seed in range(experiment.quick if settings.quick else experiment.full):
        if process_time() - start > settings.seconds:
            break
        try:
            done = experiment.run(seed, settings)
        except FileNotFoundError as error:
            outcome.why = f"The data set {Path(str(error.filename)).name} is not there: name its folder by --data."
            break
        except ImportError as error:
            outcome.why = f"{error.name or error} is not installed."
            break
        if set(done.hits) != set(experiment.claims):
            raise ValueError(
                f"{experiment.name} must judge {sorted(experiment.claims)}; it judged {sorted(done.hits)}."
            )
        for claim, hit in done.hits.items():
            outcome.hits[claim].append(bool(hit))
        for claim, numbers in done.values.items():
            for name, value in numbers.items():
                outcome.values[claim][name].append(float(value))
        outcome.facts = {**done.facts, **outcome.facts}
        if seed == 0:
            outcome.pictures = [(*picture[:4], to_svg(picture.draw())) for picture in done.pictures]
    outcome.seconds = process_time() - start
    return outcome


def verdict(hits: int, n: int, *, quick: bool = False) -> Verdict:
    """Judge a hit rate: it agrees from a lower limit of .8, does not agree below an upper limit of .5.

    A quick run has few repetitions: there a claim does not agree where a rate of .8 is refuted at 5%, and
    agrees in part where half of them or more miss.

    Examples
    --------
    >>> verdict(40, 40), verdict(8, 10), verdict(1, 20), verdict(2, 2, quick=True), verdict(0, 3, quick=True)
    ('agrees', 'in part', 'does not agree', 'agrees', 'does not agree')
    """
    if quick:
        if binom.cdf(hits, n, AGREES) < LEVEL:
            return "does not agree"
        return "agrees" if hits > n / 2 else "in part"
    lower, upper = wilson(hits / n, n, Z)
    if lower >= AGREES:
        return "agrees"
    return "does not agree" if upper < REFUTED else "in part"


def mean_and_error(values: Sequence[float]) -> Number:
    """Return the mean over repetitions and its standard error, which is infinite for one repetition."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.inf
    return float(np.mean(values)), float(error)


def column(view: ResultView, measure: str, name: str = "estimate", *, by: str = "feature") -> pd.Series:
    """Return a column of the estimates of one measure, by feature."""
    table = view.estimates
    return table[table["measure"] == measure].set_index(by)[name]


def row_values(view: ResultView) -> FloatArray:
    """Return the values of single observations, (measures, features, observations)."""
    rows = view.result.rows
    if rows is None:
        raise AssertionError("The result has no values of single observations.")
    return rows.values


def near(ours: Any, theirs: Any, size: float = 1e-9) -> bool:
    """Say whether numbers agree up to rounding."""
    return bool(np.allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=size, atol=size))


def refusal(call: Callable[[], Any]) -> str:
    """Return the message by which the package refuses a call.

    A call that is answered raises an error: the claim then has a public function, and claims.toml must say so.
    """
    try:
        call()
    except (uq.UQReportError, TypeError) as error:
        return str(error)
    raise AssertionError("The package answers this call; judge the claim by a run.")
