"""Data quality: facts about the data that limit what results mean, each above a printed threshold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, ClassVar

from pandas.api.types import is_numeric_dtype

from ...checks.family import Said, TableCheck, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, listed
from ...checks.rule import Rule
from ...core.support import options as opt
from ...core.support.numbers import share_words, signed
from ...core.support.text import short
from ...evidence import ids, rows as facts
from ...evidence.finding import Outcome, Symptom
from ...evidence.rows import CountLine, DataQualityView, MissingLine, MissingView
from ...evidence.run import Run
from ...evidence.view import largest_first, of_measure
from ..shared.checks import about

ZERO = "0"
COPIED, NEAR_COPIES = "UQ701", "UQ305"  # exact copies of training rows are near ones, too
NEEDS = {"UQ701": facts.OVERLAP, "UQ706": facts.TYPE_CHANGE, "UQ707": facts.CLASS}
RULES = tuple(Rule.stated(f"UQ70{place}") for place in range(1, 9))
# kind of column -> what joins it to its detail, and what it means
COLUMNS = {
    facts.CONSTANT: (" = ", "Constant in the test sample, so their importance cannot be estimated"),
    facts.COPIED_COLUMN: (" of ", "Copies of other columns, so importance is split between them"),
    facts.SPARSE: (" = ", "Nearly always one value, so a permutation changes few observations"),
}


def _part(default: float) -> float:
    """Return a field for a share that may be 0."""
    return opt.option(default, "a number in [0, 1)", lambda value: 0 <= value < 1)


@dataclass(frozen=True)
class DataQualityCheck(TableCheck):
    """Reads the counts of ``data_quality``. They are facts about these rows, so there is no test; each has a threshold.

    Missing values are a finding only where their share differs from that in training, by its interval. Missing values
    as such, and few training rows, are observations.

    Copies count only where chance does not explain them (the lines ``distinctive``). A 0 apart from the other values
    may be a real amount (nothing of an ingredient): it is an observation, whatever its share.

    Parameters
    ----------
    overlap : float
        Share of audited rows that occur among the training rows (UQ701).
    duplicates : float
        Share of audited rows that repeat an earlier one (UQ702).
    placeholder : float
        Share of rows with a number that may stand for a missing value (UQ703).
    missing : float
        Share of rows with a missing value in a column (UQ705).
    change : float
        Difference of that share to the training rows, by the lower end of its interval (UQ705).
    rare_class : float
        Share of a class (UQ707).
    few_rows : float
        Training rows (UQ708).
    """

    overlap: float = _part(0.01)
    duplicates: float = _part(0.01)
    placeholder: float = _part(0.005)
    missing: float = _part(0.05)
    change: float = _part(0.02)
    rare_class: float = _part(0.05)
    few_rows: float = opt.positive(100)

    name: ClassVar[str] = ids.DATA_QUALITY
    title: ClassVar[str] = "Data quality"
    table: ClassVar[tuple[Rule, ...]] = RULES

    def check(self, run: Run) -> Outcome:
        """Judge the run's facts about the data."""
        missing = partial(_missing, run=run)
        judges = (_overlap, _duplicates, _placeholders, _columns, missing, _types, _classes, _training)
        return outcome(self, run, *(partial(_by_facts, judge) for judge in judges))


def _by_facts(judge: Callable[[Rule, DataQualityView], RuleOutcome], rule: Rule, run: Run) -> RuleOutcome:
    """Judge by the facts of a run; a rule whose facts were left out is not judged."""
    view = needed(DataQualityView, run)
    reason = {gap.measure: gap.reason for gap in view.omissions}.get(NEEDS.get(rule.code, ""), "")
    require(not reason, reason)
    return judge(rule, view)


def _overlap(rule: Rule, view: DataQualityView) -> RuleOutcome:
    other = _copies(view, facts.OVERLAP_OTHER_Y)[0]
    copies = _copies(view, facts.OVERLAP)
    differs = f" {other} of them have a different outcome there." if other else ""
    words = "also occur in the training sample, in copies that chance does not explain: the model was fitted to them."
    remedy = "Remove the copies from the test sample. Split the data so that copies stay together."
    if 2 * other > copies[0]:  # other outcomes of equal features are measurements, not copies
        words = "have the features of a training observation: repeated measurements of designs known to the model."
        remedy = "Split the data so that all measurements of one design stay together, and audit again."
    return _copied(rule, copies, "copies of training observations", words + differs, remedy)


