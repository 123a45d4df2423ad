"""Agreement: real results, missing ones, ties and gaps, and what is said about disagreements."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from uq_report import runner, testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.explainer import Prior
from uq_report.core.model.results import (
    ESTIMATE_COLUMNS,
    Diagnostic,
    Importance,
    Interaction,
    MeasureFacts,
    Profile,
    Result,
    RowValues,
)
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError, PluginError
from uq_report.methods.agreement.explain import OTHER_QUESTION, UNEXPLAINED, Agreement, methods, profiles_part
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shap.explain import ShapleyValues
from uq_report.runner.prepare import ordered
from uq_report.runner.settings import Settings

N = 200
SUBJECT = testing.linear_subject(N)
FEATURES = SUBJECT.features


def agree(prior: Prior, subject: Subject = SUBJECT, **options: Any) -> tuple[Result, Result, Result]:
    engine = Engine(subject, testing.measures()).bound("agreement")
    main, pairs, stability = Agreement(**options).explain(subject, engine, prior)
    return main, pairs, stability


def real(subject: Subject) -> dict[str, Sequence[Result]]:
    engine = Engine(subject, testing.measures())
    made = (PermutationImportance(n_repeats=5), ShapleyValues(n_rows=40, n_background=50))
    return {one.name: one.explain(subject, engine.bound(one.name), {}) for one in made}


def importance(
    id: str,
    means: Sequence[float],
    measure: str = "nll",
    *,
    rows: bool = True,
    noise: float = 0.2,
    features: Sequence[str] = FEATURES,
    extra: dict[str, Any] | None = None,
) -> Importance:
    """Return an importance whose row terms have exactly these means."""
    rng = np.random.default_rng(len(id))
    terms: FloatArray = noise * rng.normal(size=(len(means), N))
    terms += np.array(means)[:, None] - terms.mean(axis=1, keepdims=True)
    error = terms.std(axis=1, ddof=1) / np.sqrt(N)
    table = pd.DataFrame({"measure": measure, "feature": list(features), "estimate": list(means)})
    table = table.assign(lower=np.nan, upper=np.nan, confidence=0.95, covers="new test samples" if rows else "none")
    table = table.assign(std_error=error if rows else np.nan, **(extra or {}))
    return Importance(
        id=id,
        explainer=id.partition(".")[0],
        title=id,
        frame=pd.DataFrame(columns=list(Importance.columns)),
        estimates=table,
        rows=RowValues((measure,), tuple(features), terms[None]) if rows else None,
    )


def table(result: Result, item: str, measure: str) -> pd.DataFrame:
    rows = result.estimates[(result.estimates["item"] == item) & (result.estimates["measure"] == measure)]
    return rows.set_index("feature")


def told(main: Result, feature: str) -> list[dict[str, Any]]:
    return [one for one in main.meta["disagreements"] if one["feature"] == feature]


# ---------------------------------------------------------------------- real results


def test_real_results_are_ranked_with_intervals() -> None:
    prior = real(SUBJECT)
    main, pairs, stability = agree(prior)
    held = {(r.id, m) for r in (prior["pfi"][0], prior["shap"][1]) for m in r.estimates["measure"]}
    held = held - {("pfi", "entropy")} | {("pfi.uncertainty", "uncertainty_change")}
    assert set(zip(main.estimates["item"], main.estimates["measure"], strict=True)) == held
    ranks = table(main, "pfi", "nll")
    expected = prior["pfi"][0].estimates.query("measure == 'nll'").set_index("feature")["estimate"]
    assert ranks["estimate"].to_dict() == expected.rank(ascending=False, method="min").to_dict()
    assert (ranks["lower"] <= ranks["estimate"]).all()
    assert (ranks["estimate"] <= ranks["upper"]).all()
    # d is unused, its importance exactly 0, and all others are important.
    assert ranks.loc[["d"], ["lower", "upper"]].to_numpy().tolist() == [[4, 4]]
    assert (ranks.loc[["a", "b", "c"], "lower"] <= 3).all()
    # Only c moves the entropy, which no shuffle of rows changes on average: its size leads by both methods.
    for method, measure in (("pfi.uncertainty", "uncertainty_change"), ("shap.importance", "entropy")):
        shown = table(main, method, measure)
        assert shown.loc["c", "upper"] == 1
        assert shown.loc[["a", "b", "d"], "lower"].tolist() == [2, 2, 2]
    assert set(main.estimates["covers"]) == {"new test samples, all ranks together"}
    assert set(main.estimates["role"]) == {"prediction", "loss", "uncertainty"}
    assert main.meta["disagreements"] == []
    assert len(pairs.estimates) > 0
    assert set(stability.estimates["item"]) == {"pfi", "pfi.uncertainty", "shap.importance"}


def test_pairs_are_scipys_tau_and_counted_overlap() -> None:
    prior = real(SUBJECT)
    _, pairs, _ = agree(prior)
    x, y = (
        result.estimates.query("measure == 'nll'").set_index("feature")["estimate"]
        for result in (prior["pfi"][0], prior["shap"][1])
    )
    line = pairs.estimates[
        (pairs.estimates["first"] == "pfi: nll") & (pairs.estimates["second"] == "shap.importance: nll")
    ].set_index("item")
    assert line.loc["Kendall tau-b", "estimate"] == pytest.approx(stats.kendalltau(x, y).statistic)
    common = len(set(x.nlargest(2).index) & set(y.nlargest(2).index))
    assert [line.loc["top-k overlap", name] for name in ("estimate", "top_k", "by_chance")] == [common / 2, 2, 0.5]
    _, flat, _ = agree({"pfi": [LOW], "x": [importance("x", [1, 1, 1, 1])]})
    assert any("gives all features the same rank" in gap.reason for gap in flat.omissions)


def test_draws_lie_about_the_importances() -> None:
    """By size for rankings by size, with their sign for others; a draw has an error of 0.014."""
    engine = Engine(SUBJECT, testing.measures()).bound("agreement")
    means = [4.0, -3.0, 2.0, 1.0]
    for absolute, expected in ((False, means), (True, np.abs(means))):
        (found,), _ = methods({"x": [importance("x.apart", means)]}, engine, absolute, 400)
        assert found.draws is not None
        np.testing.assert_allclose(np.mean(found.draws, axis=0), expected, atol=0.01)


def test_stability_is_known_at_its_ends() -> None:
    apart, tied = importance("x.apart", [4, 3, 2, 1]), importance("x.tied", [1, 1, 1, 1])
    _, _, stability = agree({"x": [apart, tied]})
    assert table(stability, "x.apart", "nll").loc["", "estimate"] == 0
    # 2000 draws: the mean entropy of equals is log 4 less (d - 1)/(2B), give or take the draws.
    assert table(stability, "x.tied", "nll").loc["", "estimate"] == pytest.approx(np.log(4), abs=0.02)
    assert set(stability.estimates["largest"]) == {np.log(4)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_weights_and_clusters_are_those_of_the_subject(weighted: bool, clustered: bool) -> None:
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"sample_weight": rng.uniform(0.5, 2, N)} if weighted else {}
    options |= {"clusters": np.arange(N) // 5} if clustered else {}
    subject = make_subject(SUBJECT.model, SUBJECT.adapter, SUBJECT.X, SUBJECT.y, **options)
    main, _, _ = agree(real(subject), subject)
    assert table(main, "pfi", "nll")["lower"].notna().all()
    assert table(main, "shap.importance", "nll").loc["d", "lower"] == 4


def test_dependent_rows_widen_the_ranks() -> None:
    rng = np.random.default_rng(0)
    by_cluster = np.repeat(rng.normal(size=(4, 40)), 5, axis=1)
    terms = by_cluster - by_cluster.mean(axis=1, keepdims=True) + np.array([[0.4], [0.2], [0.0], [-0.2]])
    clusters = np.arange(N) // 5
    widths = []
    for codes in (None, clusters):
        subject = make_subject(SUBJECT.model, SUBJECT.adapter, SUBJECT.X, SUBJECT.y, clusters=codes)
        units = N if codes is None else 40
        error = by_cluster[:, :: N // units].std(axis=1, ddof=1) / np.sqrt(units)
        given = importance("pfi", [0.4, 0.2, 0.0, -0.2])
        changed = replace(
            given,
            rows=RowValues(("nll",), FEATURES, terms[None]),
            estimates=given.estimates.assign(std_error=error),
        )
        main, _, _ = agree({"pfi": [changed]}, subject)
        widths.append(float((main.estimates["upper"] - main.estimates["lower"]).sum()))
    assert widths[0] < widths[1]


def test_few_clusters_give_ranks_only() -> None:
    subject = make_subject(SUBJECT.model, SUBJECT.adapter, SUBJECT.X, SUBJECT.y, clusters=np.arange(N) // 50)
    main, _, stability = agree({"pfi": [importance("pfi", [4, 3, 2, 1])]}, subject)
    assert main.estimates["lower"].isna().all()
    assert any("4 clusters cannot show" in note for note in main.notes)
    assert any("4 clusters" in gap.reason for gap in stability.omissions)


def test_the_same_seed_gives_the_same_bytes() -> None:
    prior = real(SUBJECT)
    for a, b in zip(agree(prior), agree(prior), strict=True):
        pd.testing.assert_frame_equal(a.estimates, b.estimates, check_exact=True)


def test_other_results_do_not_move_a_methods_numbers() -> None:
    one, two = importance("pfi", [0.03, 0.02, 0.01, 0]), importance("x", [1, 2, 3, 4])
    alone = table(agree({"pfi": [one]})[0], "pfi", "nll")
    pd.testing.assert_frame_equal(alone, table(agree({"x": [two], "pfi": [one]})[0], "pfi", "nll"))


# ---------------------------------------------------------------------- missing parts


def test_nothing_to_rank_says_so() -> None:
    for result in agree({}):
        assert len(result.frame) == len(result.estimates) == 0
        assert result.omissions
    assert "no importance was computed" in agree({})[0].omissions[0].reason


def test_one_method_has_no_pair() -> None:
    main, pairs, _ = agree({"pfi": [importance("pfi", [4, 3, 2, 1])]})
    assert main.estimates["estimate"].tolist() == [1, 2, 3, 4]
    assert "fewer than two rankings" in pairs.omissions[0].reason


def test_an_omitted_feature_has_no_rank_and_is_named() -> None:
    part = importance("pfi", [3, 2, 1], features=FEATURES[:3])
    main, pairs, _ = agree({"pfi": [part], "x": [importance("x", [1, 2, 3, 4])]})
    assert [(gap.measure, gap.feature) for gap in main.omissions] == [("nll", "d")]
    assert table(main, "pfi", "nll")["upper"].tolist() == [1, 2, 3]
    assert set(pairs.estimates["n_features"]) == {3}
    assert main.meta["disagreements"] == []


def test_a_measure_that_lacks_features_leaves_the_ranking_to_one_that_has_them() -> None:
    """A log score that is infinite for the features that cost most would rank the others alone."""
    nll = importance("pfi", [2, 1], features=FEATURES[:2], rows=False)
    brier = importance("pfi", [1, 2, 3, 4], measure="brier", rows=False)
    both = replace(nll, estimates=pd.concat([nll.estimates, brier.estimates], ignore_index=True))
    main, _, _ = agree({"pfi": [both]})
    assert set(main.estimates["measure"]) == {"brier"}
    assert [gap.reason for gap in main.omissions] == ["it has no value for 2 features, and brier ranks more of them"]
    strange = replace(nll, estimates=both.estimates.replace({"feature": {"a": "e", "b": "f"}}).iloc[:2])
    strange = replace(strange, estimates=pd.concat([strange.estimates, brier.estimates], ignore_index=True))
    main, _, _ = agree({"pfi": [strange]})
    assert [(gap.measure, gap.feature) for gap in main.omissions] == [("nll", feature) for feature in FEATURES]


def test_infinite_rows_of_an_omitted_measure_do_no_harm() -> None:
    given = importance("pfi", [3, 2, 1], features=FEATURES[:3])
    values = np.concatenate([given.rows.values[0], np.full((1, N), np.nan)])[None] if given.rows else np.empty(0)
    changed = replace(given, rows=RowValues(("nll",), FEATURES, values))
    assert table(agree({"pfi": [changed]})[0], "pfi", "nll")["lower"].notna().all()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: replace(r, rows=None), "no terms of single observations"),
        (lambda r: replace(r, meta={"rows_used": [0, 1]}), "to which observations its terms belong"),
        (lambda r: replace(r, estimates=r.estimates.assign(estimate=[9.0, 3.0, 2.0, 1.0])), "do not average"),
        (lambda r: replace(r, estimates=r.estimates.assign(covers="Monte Carlo")), "no interval over new test samples"),
        (lambda r: replace(r, estimates=r.estimates.assign(std_error=np.nan)), "no interval over new test samples"),
    ],
)
def test_without_usable_row_terms_there_are_ranks_only(change: Any, reason: str) -> None:
    main, _, stability = agree({"pfi": [change(importance("pfi", [4, 3, 2, 1]))]})
    assert main.estimates["estimate"].tolist() == [1, 2, 3, 4]
    assert main.estimates[["lower", "upper", "confidence"]].isna().all(axis=None)
    assert set(main.estimates["covers"]) == {"none"}
    assert any(reason in note for note in main.notes)
    assert any(reason in gap.reason for gap in stability.omissions)


def test_several_values_for_one_feature_are_no_ranking() -> None:
    given = importance("x", [4, 3, 2, 1])
    double = replace(given, estimates=pd.concat([given.estimates, given.estimates]))
    main, _, _ = agree({"x": [double]})
    assert "one method has several values per feature" in main.omissions[0].reason


def test_a_sample_of_rows_is_found_by_its_positions() -> None:
    given = importance("shap.importance", [4, 3, 2, 1])
    rows = given.rows.values[:, :, :50] if given.rows else np.empty(0)
    means = rows[0].mean(axis=1)
    part = replace(
        given,
        rows=RowValues(("nll",), FEATURES, rows),
        estimates=given.estimates.assign(estimate=means, std_error=rows[0].std(axis=1, ddof=1) / np.sqrt(50)),
    )
    main, _, _ = agree({"shap": [replace(part, meta={"rows_used": list(range(50))})]})
    assert main.estimates["lower"].tolist() == [1, 2, 3, 4]


def test_totals_of_interactions_are_ranked_without_pairs() -> None:
    main, _, _ = agree({"h_statistic": [strengths([0.4, 0.3, 0.0, 0.0], pairs=True)]})
    ranks = table(main, "h_statistic", "prediction")
    assert ranks["estimate"].tolist() == [1, 2, 3, 3]
    assert set(ranks["role"]) == {"interaction"}


def test_groups_are_left_out() -> None:
    subject = make_subject(SUBJECT.model, SUBJECT.adapter, SUBJECT.X, SUBJECT.y, groups={"both": ("a", "b")})
    main, _, _ = agree(real(subject), subject)
    assert set(main.estimates["feature"]) == set(FEATURES)
    assert any("Groups" in note for note in main.notes)


@pytest.mark.parametrize("d", [1, 2])
def test_one_and_two_features(d: int) -> None:
    model = testing.KnownLinear((1.0, 0.5)[:d], (0.0, 0.3)[:d])
    X = np.random.default_rng(0).normal(size=(60, d))
    subject = make_subject(model, testing.KnownTruth(), X, X.sum(axis=1))
    main, pairs, stability = agree(real(subject), subject)
    assert main.estimates["upper"].max() == d
    assert (stability.estimates["estimate"] >= 0).all()
    if d == 1:
        assert set(main.estimates["lower"]) == {1}
        assert all("1 features in common" in gap.reason for gap in pairs.omissions)
    else:
        assert set(pairs.estimates["top_k"]) == {1}


def test_the_sign_decides_where_negative_importances_rank() -> None:
    prior = {"pfi": [importance("pfi", [1, -2, 0.5, 0])]}
    assert agree(prior)[0].estimates["lower"].tolist() == [1, 4, 2, 3]
    main = agree(prior, sign="absolute")[0]
    assert main.estimates["lower"].tolist() == [2, 1, 3, 4]
    assert main.meta["sign"] == "absolute"
    assert "by absolute value" in main.notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sign": "both"}, "agreement.sign must be one of"),
        ({"n_draws": 10}, "agreement.n_draws must be an integer >= 100; got 10"),
        ({"top_k": 0}, "agreement.top_k must be"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Agreement(**options)


# ---------------------------------------------------------------------- disagreements


def strengths(totals: Sequence[float], *, pairs: bool = False) -> Interaction:
    lines = [("prediction", f, h, "", True) for f, h in zip(FEATURES, totals, strict=True)]
    lines += [("prediction", "a", 0.2, "b", True)] if pairs else []
    estimates = pd.DataFrame(lines, columns=["measure", "feature", "estimate", "feature_2", "ranked"])
    estimates = estimates.assign(std_error=np.nan, lower=np.nan, upper=np.nan, confidence=np.nan, covers="none")
    return Interaction(
        id="h_statistic",
        explainer="h_statistic",
        title="H",
        frame=pd.DataFrame(columns=list(Interaction.columns)),
        estimates=estimates,
    )


def covered(lower: float) -> Diagnostic:
    blank = dict.fromkeys(ESTIMATE_COLUMNS, np.nan) | {"measure": "", "feature": "a", "covers": "new test samples"}
    lines = [
        blank | {"item": "covered information", "estimate": 0.4, "lower": lower, "upper": 0.6},
        blank | {"item": "covered share", "estimate": 0.7},
    ]
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(id="cid", explainer="cid", title="C", frame=empty, estimates=pd.DataFrame(lines))


def diagnostic(id: str, frame: pd.DataFrame, **meta: Any) -> Diagnostic:
    return Diagnostic(
        id=id,
        explainer="pfi",
        title=id,
        frame=frame,
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        meta=meta,
    )


LOW = importance("pfi", [1, 4, 3, 2])
HIGH = importance("shap.importance", [4, 3, 2, 1])


def test_ranks_that_are_apart_disagree_and_are_unexplained_without_evidence() -> None:
    main, _, _ = agree({"pfi": [LOW], "shap": [HIGH]})
    (one,) = told(main, "a")
    assert one["sentence"] == f"a is ranked 1 by shap.importance: nll but 4 by pfi: nll. {UNEXPLAINED}"
    assert (one["methods"], one["evidence"], one["sure"]) == (["shap.importance", "pfi"], [], True)
    assert one["explained"] is False


def test_ranks_whose_intervals_meet_do_not_disagree() -> None:
    noisy = importance("pfi", [1, 4, 3, 2], noise=100)
    assert agree({"pfi": [noisy], "shap": [HIGH]})[0].meta["disagreements"] == []


def test_a_rank_without_an_interval_is_no_proof() -> None:
    main, _, _ = agree({"pfi": [LOW], "x": [importance("x", [4, 3, 2, 1], rows=False)]})
    (one,) = told(main, "a")
    assert one["sure"] is False
    assert "no interval, so the difference may be due to chance" in one["sentence"]
    both = {"x": [importance("x", [4, 3, 2, 1], rows=False), importance("x.y", [1, 2, 3, 4], rows=False)]}
    assert agree(both)[0].meta["disagreements"] == []


def test_covered_information_explains_a_low_permutation_importance_and_nothing_else() -> None:
    (one,) = told(agree({"pfi": [LOW], "shap": [HIGH], "cid": [covered(0.2)]})[0], "a")
    assert one["evidence"] == ["cid"]
    assert "0.2 to 0.6 nats, a share of 0.70" in one["sentence"]
    # Not where the interval reaches 0, nor where the shuffle is the higher one.
    (one,) = told(agree({"pfi": [LOW], "shap": [HIGH], "cid": [covered(-0.1)]})[0], "a")
    assert one["evidence"] == []
    high, low = importance("pfi", [4, 3, 2, 1]), importance("x", [1, 4, 3, 2])
    swapped: Prior = {"pfi": [high], "x": [low], "cid": [covered(0.2)]}
    assert told(agree(swapped)[0], "a")[0]["evidence"] == []


@pytest.mark.parametrize("verdict", ["positive", "undetermined", "negative"])
def test_the_entropy_verdict_says_nothing_of_shared_information(verdict: str) -> None:
    entropy = importance("pfi", [2, 2, 2, 2], "entropy", extra={"verdict": verdict})
    likelihood = replace(LOW, estimates=LOW.estimates.assign(verdict="positive"))
    rows = RowValues(
        ("nll", "entropy"),
        FEATURES,
        np.concatenate([r.rows.values for r in (likelihood, entropy) if r.rows is not None]),
    )
    both = replace(LOW, estimates=pd.concat([likelihood.estimates, entropy.estimates]), rows=rows)
    (one,) = [o for o in told(agree({"pfi": [both], "shap": [HIGH]})[0], "a") if o["measures"] == ["nll", "nll"]]
    assert one["evidence"] == []


def test_interactions_explain_where_a_shuffle_counts_them_whole() -> None:
    high, low = importance("pfi", [4, 3, 2, 1]), importance("shap.importance", [1, 4, 3, 2])
    (one,) = told(agree({"pfi": [high], "shap": [low], "h": [strengths([0.3, 0, 0, 0])]})[0], "a")
    assert one["evidence"] == ["h_statistic"]
    assert "H² with all other features is 0.30" in one["sentence"]
    for strength, explained in ((0.05, True), (0.0499, False), (0.0, False)):
        (one,) = told(agree({"pfi": [high], "shap": [low], "h": [strengths([strength, 0, 0, 0])]}, n_draws=200)[0], "a")
        assert one["explained"] is explained


def test_the_strength_of_interactions_is_that_of_the_measure_where_there_is_one() -> None:
    high, low = importance("pfi", [4, 3, 2, 1]), importance("shap.importance", [1, 4, 3, 2])
    of_prediction = strengths([0.3, 0, 0, 0], pairs=True)
    of_loss = of_prediction.estimates.assign(measure="nll", estimate=0.01)
    for tables, explained in (([of_prediction.estimates], True), ([of_prediction.estimates, of_loss], False)):
        both = replace(of_prediction, estimates=pd.concat(tables))
        (one,) = told(agree({"pfi": [high], "shap": [low], "h": [both]}, n_draws=200)[0], "a")
        assert one["explained"] is explained


@pytest.mark.parametrize("places", [("b", "a"), ("a", "b")])
@pytest.mark.parametrize(("lower", "evidence"), [(0.4, ["rsens", "rsens.interaction"]), (0.399, [])])
def test_r_sens2_explains_from_a_fifth_of_r_sens_on_by_its_lower_bound(
    lower: float, evidence: list[str], places: tuple[str, str]
) -> None:
    """R-sens of a is 2; the pair with the largest lower bound is named, whichever of the two stands first."""
    high, low = importance("pfi", [4, 3, 2, 1]), importance("shap.importance", [1, 4, 3, 2])
    blank = dict.fromkeys(ESTIMATE_COLUMNS, np.nan) | {
        "measure": "rsens2",
        "covers": "new test samples",
        "estimate": 0.9,
    }
    pairs = [(*places, lower), ("a", "c", lower - 0.1), ("c", "d", 9.0)]
    rows = [blank | {"feature": f, "feature_2": g, "lower": bound} for f, g, bound in pairs]
    pair = replace(strengths([0, 0, 0, 0]), id="rsens.interaction", estimates=pd.DataFrame(rows))
    main = importance("rsens", [2, 2, 2, 2], "rsens", noise=9)
    (one,) = told(agree({"pfi": [high], "shap": [low], "rsens": [main, pair]}, n_draws=200)[0], "a")
    assert one["evidence"] == evidence
    assert ("interacts with b: their R-sens₂ is at least 20% of the R-sens of a" in one["sentence"]) == bool(evidence)


def test_methods_of_one_result_are_compared_and_averages_hide_interactions() -> None:
    ead, aed = (
        importance("rsens.comparators", means, name) for means, name in (([4, 3, 2, 1], "ead"), ([1, 4, 3, 2], "aed"))
    )
    assert ead.rows is not None
    assert aed.rows is not None
    rows = RowValues(("ead", "aed"), FEATURES, np.concatenate([ead.rows.values, aed.rows.values]))
    facts = {name: MeasureFacts(name, "", "prediction") for name in ("ead", "aed")}
    both = replace(ead, estimates=pd.concat([ead.estimates, aed.estimates]), rows=rows, measures=facts)
    (one,) = told(agree({"rsens": [both], "h": [strengths([0.3, 0, 0, 0])]})[0], "a")
    assert one["measures"] == ["ead", "aed"]
    assert one["evidence"] == ["h_statistic"]
    assert "rsens.comparators: aed averages effects over the other features" in one["sentence"]
    (other,) = told(agree({"rsens": [both]})[0], "a")
    assert other["sentence"].endswith(UNEXPLAINED)


def curve(id: str, slope: float, error: float) -> Profile:
    x = np.linspace(0, 1, 9)
    lines = pd.DataFrame({"measure": "prediction", "feature": "a", "estimate": slope * x, "x": x, "level": ""})
    lines = lines.assign(std_error=error, std_error_change=error, lower=0.0, upper=0.0, confidence=0.95, covers="")
    empty = pd.DataFrame(columns=list(Profile.columns))
    return Profile(id=id, explainer=id, title=id, frame=empty, estimates=lines)


@pytest.mark.parametrize(
    ("slopes", "error", "apart"),
    [((1.0, 3.0), 0.05, True), ((1.0, 3.0), 1.0, False), ((1.0, 1.05), 1e-9, False), ((1.0, 1.0), 0.0, False)],
)
def test_profiles_part_only_beyond_their_errors(slopes: tuple[float, float], error: float, apart: bool) -> None:
    results = {"ale": curve("ale", slopes[0], error), "pdp": curve("pdp", slopes[1], error)}
    assert profiles_part(results, "prediction", "a", 0.95) is apart
    assert not profiles_part(results, "entropy", "a", 0.95)
    assert not profiles_part({"ale": results["ale"]}, "prediction", "a", 0.95)


def test_extrapolation_explains_where_one_method_leaves_the_data() -> None:
    local = importance("rsens", [1, 4, 3, 2], "rsens")
    profiles = {"ale": [curve("ale", 1, 0.01)], "pdp": [curve("pdp", 3, 0.01)]}
    (one,) = told(agree({"shap": [HIGH], "rsens": [local], **profiles})[0], "a")
    assert one["evidence"] == ["ale", "pdp"]
    (one,) = told(agree({"shap": [HIGH], "pfi": [LOW], **profiles})[0], "a")
    assert one["evidence"] == []


@pytest.mark.parametrize("verdict", ["negative", "positive"])
def test_a_negative_entropy_importance_explains_where_one_method_leaves_the_data(verdict: str) -> None:
    """Shuffles that make the model surer lie off the data, where a derivative never goes."""
    entropy = importance("pfi", [2, 2, 2, 2], "entropy", rows=False, extra={"verdict": verdict})
    for one, other in (([1, 4, 3, 2], [4, 3, 2, 1]), ([4, 3, 2, 1], [1, 4, 3, 2])):
        local, composing = importance("rsens", one, "rsens"), importance("shap.importance", other, "prediction")
        told_of = told(agree({"pfi": [entropy], "shap": [composing], "rsens": [local]}, n_draws=200)[0], "a")
        (case,) = [x for x in told_of if set(x["methods"]) == {"rsens", "shap.importance"}]
        assert case["evidence"] == (["pfi"] if verdict == "negative" else [])
        assert ("on which shap.importance evaluates it" in case["sentence"]) == (verdict == "negative")


def test_a_mean_change_of_the_uncertainty_is_not_ranked_beside_its_size() -> None:
    entropy = importance("pfi", [4, 3, 2, 1], "entropy")
    assert LOW.rows is not None
    assert entropy.rows is not None
    rows = RowValues(("nll", "entropy"), FEATURES, np.concatenate([LOW.rows.values, entropy.rows.values]))
    both = replace(LOW, estimates=pd.concat([LOW.estimates, entropy.estimates]), rows=rows)
    main = agree({"pfi": [both]})[0]
    (one,) = told(main, "a")
    assert one["measures"] == ["entropy", "nll"]
    assert one["sentence"].endswith(OTHER_QUESTION)
    size = importance("pfi.uncertainty", [1, 2, 3, 4], "entropy")
    ranked = {(m["method"], m["measure"]) for m in agree({"pfi": [both, size]})[0].meta["methods"]}
    assert ranked == {("pfi", "nll"), ("pfi.uncertainty", "entropy")}


# ---------------------------------------------------------------------- its place among the explainers


class Stub:
    api_version: ClassVar[int] = 1
    section: ClassVar[str] = "drivers"
    requires: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, name: str, needs: tuple[str, ...] = (), after: tuple[str, ...] | None = None) -> None:
        self.name = name  # type: ignore[misc]
        self.needs = needs  # type: ignore[misc]
        if after is not None:
            self.after = after

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        return []


def order(*stubs: Stub) -> list[str]:
    return ordered({stub.name: stub for stub in stubs})


def test_after_orders_what_is_there_and_ignores_what_is_not() -> None:
    assert order(Stub("a"), Stub("b")) == ["a", "b"]
    assert order(Stub("a", after=("b", "missing")), Stub("b")) == ["b", "a"]
    assert order(Stub("a", after=("*",)), Stub("z"), Stub("c", needs=("z",))) == ["z", "c", "a"]
    # What needs it comes later still, and two that want to be last need not wait for each other.
    assert order(Stub("a", after=("*",)), Stub("b", after=("*",)), Stub("c"))[0] == "c"
    assert order(Stub("a", after=("*",)), Stub("b", needs=("a",)), Stub("c")) == ["c", "a", "b"]
    with pytest.raises(PluginError, match="circle"):
        order(Stub("a", after=("b",)), Stub("b", after=("a",)))


def test_an_audit_runs_it_last_and_one_call_runs_pfi_before_it() -> None:
    settings = Settings(explainers=("agreement", "pfi", "h_statistic"), as_of="2026-01-01")
    run = runner.run(testing.linear_subject(40), settings).run
    assert [one.id for one in run.results if one.id != "sensitivity"][-1] == "agreement.stability"
    assert {"pfi", "h_statistic"} <= set(run.result("agreement").estimates["item"])
    results = runner.single(testing.linear_subject(40), "agreement", {}, Settings(as_of="2026-01-01"))
    assert set(results[0].estimates["item"]) == {"pfi", "pfi.uncertainty"}


@pytest.mark.parametrize("bounded", [(True, True), (True, False), (False, False)])
def test_intervals_of_ranks_are_explained_where_a_method_has_them(bounded: tuple[bool, ...]) -> None:
    methods: Any = [
        SimpleNamespace(bounds=object() if has else None, measure="nll", sign=1, id="m", why="") for has in bounded
    ]
    engine: Any = SimpleNamespace(confidence=0.95, subject=SimpleNamespace(groups={}))
    notes = " ".join(Agreement()._notes(methods, engine, 0, 0))
    assert ("simultaneous with 95% confidence" in notes) is any(bounded)
