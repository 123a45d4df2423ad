"""What checks share: signs adjusted over features, and how the rules of a check end together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np
from scipy.special import stdtr

from ..core.model import measures as m
from ..core.statistics.verdicts import SampleSize, beyond, holm, largest, within
from ..core.support.arrays import FloatArray
from ..core.support.text import clean, short
from ..evidence import ids
from ..evidence.finding import Finding, Outcome
from ..evidence.importance import NEGATIVE, POSITIVE, UNDETERMINED, Pfi, PfiLine
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import View, by_key, of_measure

NAMED = 6
NAME = 200
# What readers call the methods (by explainer) and the measures.
METHODS = {
    ids.AGREEMENT: "the comparison of rankings", ids.ALE: "the accumulated local effect",
    ids.CALIBRATION: "the assessment of calibration", ids.CID: "covered information",
    ids.COVER: "importance adjusted for redundancy", ids.DALEX: "DALEX",
    ids.DATA_QUALITY: "the assessment of data quality",
    ids.GROUPS: "the comparison of groups", ids.H_STATISTIC: "the H-statistic",
    ids.PDP: "the partial dependence", ids.PFI: "permutation importance",
    ids.REDUNDANCY: "the redundancy analysis", ids.RSENS: "R-sens",
    ids.SEGMENTS: "the segment analysis", ids.SELECTIVE: "selective prediction", ids.SHAP: "SHAP",
    ids.SUPPORT: "the comparison with the training sample",
}  # fmt: skip
MEASURES = {
    m.NLL.name: "the loss", m.NLL_CLIPPED.name: "the loss", m.BRIER.name: "the Brier score",
    m.SQUARED_ERROR.name: "the squared error", m.ABSOLUTE_ERROR.name: "the absolute error",
    m.CRPS.name: "the CRPS",
    m.ZERO_ONE.name: "the error rate", m.ONE_MINUS_AUC.name: "1 − AUC",
    m.PREDICTION.name: "the prediction", m.LOG_ODDS.name: "the log-odds", m.KL.name: "the model-implied loss",
    m.ENTROPY.name: "the uncertainty", m.VARIANCE.name: "the predictive variance",
    m.ALEATORIC.name: "the aleatoric uncertainty",
    m.EPISTEMIC.name: "the epistemic uncertainty",
    "pd": "the spread of the partial dependence",
}  # fmt: skip


class SignVerdict(PfiLine):
    """One importance with its interval, and its verdict after Holm's adjustment over the features.

    `p_value` is two-sided and adjusted; NaN where there is no interval. `interval` is the verdict before that.
    """

    interval: str

    def p_for(self, verdict: str) -> float:
        """Return the p-value for a verdict that the interval gives; NaN if it gives another."""
        return self.p_value if self.interval == verdict else nan


@dataclass(frozen=True, kw_only=True)
class RuleOutcome:
    """How one rule of a check ended.

    Parameters
    ----------
    code : str
    findings : tuple of Finding
    undecided : tuple of str
        What the evidence neither raises nor clears: names of features, or phrases.
    because : str
        What is open about all of them; empty where that is the rule's own question.
    absent : str
        Why the rule was not judged at all; empty if it was.
    passed : str
        A sentence on what was judged, for a rule that nothing speaks against.
    size : SampleSize, optional
        The number of observations that decides what is undecided.
    """

    code: str
    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    because: str = ""
    absent: str = ""
    passed: str = ""
    size: SampleSize | None = None

    @property
    def remark(self) -> str:
        """What of this rule stays open, in a sentence; empty if nothing."""
        if self.absent:
            return f"{self.code} was not judged: {self.absent}."
        why = f": {self.because}" if self.because else ""
        if not self.undecided:
            return ""
        size = "" if self.size is None else f" {self.size.sentence}"
        return f"{self.code} is undetermined for {listed(self.undecided)}{why}.{size}"


def close(check: str, parts: Sequence[RuleOutcome]) -> Outcome:
    """Return the outcome of a check whose rules ended in `parts`.

    It passes only if every rule was judged and nothing is undetermined. Without a finding, a rule that was
    not judged, or is undetermined, makes it skipped, and no rule judged makes it not applicable; the reason
    says which.

    Examples
    --------
    >>> close("demo", [RuleOutcome(code="UQ1", undecided=("a", "b"))]).reason
    'No verdict. UQ1 is undetermined for a and b.'
    """
    findings = tuple(finding for part in parts for finding in part.findings)
    remarks = [part.remark for part in parts if part.remark]
    size = largest(part.size for part in parts if part.undecided)
    left: dict[str, Any] = {
        "undecided": tuple(dict.fromkeys(part.code for part in parts if part.remark)),
        "n_needed": size.rounded if size is not None and size.is_larger else None,
    }
    if findings:
        return Outcome(check=check, state="found", reason=" ".join(remarks), findings=findings, **left)
    if all(part.absent for part in parts):
        return Outcome(check=check, state="not_applicable", reason="; ".join(dict.fromkeys(p.absent for p in parts)))
    if remarks:
        reason = " ".join(["No verdict.", *remarks])
        return Outcome(check=check, state="skipped", reason=reason, **left)
    return Outcome(check=check, state="passed", reason=" ".join(part.passed for part in parts if part.passed))


def absent(run: Run, id: str) -> str:
    """Say why a result is not there: why its method was not computed, or that it was not."""
    explainer = ids.explainer_of(id)
    if run.find(explainer) is not None:
        return f"{method_words(explainer)} has no such result"
    reasons = (_because(entry.reason) for entry in run.not_run if entry.name == explainer and entry.group != "checks")
    return f"{method_words(explainer)} was not computed{next(reasons, '')}"


def _because(reason: str) -> str:
    """Return a reason as the end of a sentence whose full stop the reader of it sets."""
    return f": {clean(reason).removesuffix('.')}"


def method_words(id: str) -> str:
    """Return what a reader calls the method that gave a result.

    Examples
    --------
    >>> method_words(ids.PFI_TRAIN), method_words(ids.DALEX_PARTS), method_words("my_method")
    ('permutation importance', 'DALEX', 'my method')
    """
    explainer = ids.explainer_of(id)
    return METHODS.get(explainer, explainer.replace("_", " "))


def measure_words(measure: str) -> str:
    """Return what a reader calls a measure.

    Examples
    --------
    >>> measure_words("nll"), measure_words("brier"), measure_words("pinball_90")
    ('the loss', 'the Brier score', 'pinball 90')
    """
    return MEASURES.get(measure, measure.replace("_", " "))


def lacking(view: View[Any], measure: str) -> str:
    """Say why a result has no values of a measure."""
    reasons = (_because(gap.reason) for gap in view.omissions if gap.measure in (measure, ""))
    return f"{method_words(view.id)} has no value for {measure_words(measure)}{next(reasons, '')}"


def freedom(run: Run, most: float = np.inf) -> float:
    """Return the degrees of freedom of a mean over the run's rows (clusters where given), at most `most`."""
    units = run.subject.get("clusters") or run.subject.get("n") or np.inf
    return max(min(float(units) - 1, most), 1.0)


