"""Disagreement: two methods that answer one question surely part, or a driver of the prediction does not help it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.explainer import Explainer
from uq_report.core.model.results import Result
from uq_report.core.model.subject import make_subject
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import NotRun
from uq_report.methods.agreement.check import Disagreement
from uq_report.methods.agreement.explain import Agreement
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shap.explain import ShapleyValues
from uq_report.runner.provenance import described, measure_facts
from uq_report.testing import KnownLinear, KnownTruth, measures

from .rankings import NONE, Place, agreement, case, line, pfi, ranking, run

FIRST: dict[str, Place] = {"a": (1, 1, 1), "b": (2, 2, 3), "c": (3, 2, 3), "d": (4, 4, 4)}
LAST: dict[str, Place] = {"a": (4, 3, 4), "b": (2, 1, 2), "c": (1, 1, 2), "d": (3, 3, 4)}
NEXT: dict[str, Place] = {"a": (2, 2, 2), "b": (1, 1, 1), "c": (3, 3, 4), "d": (4, 3, 4)}
PFI, PARTS, SHAP = ("pfi", "nll"), ("dalex.model_parts", "nll"), ("shap.importance", "nll")


def judged(
    *cases: dict[str, Any], one: Any = None, other: Any = None, check: Disagreement | None = None, **parts: Any
) -> Outcome:
    rankings = (
        ranking(*PFI, FIRST) if one is None else one,
        ranking(*PARTS, LAST) if other is None else other,
    )
    return (check or Disagreement()).check(run(agreement(*rankings, disagreements=cases), **parts))


def only(outcome: Outcome) -> Finding:
    assert len(outcome.findings) == 1
    return outcome.findings[0]


# ------------------------------------------------------------------ UQ601: contradictions


def test_a_contradiction_about_a_leader_is_an_observation_in_the_words_of_the_rule() -> None:
    finding = only(judged(case("a", PFI, PARTS)))
    assert (finding.code, finding.severity, finding.features) == ("UQ601", "observation", ("a",))
    assert finding.statement == (
        "a has rank 1 by permutation importance for the loss, but rank 3 to 4 by DALEX for the loss. "
        "The rank intervals are 2 places apart."
    )
    assert finding.evidence == ("agreement", "pfi", "dalex.model_parts")
    assert (finding.threshold, finding.observed, finding.lower, finding.upper) == (2.0, 4.0, 3.0, 4.0)


@pytest.mark.parametrize("other", [SHAP, ("h_statistic", "nll"), ("x.importance", "nll")])
def test_a_signed_change_and_another_kind_of_number_do_not_disagree(other: tuple[str, str]) -> None:
    outcome = judged(case("a", PFI, other), other=ranking(*other, LAST))
    assert outcome.findings == ()
    assert "no two rankings with intervals answer the same question" in outcome.reason


def test_pairs_about_one_feature_and_question_are_one_finding() -> None:
    third = ranking("pfi.train", "nll", LAST)
    cases = (case("a", PFI, PARTS), case("a", PFI, ("pfi.train", "nll")))
    whole = agreement(ranking(*PFI, FIRST), ranking(*PARTS, LAST), third, disagreements=cases)
    finding = only(Disagreement().check(run(whole)))
    assert "1 more pair of methods disagree" in finding.statement
    assert finding.evidence == ("agreement", "pfi", "dalex.model_parts", "pfi.train")


@pytest.mark.parametrize(
    ("high", "low", "other"),
    [
        (PFI, PARTS, ranking(*PARTS, NEXT)),  # one place apart
        (PFI, ("dalex.model_parts", "squared_error"), ranking("dalex.model_parts", "squared_error", LAST)),
        (PFI, ("pfi", "squared_error"), ranking("pfi", "squared_error", LAST)),  # one method
        (PFI, ("dalex.model_parts", "entropy"), ranking("dalex.model_parts", "entropy", LAST)),
    ],
)
def test_other_questions_and_small_differences_stay_silent(high: Any, low: Any, other: Any) -> None:
    assert judged(case("a", high, low), other=other).findings == ()


def test_a_method_without_a_ranking_here_contradicts_none() -> None:
    gone = ("pfi.train", "nll")
    for high, low in ((PFI, gone), (gone, PFI)):
        assert judged(case("a", high, low)).findings == ()


def test_one_leader_and_one_place_apart_are_enough_to_ask_for() -> None:
    check = Disagreement(top=1, min_rank_gap=1)
    assert (check.top, check.min_rank_gap) == (1, 1)
    assert only(judged(case("a", PFI, PARTS), other=ranking(*PARTS, NEXT), check=check)).code == "UQ601"


def test_features_that_do_not_lead_stay_silent() -> None:
    assert judged(case("d", PARTS, PFI), check=Disagreement(top=1)).findings == ()


def test_rankings_of_the_prediction_are_one_question_whatever_their_measure() -> None:
    one, other = ranking("rsens.comparators", "aed", FIRST), ranking("shap.importance", "prediction", LAST)
    outcome = judged(case("a", ("rsens.comparators", "aed"), ("shap.importance", "prediction")), one=one, other=other)
    assert only(outcome).code == "UQ601"


def test_ranks_without_intervals_neither_raise_nor_clear() -> None:
    bare = ranking(*PARTS, {name: (rank, NONE, NONE) for name, (rank, _, _) in LAST.items()})
    outcome = judged(case("a", PFI, PARTS, sure=False), other=bare)
    assert outcome.state == "not_applicable"
    assert "no two rankings with intervals answer the same question" in outcome.reason


@pytest.mark.parametrize(("sure", "state"), [(True, "skipped"), (False, "passed")])
def test_a_list_cut_within_the_sure_ones_clears_nothing(sure: bool, state: str) -> None:
    listed = case("a", ("x", "nll"), ("y", "nll"), sure=sure)
    two = agreement(
        ranking("shap.importance", "prediction", FIRST),
        ranking("rsens.comparators", "aed", FIRST),
        disagreements=(listed,),
        total=61,
    )
    outcome = Disagreement().check(run(two, pfi(line("a", "positive"))))
    assert (outcome.state, outcome.findings) == (state, ())
    assert ("disagreements that are not listed" in outcome.reason) == sure


def test_no_contradiction_passes_and_says_what_was_compared() -> None:
    prediction = {"one": ranking("shap.importance", "prediction", FIRST)}
    two = agreement(prediction["one"], ranking("rsens.comparators", "aed", FIRST))
    outcome = Disagreement().check(run(two, pfi(line("a", "positive"), line("b", "positive"))))
    assert outcome.state == "passed"
    assert "of 1 pair of methods" in outcome.reason
    assert "increases a loss: a." in outcome.reason


# ------------------------------------------------------------------ UQ602: drivers without a benefit

PREDICTION = ranking("shap.importance", "prediction", FIRST)


def drivers(*lines: dict[str, Any], results: tuple[Any, ...] = (), level: float = 0.05) -> Outcome:
    return Disagreement(level=level).check(run(agreement(PREDICTION), pfi(*lines), *results))


@pytest.mark.parametrize(("own", "estimate"), [("about 0", 0.0), ("negative", -0.5)])
def test_a_leading_driver_that_does_not_lower_the_loss_is_found(own: str, estimate: float) -> None:
    finding = only(drivers(line("a", own, estimate, 0.001), line("b", "positive")))
    assert (finding.code, finding.severity, finding.features) == ("UQ602", "observation", ("a",))
    assert f"does not increase the loss: its importance is {own} for the loss, " in finding.statement
    assert finding.evidence == ("agreement", "pfi", "shap.importance")
    assert (finding.threshold, finding.observed) == (0.01, estimate)


@pytest.mark.parametrize(
    "lines",
    [
        (line("a", "positive"), line("b", "about 0", 0.0)),  # it helps
        (line("a", "about 0", 0.0), line("b", "about 0", 0.0)),  # nothing helps
        (line("a", "about 0", 0.0), line("a", "positive", measure="squared_error"), line("b", "positive")),
    ],
)
def test_drivers_that_help_or_models_without_skill_stay_silent(lines: Any) -> None:
    assert drivers(*lines).findings == ()


def test_a_sign_that_holm_takes_away_is_undetermined() -> None:
    weak = [line(name, "undetermined", 0.0, 0.1) for name in "cdefgh"]
    border = line("a", "negative", -0.21, 0.1)
    outcome = drivers(border, line("b", "positive"), *weak)
    assert (outcome.state, outcome.findings) == ("skipped", ())
    assert "UQ602 is undetermined for a" in outcome.reason
    assert drivers(border, line("b", "positive")).findings != ()


def test_drivers_are_named_in_their_order_and_by_every_ranking() -> None:
    """a, b and c are placed first of eight by one method; the other, of four features, gives c its third place."""
    eight: dict[str, Place] = {name: (k, k, k) for k, name in enumerate("bacdefgh", 1)}
    four: dict[str, Place] = {name: (k, k, k) for k, name in enumerate("abcd", 1)}
    rankings = agreement(ranking("shap.importance", "prediction", eight), ranking("rsens", "aed", four))
    outcome = Disagreement().check(run(rankings, pfi(*(line(name, "positive") for name in "abc"))))
    assert "Permuting each leading driver of the prediction increases a loss: a and b." in outcome.reason


def test_rankings_of_a_single_feature_are_read() -> None:
    one: dict[str, Place] = {"a": (1, 1, 1)}
    rankings = agreement(ranking("shap.importance", "prediction", one), ranking("rsens.comparators", "aed", one))
    outcome = Disagreement().check(run(rankings, pfi(line("a", "positive"))))
    assert "of 1 pair of methods" in outcome.reason


def test_without_a_ranking_of_the_prediction_it_is_not_judged() -> None:
    outcome = Disagreement().check(
        run(agreement(ranking(*PFI, FIRST), ranking(*PARTS, FIRST)), pfi(line("a", "about 0")))
    )
    assert outcome.state == "skipped"
    assert "UQ602 was not judged: no ranking of the prediction has intervals" in outcome.reason
    entropy = pfi(line("a", "about 0", measure="entropy"))
    assert "no loss was computed" in Disagreement().check(run(agreement(PREDICTION), entropy)).reason


# ------------------------------------------------------------------ the check


def test_a_model_with_one_wrong_sign_is_found_and_its_shapley_values_do_not_contradict_it() -> None:
    """The model takes d as +2 where the truth is -0.5: d leads the prediction, and shuffling it helps."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    truth, model = (KnownLinear((1.2, 0.4, 0.2, d), (0.0, 0.0, 0.0, 0.0)) for d in (-0.5, 2.0))
    subject = make_subject(model, KnownTruth(), X, truth.distribution(X).sample(rng, 1)[0])
    engine = Engine(subject, measures(), seed=0)
    prior: dict[str, Sequence[Result]] = {}
    explainers: tuple[Explainer, ...] = (
        PermutationImportance(measures=("nll",), n_repeats=5),
        ShapleyValues(measures=("prediction", "nll")),
        Agreement(n_draws=500),
    )
    facts = measure_facts(measures().values(), engine.baseline)
    for explainer in explainers:
        results = explainer.explain(subject, engine.bound(explainer.name), prior)
        prior[explainer.name] = [described(result, facts) for result in results]
    outcome = Disagreement().check(run(*(result for results in prior.values() for result in results)))
    assert [(finding.code, finding.features) for finding in outcome.findings] == [("UQ602", ("d",))]
    assert "negative for the loss" in outcome.findings[0].statement


def test_without_results_it_does_not_apply() -> None:
    outcome = Disagreement().check(run(not_run=(NotRun("agreement", "explainers", "nothing to rank", "data"),)))
    assert (outcome.state, outcome.reason) == (
        "not_applicable",
        "the comparison of rankings was not computed: nothing to rank",
    )


def test_every_code_has_its_rule_with_the_thresholds() -> None:
    rules = {rule.code: rule.text for rule in Disagreement(top=4, min_rank_gap=3).rules}
    assert list(rules) == ["UQ601", "UQ602"]
    assert "first 4" in rules["UQ601"]
    assert "starts 3 or more places lower" in rules["UQ601"]


@pytest.mark.parametrize("option", [{"top": 0}, {"min_rank_gap": 0}, {"level": 1.0}])
def test_thresholds_that_cannot_be_used_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=rf"disagreement\.{next(iter(option))} must be"):
        Disagreement(**option)
