"""Families of tests: how the tests of one rule become its findings, and a table of rules the outcome of its check."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from ..core.statistics.verdicts import holm
from ..core.support.options import CheckedOptions
from ..evidence.finding import SEVERITIES, Outcome, Severity
from ..evidence.run import Run
from ..evidence.view import View, by_key
from .reading import RuleOutcome, absent, close
from .rule import Check, Rule

T = TypeVar("T")
V = TypeVar("V", bound=View[Any])
Said = dict[str, Any]  # fields of `Finding` that are not the rule's
Judge = Callable[[Rule, Run], RuleOutcome]


class NotJudgedError(Exception):
    """A rule cannot be judged; the message says why. `outcome_of` turns it into the end of that rule."""


class TableCheck(CheckedOptions):
    """What checks whose rules are a table have in common.

    Class variables
    ---------------
    table : the rules, whose `Rule.options` are options of the check
    judges : the function that judges the rule of the same place
    """

    title: ClassVar[str]
    api_version: ClassVar[int] = 1
    table: ClassVar[tuple[Rule, ...]]
    judges: ClassVar[tuple[Judge, ...]]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, with the thresholds of this check."""
        return tuple(rule.of(self) for rule in self.table)

    def check(self, run: Run) -> Outcome:
        """Judge every rule by the results of a run."""
        return outcome(self, run, *self.judges)


def outcome(check: Check, run: Run, *judges: Judge) -> Outcome:
    """Return the outcome of a check; each judge judges the rule of its place."""
    return close(check.name, [judged(rule, judge, run) for rule, judge in zip(check.rules, judges, strict=True)])


def judged(rule: Rule, judge: Judge, run: Run) -> RuleOutcome:
    """Return how one rule ends."""
    try:
        return judge(rule, run)
    except NotJudgedError as error:
        return RuleOutcome(code=rule.code, absent=str(error))


def needed(view: type[V], run: Run) -> V:
    """Return a result of the run, as its view; a rule that needs one that is not there is not judged."""
    found = view.find(run)
    if found is None:
        raise NotJudgedError(absent(run, view.id))
    return found


def require(holds: object, reason: str) -> None:
    """Do not judge the rule, for this reason, unless the condition holds."""
    if not holds:
        raise NotJudgedError(reason)


def family(
    rule: Rule,
    tests: Sequence[T],
    numbers: Callable[[T], Mapping[str, float]],
    said: Callable[..., Said],
    *,
    p_values: Iterable[float] | None = None,
    by: Callable[[T], Hashable] = id,
    undecided: Callable[[list[T]], Iterable[str]] = lambda _: (),
    **ends: Any,
) -> RuleOutcome:
    """Judge every test of a family; tests that raise the rule become findings.

    Parameters
    ----------
    rule : Rule
    tests : sequence
        Any objects: lines of a result, or a type of the check.
    numbers : callable
        Returns the observed numbers of a test that the rule judges.
    said : callable
        Returns the statement, evidence and further fields of a finding on the tests it is called with.
    p_values : iterable of float, optional
        One per test, and those of tests without an object: they are Holm-adjusted together, and judged as
        ``p_adjusted``.
    by : callable
        Tests of one key become one finding, of the worst severity among them. Each test by default.
    undecided : callable
        Returns which of the tests that raise nothing stay open, in words.
    **ends
        The sentence for a rule that nothing raises (``passed``), what is open of all tests (``because``), and the
        sample size that decides those that are (``size``).

    Returns
    -------
    Part
    """
    adjusted = [{} for _ in tests] if p_values is None else [{"p_adjusted": p} for p in holm([*p_values]).tolist()]
    graded = [(test, rule.judge(**numbers(test), **p)) for test, p in zip(tests, adjusted, strict=False)]
    groups = by_key((by(test), (test, severity)) for test, severity in graded if severity)
    return RuleOutcome(
        code=rule.code,
        findings=tuple(rule.finding(_worst(group), **said(*(test for test, _ in group))) for group in groups.values()),
        undecided=tuple(undecided([test for test, severity in graded if not severity])),
        **ends,
    )


def _worst(group: Sequence[tuple[object, Severity]]) -> Severity:
    return min((severity for _, severity in group), key=SEVERITIES.index)


def together(_: object) -> Hashable:
    """Return one key for all tests of a family, so that they become one finding."""
    return ""