def two_sided(estimate: Any, std_error: Any, df: Any) -> FloatArray:
    """Return two-sided p-values of t tests against 0; NaN where there is no standard error.

    An exact value, of standard error 0, has the p-value 0, or 1 if it is 0.

    Examples
    --------
    >>> two_sided([1.96, 0.0, 1.0], [1.0, 0.0, 0.0], np.inf).round(3).tolist()
    [0.05, 1.0, 0.0]
    """
    value, error = np.abs(np.asarray(estimate, dtype=float)), np.asarray(std_error, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((value == 0) & (error == 0), 0.0, value / error)
    return np.asarray(2 * stdtr(df, -t))


def signs(view: Pfi, measure: str, level: float) -> dict[str, SignVerdict]:
    """Return each feature's importance for one measure with its verdict after Holm's adjustment over features.

    ``positive`` and ``negative`` need an adjusted two-sided p-value of at most `level`; those that lose it
    are ``undetermined``, and so are those with an unreliable interval, which take no part. ``about 0``,
    two one-sided tests, stays as the result has it: a rule that needs it beside a sign raises only where both hold,
    and a pass only where it holds for every feature.
    """
    lines = of_measure(view.lines, measure)
    errors = [nan if line.unreliable else line.std_error for line in lines]
    adjusted = holm(two_sided([line.estimate for line in lines], errors, view.degrees_of_freedom))
    table = {}
    for line, p in zip(lines, adjusted.tolist(), strict=True):
        lost = line.verdict in (POSITIVE, NEGATIVE) and not p <= level
        adjusted_line = {**vars(line), "p_value": p, "verdict": UNDETERMINED if lost else line.verdict}
        table[line.feature] = SignVerdict(**adjusted_line, interval=line.verdict)
    return table


def with_reasons(view: Pfi, features: Iterable[str], *measures: str) -> tuple[str, ...]:
    """Return features that are inconclusive for a rule; those with an unreliable interval with the reason.

    Features of one reason are one phrase. How many are needed is named where it is more than those audited.
    """
    reasons: dict[str, str] = {}
    for line in view.lines:
        if line.unreliable and (not measures or line.measure in measures):
            needed = "" if isnan(line.n_needed) else f"; about {line.n_needed:,.0f} observations are needed"
            reasons.setdefault(line.feature, f"{line.unreliable}{needed}")
    return by_reason({feature: reasons.get(feature, "") for feature in features})


TWICE = "the true value is twice the margin"


def size_beyond(run: Run, errors: Iterable[tuple[float, float]], given: str = TWICE) -> SampleSize | None:
    """Return the largest size at which a value of twice a margin is shown to be beyond it, of (error, margin) pairs.

    The tests are one family, which Holm's method adjusts.
    """
    n, pairs = SubjectFacts.of(run).n, list(errors)
    if n is None:
        return None
    return largest(beyond(n, error, margin, given, tests=len(pairs)) for error, margin in pairs)


def size_within(run: Run, lines: Iterable[PfiLine]) -> SampleSize | None:
    """Return the largest size at which an importance that is left undetermined is shown to be about 0, if it is 0."""
    n = SubjectFacts.of(run).n
    undecided = [line for line in lines if line.verdict == UNDETERMINED and not line.unreliable]
    if n is None:
        return None
    return largest(within(n, n * line.std_error**2, line.margin, "the true importance is 0") for line in undecided)


def by_reason(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Return features by why they are undecided: those of one reason as one phrase, those without any by themselves.

    Examples
    --------
    >>> by_reason({"a": "", "b": "few events (7 of 200)", "c": "few events (7 of 200)"})
    ('a', 'b and c (few events, 7 of 200)')
    """
    shared = by_key((reason, feature) for feature, reason in reasons.items())
    alone = tuple(short(feature, NAME) for feature in shared.pop("", ()))
    phrases = (f"{listed(names)} ({reason.replace(' (', ', ').replace(')', '')})" for reason, names in shared.items())
    return (*alone, *phrases)


def likelihood(view: Pfi) -> str:
    """Return the name of the likelihood measure that a result has, or the empty string."""
    return next((measure.name for measure in (m.NLL, m.NLL_CLIPPED) if measure.name in view.measures), "")


def listed(names: Iterable[str], most: int = NAMED) -> str:
    """Return names as words, at most `most` of them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed("abcd", 2), listed("abcdefg")
    ('a, b and c', 'a, b and 2 more', 'a, b, c, d, e, f and 1 more')
    """
    every = [short(name, NAME) for name in names]
    if len(every) > most:
        return f"{', '.join(every[:most])} and {len(every) - most} more"
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def and_with(words: str, names: Sequence[str]) -> str:
    """Return further names behind what leads up to them; empty where there are none.

    Examples
    --------
    >>> and_with("; so with", ["a", "b"]), and_with("; so with", [])
    ('; so with a and b', '')
    """
    return f"{words} {listed(names)}" if names else ""
