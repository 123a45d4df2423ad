"""The one place that calls the model: rows are counted, limited, timed, and what comes back is checked."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from time import perf_counter
from typing import Any, Self

import numpy as np

from ..model.adapter import FixedRowsOnly, SharesCalls
from ..model.decisions import decided
from ..model.subject import Subject
from ..predictive import DecisionRule, Distribution
from ..support.arrays import FloatArray, IntArray, Table, take_rows
from ..support.errors import FOREIGN, BudgetError, InputError, ModelError, UnsupportedError, UQReportError
from ..validation.cell_validation import failure, of_infinite_cell

# rows that changes of the same columns share a call up to, where nobody knows better: more rows cost more memory,
# fewer cost a call each
SHORT_CALL = 1000


@dataclass(eq=False, repr=False)
class Caller:
    """Calls the model of one subject, for one explainer of a run.

    Parameters
    ----------
    subject : Subject
    seed : int
    batch_rows : int, optional
        Rows per predict call, instead of the adapter's rule.
    row_budget : int, optional
        Rows that may be predicted in all; the next call beyond it raises `BudgetError`.
    limits : callable, optional
        Returns which limit of time or memory is reached, or will be, or an empty text; `check` asks it.
    costs : mapping of str to int, optional
        About how many rows each explainer predicts, where it is known; `limits` is given them.
    """

    subject: Subject
    _: KW_ONLY
    seed: int = 0
    batch_rows: int | None = None
    row_budget: int | None = None
    limits: Callable[[int, int, float], str] | None = None
    costs: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse settings that cannot be used, and take the adapter's rule for calls where none is set."""
        for name in ("batch_rows", "row_budget"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"engine.{name} must be >= 1 or None; got {value}.")
        self.batch_rows = self.batch_rows or self.subject.adapter.batch_rows(self.subject.model)
        self.explainer = "engine"
        # shared by all of one run: rows by explainer, and rows and seconds of the smallest and the largest call
        self._rows: dict[str, int] = {}
        self._called: list[tuple[int, float]] = []
        self.withheld = ""  # why the subject's rows are not predicted, if they are not
        self._focus = self.subject.positive_class
        self._rule: DecisionRule | None = None
        self._baseline: Distribution | None = None
        self._y: FloatArray | IntArray | None = None

    def bound(self, explainer: str, subject: Subject | None = None, rows: IntArray | None = None) -> Self:
        """Return this for one explainer's random streams and row count, on other rows if `subject` is given.

        Where these are some of this subject's own, at positions `rows`, their predictions are not asked for again.
        """
        subject = self.subject if subject is None else subject
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__ | self._anew(explainer, subject))
        other.explainer = explainer
        if subject is not self.subject:
            base = self.baseline  # the positive class and the decision rule are those of the audited rows
            other._focus, other._rule = self._focus, self._rule
            other.subject = subject
            other._baseline = None if rows is None else base.take(rows)
            other._y = None if rows is None or subject.y is None else base.encode(subject.y)
        return other

    def _anew(self, explainer: str, subject: Subject) -> dict[str, Any]:
        """Return attributes that another explainer, or other rows, do not share, as they begin."""
        return {}

    @property
    def rows_predicted(self) -> Mapping[str, int]:
        """Rows predicted so far, per explainer."""
        return dict(self._rows)

    @property
    def row_seconds(self) -> float:
        """Seconds that a further row of a call takes, by the smallest and the largest so far; infinite without any.

        It decides no number, only what fits a limit of time.
        """
        if not self._called:
            return math.inf
        (few, short), (rows, seconds) = self._called
        return (seconds - short) / (rows - few) if rows > 2 * few and seconds > short else seconds / rows

    def first(self, rows: int) -> tuple[Caller, float]:
        """Return a caller of the first rows alone, and the seconds in which it got what `baseline` takes of a model.

        It counts no rows; `row_seconds` learns from its calls.
        """
        few = Caller(first_rows(self.subject, rows), seed=self.seed, batch_rows=self.batch_rows)
        few._called, start = self._called, perf_counter()
        _ = few.baseline
        return few, perf_counter() - start

    @property
    def baseline(self) -> Distribution:
        """The predictive distribution of the subject's own rows, predicted once, or not where that is `withheld`."""
        if self._baseline is None:
            self._stop(self.withheld)
            dist = self.predict(self.subject.X)
            if self._focus is None:
                self._focus = dist.default_focus(self.subject.y)
                dist = dist.focus(self._focus)
            if self._rule is None:
                dist = decided(self.subject, dist)
                self._rule = dist.rule
            if self.subject.y is not None:
                self._y = dist.encode(self.subject.y)
            self._baseline = dist
        return self._baseline

    @property
    def y(self) -> FloatArray | IntArray | None:
        """The subject's y as the distribution's `log_prob` takes it, or None."""
        _ = self.baseline
        return self._y

    def rng(self, *key: str | int) -> np.random.Generator:
        """Return the random stream of (seed, explainer, *key), so that names decide and order does not."""
        self.check()
        text = "\x1f".join((str(self.seed), self.explainer, *map(str, key)))
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))

    def check(self, done: int = 0, total: int = 0, ahead: float = 0.0) -> None:
        """Stop the explainer at work where a limit is reached, or will be: loops that compute call it once a round.

        The engine calls it before every prediction and every random stream.

        Parameters
        ----------
        done, total : int
            Rounds done, of so many in all; 0 where they are not counted.
        ahead : float
            About the seconds of this round, where they are known and it cannot be stopped.

        Raises
        ------
        BudgetError
            Which limit was reached.
        """
        self._stop(self.limits(done, total, ahead) if self.limits else "")

    def _stop(self, reason: str) -> None:
        """Stop the explainer at work if there is a reason."""
        if reason:
            raise BudgetError(f"{reason}; {self.explainer} was stopped. Raise the limit, or ask for less.")

    def predict(self, X: Table) -> Distribution:
        """Return the predictive distribution of the rows of `X`, counted, checked, and with the positive class set."""
        self._charge(len(X))
        try:
            return self.call_model(X)
        except UQReportError as error:
            if error.row is None or X is self.subject.X:
                raise
            where = f"Row {error.row} is that of the block of {len(X)} rows that {self.explainer} asked for."
            raise type(error)(f"{error} {where}") from error

    @property
    def rows_together(self) -> int:
        """The rows that variants of the same columns may share a call up to."""
        return self._call_rows or SHORT_CALL

    @property
    def _call_rows(self) -> int | None:
        """The batch size, or the rows of a call that suit the model where its adapter says so."""
        adapter = self.subject.adapter
        known = adapter.rows_together(self.subject.model) if isinstance(adapter, SharesCalls) else None
        return self.batch_rows or known

    def _ask_model(self) -> None:
        """Refuse changed rows where an adapter holds predictions of the given rows only."""
        if isinstance(self.subject.adapter, FixedRowsOnly):
            raise UnsupportedError(self.subject.adapter.only_given_rows)

    def _charge(self, rows: int) -> None:
        """Count rows about to be predicted; refuse those beyond the budget, and all once a limit is reached."""
        counts = self._rows
        self.check(counts.get(self.explainer, 0), self.costs.get(self.explainer, 0))
        spent = sum(counts.values())
        if self.row_budget is not None and spent + rows > self.row_budget:
            raise BudgetError(
                f"engine.row_budget must allow the next {rows} rows; got {self.row_budget} with {spent} spent. "
                "Raise the budget, or lower n_repeats, the grid or max_rows."
            )
        counts[self.explainer] = counts.get(self.explainer, 0) + rows

    def call_model(self, X: Table) -> Distribution:
        """Call the model on a copy of rows already counted, the only place that does: it may write to them."""
        label = self.subject.label
        if self.limits:
            self.check(ahead=len(X) * self.row_seconds if self._called else 0.0)
        start = perf_counter()
        try:
            dist = self.subject.adapter.predict(self.subject.model, X.copy())
        except UQReportError as error:
            raise of_infinite_cell(error, label, X) from error
        except FOREIGN as error:  # the model is foreign code; whatever it raises is told to the user
            raise failure(label, len(X), error, self.subject.X) from error
        calls = sorted([*self._called, (len(X), perf_counter() - start)])
        self._called[:] = calls[0], calls[-1]
        return self._checked(dist, len(X), label)

    def _checked(self, dist: Distribution, n: int, who: str) -> Distribution:
        """Return distributions, one for each of `n` rows, with the positive class and the decision rule set."""
        if len(dist) != n:
            raise ModelError(f"{who} must return one distribution per row, {n}; got {len(dist)}.")
        dist = dist if self._focus is None else dist.focus(self._focus)
        return dist if self._rule is None else dist.deciding(self._rule)


def first_rows(subject: Subject, n: int) -> Subject:
    """Return the first `n` rows of a subject without what belongs to rows, which the model does not ask for."""
    few = take_rows(subject.X, slice(n))
    return replace(subject, X=few, y=None, train=None, weights=None, clusters=None, blocks=None, protected={})
