"""Performance: models of no use are named, weak and strong honest ones are not, and few events are not judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression

import uq_report as uq
from uq_report.core.model.results import Diagnostic
from uq_report.core.model.sampling import share_interval
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun
from uq_report.methods.calibration.check import Performance
from uq_report.methods.calibration.tables import at_most

from . import importances
from .importances import audited, diagnostic, outcome

Rows = tuple[pd.DataFrame, np.ndarray]
Line = tuple[str, float, float]
AREA: Line = ("roc_auc", 0.8, 0.05)


def rows(n: int, seed: int, *, share: float = 0.5, slope: float = 1.0, classes: bool = True) -> Rows:
    """Return three features, of which two count, and a class of about this share, or a number."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    eta = np.log(share / (1 - share)) + slope * (X["a"] + X["b"]).to_numpy()
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int) if classes else eta + rng.normal(size=n)


def fitted(model: Any, n: int = 500, **kind: Any) -> Outcome:
    """Return what the check says of a model fitted on 3000 rows and audited on `n` others."""
    train, test = rows(3000, 1, **kind), rows(n, 2, **kind)
    return audit(model.fit(*train), test, train)


def audit(model: Any, test: Rows, train: Rows) -> Outcome:
    run = audited(uq.explain(model, *test, train=train), ["calibration"], checks=["performance"])
    return outcome(run, "performance")


def recalls(*counts: tuple[int, int], level: float = 0.95) -> Diagnostic:
    """Return the decisions of classes "no" and "yes" by the rows found and the rows of each."""
    table = []
    for label, (hits, n) in zip(("no", "yes"), counts, strict=True):
        low, high = share_interval(hits / n, n, level)
        row = {"item": "recall", "label": label, "n": n, "n_effective": float(n), "estimate": hits / n}
        table.append({"feature": "", **row, "lower": low, "upper": high})
    meta = {"classes": ["no", "yes"], "counts": [], "rule": "the most probable class"}
    return diagnostic("calibration.decisions", table, meta=meta)


def judged(
    lines: Sequence[Line],
    check: Performance | None = None,
    found: tuple[tuple[int, int], ...] = ((150, 160), (30, 40)),
    **subject: Any,
) -> Outcome:
    """Return the outcome for items, each with its estimate and the half width of its interval."""
    units = {"unit": "nats"}
    table = [{"feature": "", "item": i, "estimate": e, "lower": e - w, "upper": e + w, **units} for i, e, w in lines]
    facts: Any = {"classes": ["no", "yes"], "y_summary": {"counts": [160, 40]}} | subject
    run = importances.run(diagnostic("calibration", table), recalls(*found), **facts)
    return (check or Performance()).check(run)


def scores(skill: float, reach: float, *more: Line, base: float = 0.5) -> list[Line]:
    return [("log_score_skill", skill, reach), ("log_score_baseline", base, 0.01), *more]


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize(
    "model", [DummyClassifier(strategy="prior"), HistGradientBoostingClassifier(min_samples_leaf=10**6)]
)
def test_a_constant_model_is_named(model: Any, share: float) -> None:
    finding = fitted(model, share=share).findings[0]
    assert (finding.code, finding.severity, finding.evidence) == ("UQ001", "critical", ("calibration",))
    assert "than the class frequencies, without the features" in finding.statement
    assert "Do not use" in finding.remedy
    assert "nan" not in finding.statement


def test_a_normal_that_is_the_same_everywhere_is_named() -> None:
    train, test = rows(3000, 1, classes=False), rows(500, 2, classes=False)
    mean, sd = float(train[1].mean()), float(train[1].std())

    def same(X: Any) -> Normal:
        return Normal(np.full(len(X), mean), np.full(len(X), sd))

    finding = audit(same, test, train).findings[0]
    assert (finding.code, finding.severity) == ("UQ001", "critical")
    assert "the distribution of the outcomes" in finding.statement
    assert "its CRPS is" in finding.statement


@pytest.mark.parametrize("kind", [{}, {"share": 0.03, "slope": 0.6, "n": 1500}, {"classes": False}])
def test_a_sensible_model_is_not_named(kind: dict[str, Any]) -> None:
    model = LogisticRegression() if kind.get("classes", True) else BayesianRidge()
    found = fitted(model, **kind)
    assert {(one.code, one.severity) for one in found.findings} <= {("UQ002", "observation")}
    assert ("UQ002" in {one.code for one in found.findings}) == (kind.get("share") == 0.03)