def _duplicates(rule: Rule, view: DataQualityView) -> RuleOutcome:
    words = (
        "repeat an earlier one, in copies that chance does not explain. Intervals treat them as independent, so they "
        "are too narrow."
    )
    remedy = "State the clusters of repeated measurements, or remove the copies."
    return _copied(rule, _copies(view, facts.DUPLICATE_ROWS), "copies of others", words, remedy)


def _copies(view: DataQualityView, measure: str) -> tuple[int, float, int]:
    """Return how many rows, which share of them, and of how many, are copies that chance does not explain."""
    lines = (line for line in of_measure(view.lines, measure) if line.item == facts.DISTINCTIVE)
    return next(((line.count, line.estimate, line.n) for line in lines), (0, 0.0, 0))


def _copied(rule: Rule, copies: tuple[int, float, int], what: str, words: str, remedy: str) -> RuleOutcome:
    """Judge the share of rows that are copies."""
    count, share, n = copies
    near = (Symptom(code=NEAR_COPIES),) if rule.code == COPIED else ()
    said = _said(rule, f"{count} of {n} observations ({share_words(share)}) {words}", remedy, share, explains=near)
    passed = f"{count} of {n} observations are {what}."
    return family(rule, [share], lambda share: {"share": share}, lambda _: said, passed=passed)


def _placeholders(rule: Rule, view: DataQualityView) -> RuleOutcome:
    """Judge numbers that look like codes, one finding each, and zeros, all in one finding."""
    lines = of_measure(view.lines, facts.PLACEHOLDER)
    zeros = largest_first(line for line in lines if line.item == ZERO)
    return family(
        rule,
        [*(line for line in lines if line.item != ZERO), *zeros],
        lambda line: {"share": line.estimate, "code": line.item != ZERO},
        lambda *raised: _zeros(rule, raised) if raised[0].item == ZERO else _code(rule, *raised),
        by=lambda line: ZERO if line.item == ZERO else id(line),
        passed="No number looks like a code for a missing value.",
    )


def _code(rule: Rule, line: CountLine) -> Said:
    return _said(
        rule,
        f"{short(line.feature)} is {signed(line.item)} in {line.count} of {line.n} observations "
        f"({share_words(line.estimate)}), apart from its other values. It looks like a code for a missing value, "
        "which the model reads as a number.",
        "Find out where the value comes from. If it means missing, code it as missing and train again.",
        line.estimate,
        [line],
    )


def _zeros(rule: Rule, zeros: Sequence[CountLine]) -> Said:
    columns = listed(f"{short(line.feature)} ({share_words(line.estimate)})" for line in zeros)
    return _said(
        rule,
        f"0 stands apart from the other values in {columns}. It may be a real amount, or represent a missing value.",
        "Find out what 0 means in these columns. If it means missing, code it as missing and train again.",
        zeros[0].estimate,
        zeros,
    )


def _columns(rule: Rule, view: DataQualityView) -> RuleOutcome:
    """Judge constant, copied and sparse columns; one finding for each kind."""

    def said(measure: str) -> Said:
        (joint, words), lines = COLUMNS[measure], of_measure(view.lines, measure)
        statement = f"{words}: {listed(f'{short(line.feature)}{joint}{line.item}' for line in lines)}."
        remedy = "Remove the column, or audit observations where it varies."
        return _said(rule, statement, remedy, None, lines)

    passed = "No column is constant, copied or nearly empty."
    return family(rule, [*COLUMNS], lambda name: {name: len(of_measure(view.lines, name))}, said, passed=passed)


def _missing(rule: Rule, view: DataQualityView, run: Run) -> RuleOutcome:
    """Judge the share of missing values against training, one finding each; missing values as such in one finding."""
    changes, limit = MissingView.find(run), rule.thresholds["change"]
    moved = {line.feature: line for line in (changes.lines if changes else ()) if _least(line) > limit}
    others = [line for line in of_measure(view.lines, facts.MISSING) if line.feature not in moved]
    return family(
        rule,
        [*moved.values(), *others],
        lambda x: {"change": _least(x)} if isinstance(x, MissingLine) else {"share": x.estimate},
        lambda *raised: _lacking(rule, raised) if raised[0] in others else _moved(rule, *raised),
        by=lambda x: x.feature if isinstance(x, MissingLine) else "",
        passed=f"No column lacks more than {share_words(rule.thresholds['share'])}.",
    )


