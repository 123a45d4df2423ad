"""Claims of the sources, and the experiments that judge them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scipy.stats import binom

from uq_report.core.model.results import Result
from uq_report.core.statistics.score_intervals import normal_quantile, wilson

FILE = Path(__file__).with_name("claims.toml")
SOURCES = {"W": "Wood et al.", "L": "Lecture", "M": "Modeva", "C": "Pereira et al.", "R": "Paananen et al."}
AGREES, REFUTED, LEVEL = 0.8, 0.5, 0.05
Z = normal_quantile(1 - LEVEL)
Verdict = Literal["agrees", "in part", "does not agree", "not reproduced"]


class Claim(NamedTuple):
    """What a source states, where, and how it is judged."""

    id: str
    place: str
    states: str
    kind: str
    why: str = ""


def claims() -> dict[str, Claim]:
    """Return every claim by its id, in the order of the sources."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {key: Claim(key, **value) for key, value in content.items()}


class Number(NamedTuple):
    """A number of a paper beside ours: they agree if they differ by at most two joint standard errors."""

    claim: str
    what: str
    ours: float
    se: float
    paper: float
    paper_se: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether the numbers agree."""
        return abs(self.ours - self.paper) <= 2 * (self.se**2 + self.paper_se**2) ** 0.5


class Picture(NamedTuple):
    """A figure of a source, drawn anew: what it shows, what the paper states about it, and how to draw it."""

    key: str
    title: str
    reading: str
    draw: Callable[[], Any]


@dataclass
class Repetition:
    """What one repetition found: hits by claim; the first one also brings numbers and figures.

    Parameters
    ----------
    hits : mapping of str to bool
        For each claim of the experiment whether this repetition agrees with it.
    facts : mapping of str to str
        A sentence with the figures that decided, by claim.
    """

    hits: Mapping[str, bool]
    facts: Mapping[str, str] = field(default_factory=dict)
    numbers: Sequence[Number] = ()
    pictures: Sequence[Picture] = ()
    results: Sequence[Result] = ()


@dataclass(frozen=True)
class Experiment:
    """A function of a seed that judges some claims.

    Parameters
    ----------
    run : callable
        ``run(seed, settings) -> Repetition``.
    claims : sequence of str
    quick, full : int
        Repetitions.
    """

    name: str
    title: str
    run: Callable[[int, Settings], Repetition]
    claims: Sequence[str]
    quick: int
    full: int


class Settings(NamedTuple):
    """Where the data are, and whether the run is a quick one."""

    data: Path | None = None
    quick: bool = True


def verdict(hits: int, n: int, *, quick: bool = False) -> Verdict:
    """Judge a hit rate: it agrees from a lower limit of .8, does not agree below an upper limit of .5.

    A quick run has few repetitions: there a claim agrees unless a rate of .8 is refuted at 5 %.

    Examples
    --------
    >>> verdict(40, 40), verdict(8, 10), verdict(1, 20), verdict(2, 2, quick=True), verdict(0, 3, quick=True)
    ('agrees', 'in part', 'does not agree', 'agrees', 'does not agree')
    """
    if quick:
        return "agrees" if binom.cdf(hits, n, AGREES) >= LEVEL else "does not agree"
    lower, upper = wilson(hits / n, n, Z)
    if lower >= AGREES:
        return "agrees"
    return "does not agree" if upper < REFUTED else "in part"