def test_stated_certainty_that_is_wrong_is_told_from_a_useless_order() -> None:
    finding = fitted(LogisticRegression(class_weight="balanced"), share=0.03, n=1500).findings[0]
    assert finding.severity == "high"  # it loses much more than a tenth of the baseline's score
    assert "predicts worse than the class frequencies" in finding.statement
    assert "It does rank the observations: the area under the ROC curve is 0." in finding.statement
    assert finding.remedy.startswith("Recalibrate")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (scores(0.0, 0.004), "critical"),  # no more than 0.8% of the baseline's score
        (scores(0.0, 0.006), "high"),  # holds 0, and ends at 1.2%
        (scores(0.0, 0.016), "skipped"),  # holds 0, and ends at 3.2%
        (scores(0.007, 0.006), "passed"),
        (scores(0.003, 0.001), "high"),  # better, by too little to count
        (scores(0.05, 0.04), "passed"),
        (scores(0.05, 0.05), "skipped"),  # the gain may be none
        (scores(0.0, 0.0049), "critical"),
        (scores(0.0, 0.0051), "high"),
        (scores(0.0, 0.0149), "high"),
        (scores(0.0, 0.0151), "skipped"),
        (scores(-0.0599, 0.01, ("roc_auc", 0.8, 0.05)), "medium"),  # worse by 9.98% of the baseline's score, surely
        (scores(-0.0601, 0.01, ("roc_auc", 0.8, 0.05)), "high"),
        (scores(-0.03, 0.01), "critical"),
        (scores(-0.03, 0.01, ("roc_auc", 0.8, 0.05)), "medium"),
        (scores(-0.03, 0.01, ("roc_auc", 0.52, 0.05)), "critical"),
        (scores(-0.03, 0.01, ("roc_auc", 0.56, 0.05)), "medium"),
        (scores(-0.03, 0.01, ("brier_skill", 0.1, 0.05)), "medium"),
        (scores(-0.08, 0.01, ("roc_auc", 0.8, 0.05)), "high"),
        (
            [("brier_skill", -0.03, 0.01), ("brier_baseline", 0.5, 0.01)],
            "critical",
        ),  # an infinite log score has no line
        (scores(0.0, np.nan), "skipped"),
        ([("accuracy", 0.8, 0.1)], "skipped"),
    ],
)
def test_the_interval_decides_and_other_scores_grade(lines: list[Line], expected: str) -> None:
    found = judged(lines)
    assert (found.findings[0].severity if found.findings else found.state) == expected


def test_a_finding_has_shares_of_the_baselines_score_and_no_size() -> None:
    finding = judged(scores(-0.03, 0.01)).findings[0]
    assert "log loss exceeds theirs (0.500) by 0.030 nats (95% CI 0.020 to 0.040)" in finding.statement
    assert (finding.observed, finding.lower, finding.upper) == pytest.approx((-0.06, -0.08, -0.04))
    assert (finding.size, finding.affected) == (None, "")  # there is no skill to be a share of, and all rows count
    assert "which may be none" in judged(scores(0.0, 0.02)).reason
    unproved = judged(scores(0.0, 0.01)).findings[0].statement
    assert "is better by less than 2% of theirs (95% CI, so it may be none)" in unproved


def test_over_claiming_stands_under_a_model_of_no_use() -> None:
    useless, ordering = (judged(lines).findings[0] for lines in (scores(-0.03, 0.01), scores(-0.03, 0.01, AREA)))
    assert [one.code for one in useless.explains] == ["UQ003", "UQ101", "UQ121", "UQ123", "UQ401", "UQ402"]
    assert [one.code for one in ordering.explains] == ["UQ003"]


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([191, 9], "9 observations outside the most frequent class are too few: 10 are needed, in about 223"),
        ([200, 0], "one class only"),
    ],
)
def test_few_events_are_not_judged(counts: list[int], reason: str) -> None:
    found = judged(scores(-0.03, 0.01), y_summary={"counts": counts})
    assert found.state == "skipped"  # the recalls are judged by their own rows
    assert reason in found.reason


