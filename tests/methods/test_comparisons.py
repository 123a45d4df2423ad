"""The predictions against simple references: by hand, on both sides of what their sentences say."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Diagnostic
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import DecisionRule
from uq_report.core.statistics.score_intervals import normal_quantile, paired_share_interval, wilson
from uq_report.distributions import Categorical
from uq_report.evidence.comparisons import (
    ACCURACY_GAIN,
    EXPECTED_COST,
    IN_THE_LARGE,
    NET_BENEFIT,
    NET_BENEFIT_GAIN,
    TRAINING_GAP,
    Comparisons,
)
from uq_report.inputs.adapters.ensemble import RegressorStdAdapter
from uq_report.methods.calibration.comparisons import (
    ClassOutcomes,
    Training,
    class_comparisons,
    comparisons,
    training_gap,
)
from uq_report.report.sections.outcomes import benefit, cost, in_the_large, over_majority, training

MEASURES = testing.measures()
Z = normal_quantile(0.95)


def outcomes(p: Sequence[float], y: Sequence[int], train: Sequence[int] | None = None, **more: Any) -> ClassOutcomes:
    q = Categorical(np.column_stack([1 - np.asarray(p), p]), classes=["good", "bad"])
    if "rule" in more:
        q = q.deciding(more["rule"])
    n = len(p)
    sampling = Sampling(np.full(n, 1 / n), n)
    given = None if train is None else np.asarray(train)
    return ClassOutcomes(q, np.asarray(y), given, sampling, np.arange(n), 0.95)


def lines(given: ClassOutcomes) -> dict[str, dict[str, Any]]:
    return {record["item"]: record for record in class_comparisons(given)[0]}


def test_calibration_in_the_large_is_the_mean_less_the_rate() -> None:
    """Of one probability for all, the limits are those of Wilson at n."""
    y = np.repeat([1, 0], [30, 70])
    line = lines(outcomes([0.2] * 100, y.tolist()))[IN_THE_LARGE]
    lower, upper = wilson(0.3, 100, Z)
    assert [line[key] for key in ("estimate", "value", "reference")] == pytest.approx([-0.1, 0.2, 0.3])
    assert [line["lower"], line["upper"]] == pytest.approx([0.2 - upper, 0.2 - lower])
    assert line["p_value"] == pytest.approx(2 * stats.norm.sf(10 / np.sqrt(100 * 0.16)))
    assert line["of"] == "bad"


def test_features_that_tell_narrow_the_interval() -> None:
    y = np.repeat([1, 0], [30, 70])
    sharp = lines(outcomes(np.where(y == 1, 0.9, 0.1).tolist(), y.tolist()))[IN_THE_LARGE]
    flat = lines(outcomes([0.34] * 100, y.tolist()))[IN_THE_LARGE]
    assert sharp["upper"] - sharp["lower"] < 0.5 * (flat["upper"] - flat["lower"])


def test_one_class_only_leaves_the_rate_at_the_end_of_its_range() -> None:
    line = lines(outcomes([0.2] * 10, [0] * 10))[IN_THE_LARGE]
    assert line["upper"] == pytest.approx(0.2)  # the rate is not below 0
    assert lines(outcomes([0.0] * 10, [0] * 10))[IN_THE_LARGE]["p_value"] != 0
    assert np.isnan(lines(outcomes([0.0] * 10, [0] * 10))[IN_THE_LARGE]["p_value"])


def test_accuracy_less_that_of_the_majority_of_training() -> None:
    """12 rows are won, 5 are lost; the majority of the training rows is "good", whatever the test rows have."""
    y = [1] * 12 + [0] * 5 + [1] * 63 + [0] * 20
    p = [0.9] * 12 + [0.9] * 5 + [0.1] * 63 + [0.1] * 20
    line = lines(outcomes(p, y, train=[0, 0, 1]))[ACCURACY_GAIN]
    assert line["estimate"] == pytest.approx(0.07)
    assert (line["value"], line["reference"], line["of"]) == (pytest.approx(0.32), pytest.approx(0.25), "good")
    assert [line["lower"], line["upper"]] == pytest.approx(paired_share_interval(12, 5, 100, Z))
    assert ACCURACY_GAIN not in lines(outcomes(p, y))
    same = lines(outcomes([0.1] * 4, [0, 0, 1, 1], train=[0]))[ACCURACY_GAIN]
    assert same["estimate"] == 0.0
    assert same["lower"] < 0 < same["upper"]


def test_copies_in_clusters_leave_the_majority_interval() -> None:
    """Each row five times in a cluster: the effective number is that of the clusters."""
    y, p = np.repeat([1, 0, 1, 0], [12, 5, 63, 20]), np.repeat([0.9, 0.9, 0.1, 0.1], [12, 5, 63, 20])
    once = outcomes(p.tolist(), y.tolist(), train=[0])
    often = outcomes(np.repeat(p, 5).tolist(), np.repeat(y, 5).tolist(), train=[0])
    often = often._replace(sampling=Sampling(np.full(500, 1 / 500), 100, np.repeat(np.arange(100), 5)))
    for end in ("lower", "upper"):
        assert lines(often)[ACCURACY_GAIN][end] == pytest.approx(lines(once)[ACCURACY_GAIN][end])


def test_net_benefit_at_the_threshold_of_the_decisions() -> None:
    """True positives .10, false ones .05, a threshold of .2 for "bad"; events .25, so treating all is .25 - .75/4."""
    y = [1] * 10 + [0] * 5 + [1] * 15 + [0] * 70
    p = [0.3] * 15 + [0.1] * 85
    found = lines(outcomes(p, y, rule=DecisionRule("", 1, 0.2)))
    line, gain = found[NET_BENEFIT], found[NET_BENEFIT_GAIN]
    assert line["estimate"] == pytest.approx(0.0875)
    assert [line["lower"], line["upper"]] == pytest.approx([0.039038, 0.162746], abs=1e-5)
    assert gain["reference"] == pytest.approx(0.25 - 0.25 * 0.75)
    assert gain["estimate"] == pytest.approx(0.0875 - gain["reference"])
    assert gain["lower"] < gain["estimate"] < gain["upper"]


def test_what_has_no_threshold_has_no_net_benefit() -> None:
    records, omissions, threshold = class_comparisons(
        outcomes([0.2] * 4, [0, 1, 0, 0], rule=DecisionRule("x", own=True))
    )
    assert threshold is None
    assert {record["item"] for record in records} == {IN_THE_LARGE}
    assert {gap.measure for gap in omissions} == {ACCURACY_GAIN, NET_BENEFIT}
    plain = class_comparisons(outcomes([0.2] * 4, [0, 1, 0, 0]))
    assert plain[2] == 0.5
    edge = class_comparisons(outcomes([0.2] * 4, [0, 1, 0, 0], rule=DecisionRule("x", 1, 1.0)))
    assert edge[2] is None


def test_the_training_score_is_a_fixed_number() -> None:
    subject = testing.logistic_subject(80, train=True)
    engine = Engine(subject, MEASURES).bound("calibration")
    (line,), gaps, rows = training_gap(engine, Sampling.of(subject), Training.of_subject(engine))
    own = engine.bound("calibration", subject.training())
    there = float(own.unchanged([MEASURES["nll"]])[0].mean())
    here = engine.unchanged([MEASURES["nll"]])[0]
    assert (line["reference"], line["value"]) == pytest.approx((there, here.mean()))
    assert line["estimate"] == pytest.approx(here.mean() - there)
    assert gaps == []
    assert rows["train_rows"] == rows["train_of"] == len(subject.train[0])  # type: ignore[index]


@pytest.mark.parametrize(("n", "n_train", "used"), [(40, 900, 900), (40, 1100, 1000), (1050, 1100, 1050)])
def test_of_many_training_rows_a_thousand_or_as_many_as_tested_are_predicted(n: int, n_train: int, used: int) -> None:
    X = np.random.default_rng(0).normal(size=(n_train, 1))
    model = BayesianRidge().fit(X, X[:, 0])
    subject = make_subject(model, RegressorStdAdapter(), X[:n], X[:n, 0], train=(X, X[:, 0]))
    found = Training.of_subject(Engine(subject, MEASURES).bound("calibration"))
    assert found.engine is not None
    assert (found.engine.subject.n, found.of) == (used, n_train)


def test_without_training_rows_there_is_no_training_score() -> None:
    subject = testing.linear_subject(40)
    engine = Engine(subject, MEASURES).bound("calibration")
    records, gaps, _ = training_gap(engine, Sampling.of(subject), Training.of_subject(engine))
    assert records == []
    assert gaps[0].measure == TRAINING_GAP


def test_a_budget_costs_the_training_score_alone() -> None:
    subject = testing.logistic_subject(80, train=True)
    engine = Engine(subject, MEASURES, row_budget=80).bound("calibration")
    records, gaps, _ = training_gap(engine, Sampling.of(subject), Training.of_subject(engine))
    assert records == []
    assert "row_budget" in gaps[0].reason


def view(*records: dict[str, Any], **meta: Any) -> Comparisons:
    columns = {
        "measure": "",
        "feature": "",
        "std_error": 0.01,
        "confidence": 0.95,
        "covers": "new test samples",
        "n": 100,
    }
    table = pd.DataFrame([{**columns, "p_value": np.nan, "of": "bad", **record} for record in records])
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    result = Diagnostic(id=Comparisons.id, explainer="calibration", title="", frame=frame, estimates=table, meta=meta)
    return Comparisons.from_result(result)


def row(
    item: str, values: tuple[float, float], interval: tuple[float, float], unit: str, **more: Any
) -> dict[str, Any]:
    value, reference = values
    ends = {"lower": interval[0], "upper": interval[1], "estimate": value - reference}
    return {"item": item, "value": value, "reference": reference, "unit": unit, **ends, **more}


@pytest.mark.parametrize(("upper", "end"), [(0.010, "not established."), (-0.001, ").")])
def test_the_sentence_on_the_level(upper: float, end: str) -> None:
    words = in_the_large(view(row(IN_THE_LARGE, (0.286, 0.328), (-0.095, upper), "probability")))
    assert words.startswith("Mean predicted probability of bad 28.6%, observed 32.8%: difference −4")
    assert words.endswith(end)
    assert ("not established" in words) is (upper > 0)


def test_the_sentence_on_the_majority() -> None:
    words = over_majority(view(row(ACCURACY_GAIN, (0.72, 0.672), (-0.006, 0.1), "share of observations", of="good")))
    assert words == (
        "Accuracy minus that of always predicting good, the majority in training (67.2%): 5 points (−1 to 10), not "
        "established."
    )


def test_the_sentence_on_training() -> None:
    def words(interval: tuple[float, float], of: int = 300, *, classes: bool = True) -> str:
        line = row(TRAINING_GAP, (0.58, 0.36), interval, "nats", of="negative log-likelihood")
        return training(view(line, train_rows=300, train_of=of), classes=classes)

    assert (
        words((0.15, 0.29))
        == "Log loss is higher than on training observations by 0.22 nats (0.15 to 0.29): over-fitting."
    )
    undecided = "is not shown to differ from that on training observations (0.22 nats, −0.01 to 0.29)."
    assert words((-0.01, 0.29)) == f"Log loss {undecided}"
    some = words((-0.01, 0.29), 900, classes=False)
    assert some.startswith("Mean negative log-likelihood is not shown to differ from that on 300 training observations")


def test_the_sentence_on_a_lower_test_score() -> None:
    line = row(TRAINING_GAP, (0.30, 0.36), (-0.09, -0.03), "nats")
    found = training(view(line), classes=True)
    assert found == "Log loss is lower than on training observations: difference −0.060 nats (−0.090 to −0.030)."


def test_the_sentence_on_net_benefit() -> None:
    worth = row(NET_BENEFIT, (0.088, 0.0), (0.039, 0.163), "share of observations")
    gain = row(NET_BENEFIT_GAIN, (0.088, -0.06), (0.1, 0.2), "share of observations")
    words = benefit(view(worth, gain, threshold=0.2))
    assert words == (
        "At a threshold of 0.2 for bad (a false alarm costs a quarter of a miss) the model is worth 9 (4 to 16) "
        "net true positives per 100 observations, treating all −6.0, none 0."
    )
    assert benefit(view(worth, gain)) == ""


def test_the_result_holds_what_there_is() -> None:
    subject = testing.logistic_subject(60)
    engine = Engine(subject, MEASURES).bound("calibration")
    found = comparisons(engine, None, Sampling.of(subject), Training.of_subject(engine))
    assert found.estimates.empty
    assert Comparisons.from_result(found).line(NET_BENEFIT) is None
    with_train = testing.linear_subject(60, train=True)
    engine = Engine(with_train, MEASURES).bound("calibration")
    again = comparisons(engine, None, Sampling.of(with_train), Training.of_subject(engine))
    assert again.estimates["item"].tolist() == [TRAINING_GAP]


def test_of_several_classes_the_farthest_is_said() -> None:
    rows = [
        row(IN_THE_LARGE, (0.3, 0.4), (-0.15, -0.05), "probability", of="mid"),
        row(IN_THE_LARGE, (0.31, 0.3), (-0.04, 0.06), "probability", of="low"),
    ]
    words = in_the_large(view(*rows))
    assert words.startswith("Of 2 classes the largest difference: mean predicted probability of mid 30.0%, observed")
    assert len(lines_of_three_classes()) == 3


def lines_of_three_classes() -> list[dict[str, Any]]:
    q = Categorical(np.full((9, 3), [0.5, 0.3, 0.2]), classes=list("abc"))
    given = outcomes([0.5] * 9, [0, 1, 2] * 3)._replace(q=q)
    found = [record for record in class_comparisons(given)[0] if record["item"] == IN_THE_LARGE]
    assert [record["estimate"] for record in found] == pytest.approx([0.5 - 1 / 3, 0.3 - 1 / 3, 0.2 - 1 / 3])
    return found


@pytest.mark.parametrize(("interval", "end"), [((0.01, 0.5), "(0.01 to 0.50)."), ((-0.01, 0.5), ", not established.")])
def test_the_sentence_on_costs(interval: tuple[float, float], end: str) -> None:
    found = cost(view(row(EXPECTED_COST, (1.0, 0.75), interval, "cost"), ideal=0.2))
    assert found.startswith("At the stated costs the decisions cost 1.00 per observation, and 0.750 from the threshold")
    assert "0.20" in found
    assert found.endswith(end)
    assert cost(view(row(IN_THE_LARGE, (0.3, 0.4), (-0.1, 0.1), "probability"))) == ""