def _least(line: MissingLine) -> float:
    """Return how far a share has moved at least; 0 where it may not have."""
    return max(line.lower, -line.upper, 0.0)


def _moved(rule: Rule, line: MissingLine) -> Said:
    side = "more" if line.estimate > 0 else "less"
    return {
        "statement": f"{short(line.feature)} is missing in {share_words(line.share)} of {line.n} observations and in "
        f"{share_words(line.share_train)} of {line.n_train} training observations: at least "
        f"{100 * _least(line):.1f} points {side}.",
        "remedy": "Find out why the share differs: how the column is filled, or whom it describes.",
        **about(line, ids.DATA_QUALITY_MISSING, features=(line.feature,), threshold=rule.thresholds["change"]),
    }


def _lacking(rule: Rule, lines: Sequence[CountLine]) -> Said:
    columns = listed(f"{short(line.feature)} ({share_words(line.estimate)})" for line in largest_first(lines))
    remedy = "State why values are missing, and how the model treats them."
    return _said(rule, f"Values are missing in {columns}.", remedy, max(x.estimate for x in lines), lines)


def _types(rule: Rule, view: DataQualityView) -> RuleOutcome:
    def said(line: CountLine) -> Said:
        words = f"{short(line.feature)} differs in type: {line.item.replace('->', 'in training,')} here."
        remedy = "Read both files with the same types. Check that the values are coded in the same way."
        return _said(rule, words, remedy, 1.0, [line], threshold=0.0)

    lines, passed = of_measure(view.lines, facts.TYPE_CHANGE), "Training and test columns have the same types."
    return family(rule, lines, lambda line: {"changed": 1, "coding": not _of_numbers(line.item)}, said, passed=passed)


def _of_numbers(change: str) -> bool:
    """Say whether both types of a change hold numbers, as where a missing value turns whole numbers into others.

    Examples
    --------
    >>> _of_numbers("int64 -> float64"), _of_numbers("int64 -> object")
    (True, False)
    """
    return all(is_numeric_dtype(name) for name in change.split(" -> "))


def _classes(rule: Rule, view: DataQualityView) -> RuleOutcome:
    lines = sorted(of_measure(view.lines, facts.CLASS), key=lambda line: line.count)
    limit = min(rule.thresholds["share"], rule.thresholds["even"] / max(1, len(lines)))

    def said(*rare: CountLine) -> Said:
        names = listed(f"{line.item} ({line.count})" for line in rare)
        of = f"Rare classes, with their counts of {rare[0].n}"
        words = f"{of}: {names}. Means over all observations describe them little."
        remedy = "Audit these classes separately, on more observations."
        return _said(rule, words, remedy, rare[0].estimate, threshold=limit)

    return family(
        rule,
        lines,
        # of 50 equal classes all are below a share of 5%, so a rare one is far from an equal share too
        lambda line: {"share": line.estimate, "even": line.estimate * len(lines)},
        said,
        by=together,
        passed=f"No class has fewer than {share_words(limit)} of the observations." if lines else "",
    )


def _training(rule: Rule, view: DataQualityView) -> RuleOutcome:
    n = view.n_train
    require(n, "no training observations were given")
    within = 98 / sqrt(n)  # 95% interval of a share of one half, in points
    words = (
        f"{n} training observations for {view.columns_checked} features: a share of one half is estimated to "
        f"±{within:.0f} points only."
    )
    remedy = "Fit the model to more observations, or to fewer features."
    said = _said(rule, words, remedy, n, threshold=rule.thresholds["few"])
    return family(rule, [n], lambda n: {"rows": n}, lambda _: said, passed=f"{n} training observations were given.")


def _said(
    rule: Rule, statement: str, remedy: str, number: float | None, lines: Sequence[CountLine] = (), **parts: Any
) -> Said:
    """Return what to say of a share, on the features of `lines`; `number` is None where there is none."""
    about = {"evidence": (ids.DATA_QUALITY,), "features": tuple(line.feature for line in lines), "observed": number}
    return {"statement": statement, "remedy": remedy, "threshold": rule.thresholds.get("share"), **about, **parts}