@pytest.mark.parametrize(
    ("found", "area", "severity"),
    [
        (((160, 160), (0, 40)), 0.8, "observation"),  # at most 9% of a class of 20% of the rows, hard to tell
        (((160, 160), (0, 40)), 0.95, "low"),  # the same, although the probabilities tell it
        (((160, 160), (1, 40)), 0.95, "observation"),  # at most 13%
        (((160, 160), (4, 40)), 0.95, ""),  # at most 24%
        (((190, 190), (0, 10)), 0.95, ""),  # at most 31%
    ],
)
def test_a_class_that_decisions_miss_is_named(found: Any, area: float, severity: str) -> None:
    lines = scores(0.05, 0.04, ("roc_auc", area, 0.02))
    given = [one for one in judged(lines, found=found).findings if one.code == "UQ002"]
    assert [one.severity for one in given] == [severity] * bool(severity)
    if severity:
        hits, n = found[1]
        assert given[0].evidence == ("calibration.decisions", "calibration")
        assert "Predicting the most probable class, the model recalls" in given[0].statement
        assert f"the model recalls {hits} of the {n} observations of yes" in given[0].statement
        assert given[0].upper == pytest.approx(share_interval(hits / n, n, 0.95)[1])


def test_the_recall_that_would_pass_is_an_option() -> None:
    lines, found = scores(0.05, 0.04), ((160, 160), (10, 40))
    assert not judged(lines, found=found).findings
    assert judged(lines, Performance(recall=0.5), found=found).findings[0].code == "UQ002"


def test_the_test_of_a_recall_is_the_exact_binomial_one() -> None:
    hits = np.arange(21)
    assert [at_most(float(h), 20, 0.2) for h in hits] == pytest.approx(binom.cdf(hits, 20, 0.2))


def test_a_class_of_few_rows_is_not_judged() -> None:
    found = judged(scores(0.05, 0.04), found=((191, 191), (0, 9)))
    assert (found.state, "the recall of yes, a class of too few observations" in found.reason) == ("skipped", True)


@pytest.mark.parametrize(
    ("lines", "severity", "words"),
    [
        (
            scores(0.05, 0.02),
            "low",
            "log loss is better by 0.050 nats (95% CI 0.030 to 0.070), and not by the expected 0.1",
        ),
        (scores(0.09, 0.02), "", ""),
        (scores(-0.03, 0.01), "critical", "predicts worse than the class frequencies"),
    ],
)
def test_a_stated_skill_that_is_not_reached_is_told(lines: list[Line], severity: str, words: str) -> None:
    check = Performance(expected=0.1)
    found = judged(lines, check).findings
    assert "Low if only a skill of 0.1" in check.rules[0].text
    assert [one.severity for one in found] == [severity] * bool(severity)
    assert not found or words in found[0].statement
    assert not found or ("was stated for" in found[0].remedy) == (severity == "low")


@pytest.mark.parametrize(
    ("skill", "words"),
    [
        (0.05, "predicts better than the class"),
        (0.01, "predicts not shown to be better than the class"),
        (0.02, "predicts not shown to be better than the class"),
    ],
)
def test_a_skill_below_the_stated_one_is_said_to_be_one_or_not_shown_to_be(skill: float, words: str) -> None:
    (finding,) = judged(scores(skill, 0.02), Performance(expected=0.1)).findings
    assert words in finding.statement
    assert (finding.severity, finding.explains) == ("low", ())
    assert finding.threshold == pytest.approx(0.1 / 0.5)


def test_means_that_help_are_named() -> None:
    lines = [("crps_skill", -0.03, 0.01), ("crps_baseline", 0.5, 0.01), ("r2", 0.5, 0.1)]
    finding = judged(lines, classes=None).findings[0]
    assert finding.severity == "medium"
    assert "take at least 40% off the variance" in finding.statement


def test_a_rare_class_that_is_missed_stays_an_observation() -> None:
    """At most 6% of a class of 6% of the rows, though the probabilities tell it."""
    lines = scores(0.05, 0.04, ("roc_auc", 0.95, 0.02))
    (finding,) = judged(lines, found=((940, 940), (0, 60))).findings
    assert (finding.code, finding.severity) == ("UQ002", "observation")


def test_a_baseline_of_nothing_judges_nothing() -> None:
    found = judged(scores(0.05, 0.01, base=0.0))
    assert "no score of the outcomes has an interval" in found.reason


def test_a_gain_of_almost_nothing_is_less_than_a_thousandth() -> None:
    (finding,) = judged(scores(0.0, 0.0001)).findings
    assert "is better by less than 0.1% of theirs (95% CI, so it is less than would count)" in finding.statement


@pytest.mark.parametrize(
    ("options", "usable"),
    [
        ({"expected": 0.0}, False),
        ({"expected": float("inf")}, False),
        ({"expected": 1e-9}, True),
        ({"small_gain": 0.01}, True),
        ({"small_gain": 0.0099}, False),
        ({"small_gain": 1.0}, False),
    ],
)
def test_both_sides_of_the_options(options: dict[str, float], usable: bool) -> None:
    if usable:
        assert vars(Performance(**options)).items() >= options.items()
    else:
        with pytest.raises(InputError, match=rf"performance\.{next(iter(options))} must be"):
            Performance(**options)


@pytest.mark.parametrize("hits", [2, 3])
def test_recalls_are_tested_at_their_rows_and_adjusted_over_classes(hits: int) -> None:
    # at 80% both intervals end below 0.2, and both unadjusted p-values are below 0.05
    p_value = float(binom.cdf(hits, 40, 0.2))
    assert p_value < 0.05
    facts: Any = {"classes": ["no", "yes"], "y_summary": {"counts": [160, 40]}}
    outcome = Performance().check(importances.run(recalls((30, 160), (hits, 40), level=0.8), **facts))
    assert [one.code for one in outcome.findings] == ["UQ002"] * (2 * p_value <= 0.05)


def test_options_and_absence() -> None:
    assert judged(scores(0.0, 0.016), Performance(small_gain=0.04)).state == "found"
    with pytest.raises(InputError, match=r"performance\.margin must be"):
        Performance(margin=0)
    found = Performance().check(
        importances.run(not_run=(NotRun("calibration", "explainers", "y was not given", "data"),))
    )
    assert (found.state, found.reason) == (
        "not_applicable",
        "the assessment of calibration was not computed: y was not given",
    )


@pytest.mark.parametrize(("unit", "needed", "given"), [
    ("nats", 7.849 * 200 * (0.06 / 0.05) ** 2, "the skill is 0.05 nats"),
    ("squared probability", 7.849 * 200 * (0.06 / 0.025) ** 2, "the skill is 5% of the score of the class frequencies"),
])  # fmt: skip
def test_a_skill_that_may_be_none_names_the_sample_that_shows_a_stated_one(
    unit: str, needed: float, given: str
) -> None:
    """Where the interval holds 0: by its standard error, whatever the estimate."""
    item = "log_score" if unit == "nats" else "brier"
    lines = [(f"{item}_skill", 0.1, -0.02, 0.22), (f"{item}_baseline", 0.5, 0.4, 0.6)]
    table = [
        {
            "feature": "",
            "item": i,
            "estimate": e,
            "lower": a,
            "upper": b,
            "unit": unit,
            "std_error": 0.06,
            "confidence": 0.95,
        }
        for i, e, a, b in lines
    ]
    result = diagnostic("calibration", table, meta={"n": 200})
    facts: Any = {"classes": ["no", "yes"], "y_summary": {"counts": [160, 40]}}
    ended = Performance().check(importances.run(result, recalls((150, 160), (30, 40)), **facts))
    assert ended.n_needed is not None
    assert needed <= ended.n_needed < 1.1 * needed
    assert given in ended.reason


@pytest.mark.parametrize(("shift", "leads"), [(0.0, False), (2.0, True)])
def test_probabilities_wrong_on_average_lead_what_follows_from_them(shift: float, *, leads: bool) -> None:
    """A model fitted to balanced classes names no feature and no segment first; one that is right names nothing."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=list("abc"))
    odds = X["a"] - X["b"] - 1
    y = (rng.uniform(size=800) < 1 / (1 + np.exp(-odds))).astype(int)

    class Shifted:
        classes_ = np.array([0, 1])

        def predict_proba(self, X: pd.DataFrame) -> Any:
            p = 1 / (1 + np.exp(-(X["a"] - X["b"] - 1 + shift)))
            return np.column_stack([1 - p, p])

        def predict(self, X: pd.DataFrame) -> Any:
            return self.predict_proba(X).argmax(axis=1)

    run = uq.audit(uq.explain(Shifted(), X, y), explainers=["calibration", "pfi", "segments"], progress=False).run
    claims = [finding for finding in run.findings if finding.severity != "observation"]
    assert bool(claims) is leads
    if leads:
        assert (claims[0].code, claims[0].statement[:38]) == ("UQ101", "Predictions are too high on average: t")
        others = {finding.code for finding in claims[1:]} - {"UQ001"}
        assert others
        assert others <= {symptom.code for symptom in claims[0].explains}
