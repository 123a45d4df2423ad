"""Importance adjusted for redundancy: what algebra says of copies, of unused and of independent features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.explainer import Prior
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic
from uq_report.core.model.subject import Subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical, Normal
from uq_report.evidence import ids
from uq_report.evidence.importance import CoverCorrected, CoverCorrectedLine
from uq_report.evidence.information import CONVENTIONS, SIGNED_CHANGE, same_convention
from uq_report.methods.cid.correction import CoverCorrection
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.runner.figures import draw

from .pfi_cases import MEASURES, subject

B, SIGMA = 1.5, 2.0


def covering(**sets: Sequence[str]) -> Diagnostic:
    """Return ``cid.cover`` with these covering sets."""
    steps = [(feature, k, one) for feature, others in sets.items() for k, one in enumerate(("", *others))]
    blank = dict.fromkeys(ESTIMATE_COLUMNS, np.nan) | {"measure": "", "covers": "none", "estimate": 0.1}
    table = pd.DataFrame([blank | {"feature": f, "item": item, "step": k} for f, k, item in steps])
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(id=ids.CID_COVER, explainer=ids.CID, title="", frame=frame, estimates=table)


def prior_of(of: Subject, engine: Engine, cover: Diagnostic, measures: Sequence[str]) -> Prior:
    pfi = PermutationImportance(measures=tuple(measures), n_repeats=5, train=False)
    return {"pfi": pfi.explain(of, engine.bound("pfi"), {}), "cid": [cover]}


def corrected(
    of: Subject, cover: Diagnostic, measures: Sequence[str] = ("loss",), n_repeats: int = 10
) -> CoverCorrected:
    engine = Engine(of, MEASURES)
    (result,) = CoverCorrection(n_repeats).explain(of, engine.bound("cover"), prior_of(of, engine, cover, measures))
    return CoverCorrected.from_result(result)


def line(view: CoverCorrected, feature: str, measure: str = "squared_error") -> CoverCorrectedLine:
    return next(one for one in view.lines if (one.measure, one.feature) == (measure, feature))


def averaged(X: FloatArray) -> Distribution:
    """A regression that averages its first two columns."""
    return Normal(B / 2 * (X[:, 0] + X[:, 1]), np.ones(len(X)))


def copies(n: int = 4000, unused: int = 1) -> Subject:
    """Two exact copies and unused columns; y follows the model."""
    rng = np.random.default_rng(1)
    x = rng.normal(0, SIGMA, n)
    X = np.column_stack([x, x, rng.normal(size=(n, unused))])
    return subject(averaged, X, B * x + rng.normal(size=n))


def test_two_copies_have_a_quarter_alone_and_three_quarters_of_the_whole_when_the_other_is_lost() -> None:
    view = corrected(copies(), covering(a=["b"], b=["a"], c=[]))
    whole = 2 * (B * SIGMA) ** 2
    for feature in "ab":
        one = line(view, feature)
        shares = one.plain / whole, one.estimate / whole, one.joint / whole, one.change / whole
        assert shares == pytest.approx((1 / 4, 3 / 4, 1, 1 / 2), rel=0.05)
        assert one.lower < 0.75 * whole < one.upper
        assert one.change_lower < 0.5 * whole < one.change_upper
        assert one.joint_lower < whole < one.joint_upper
        assert one.partners == ("b" if feature == "a" else "a")


def test_an_unused_feature_is_exactly_0_whatever_covers_it() -> None:
    for partners in (["a"], ["a", "b"], []):
        one = line(corrected(copies(200), covering(a=[], b=[], c=partners)), "c")
        assert (one.estimate, one.std_error, one.exact_zero, one.verdict) == (0, 0, True, "about 0")
        assert (one.plain, one.change, one.change_lower, one.change_upper) == (0, 0, 0, 0)


def test_a_feature_that_nothing_covers_keeps_its_plain_importance() -> None:
    one = line(corrected(copies(200), covering(a=["b"], b=[], c=[])), "b")
    assert one.estimate == one.plain == one.joint > 0
    assert (one.change, one.change_std_error, one.partners) == (0, 0, "")


def additive(X: FloatArray) -> Distribution:
    return Normal(X @ np.array([1.0, 0.5, 0.0]), np.ones(len(X)))


def test_with_independent_features_cover_changes_nothing_beyond_its_interval() -> None:
    X = np.random.default_rng(3).normal(size=(1500, 3))
    y = additive(X).mean() + np.random.default_rng(4).normal(size=1500)
    view = corrected(subject(additive, X, y), covering(a=["b"], b=["a", "c"], c=["a"]))
    for feature, expected in zip("abc", (2.0, 0.5, 0.0), strict=True):
        one = line(view, feature)
        assert one.estimate == pytest.approx(expected, abs=0.2)
        assert one.change_lower <= 0 <= one.change_upper


def curved(X: FloatArray) -> Distribution:
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 0] * X[:, 1]
    p = 1 / (1 + np.exp(-score))
    return Categorical(np.column_stack([1 - p, p]))


def classes(n: int = 120) -> tuple[FloatArray, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < curved(X).mean()).astype(int)


ALL = ("prediction", "loss", "nll", "entropy", "one_minus_auc")
SETS = {"a": ["b"], "b": ["a", "c"], "c": ["b"]}


def test_every_measure_is_corrected_from_one_pass_and_ranked() -> None:
    view = corrected(subject(curved, *classes()), covering(**SETS), ALL)
    assert view.measures == ("prediction", "brier", "nll", "entropy", "one_minus_auc")
    for measure in view.measures:
        lines = [line(view, feature, measure) for feature in "abc"]
        order = sorted(lines, key=lambda one: -one.estimate)
        assert [one.rank for one in order] == [1, 2, 3]
        assert [one.plain_rank for one in sorted(lines, key=lambda one: -one.plain)] == [1, 2, 3]
        # the change is paired within the permutations of both; importance alone is that of its own, more permutations
        assert all(abs(one.change - (one.estimate - one.plain)) < 4 * one.std_error for one in lines)
        assert all(one.lower < one.estimate < one.upper for one in lines)


def test_its_row_terms_average_to_the_estimates_so_that_it_can_be_ranked_with_intervals() -> None:
    view = corrected(subject(curved, *classes()), covering(**SETS), ("loss", "nll"))
    rows = view.result.rows
    assert rows is not None
    for one in view.lines:
        assert rows.of(one.measure, one.feature).mean() == pytest.approx(one.estimate, abs=1e-12)
    frame = view.result.frame.groupby(["measure", "feature"])["value"].mean()
    assert all(frame[one.measure, one.feature] == pytest.approx(one.estimate) for one in view.lines)


def test_equal_sets_are_predicted_once() -> None:
    of = subject(curved, *classes())
    engine = Engine(of, MEASURES)
    _ = engine.baseline
    prior = prior_of(of, engine, covering(a=["b"], b=["a"], c=[]), ("nll",))
    CoverCorrection(4).explain(of, engine.bound("cover"), prior)
    assert engine.rows_predicted["cover"] == 4 * of.n * len(({"a"}, {"b"}, {"a", "b"}, {"c"}))


def test_permuting_columns_and_naming_them_anew_changes_no_number() -> None:
    X, y = classes()
    view = corrected(subject(curved, X, y), covering(**SETS), ("nll",))
    order = [2, 0, 1]

    def moved(rows: FloatArray) -> Distribution:
        return curved(rows[:, np.argsort(order)])

    new = {name: "abc"[order.index(k)] for k, name in enumerate("abc")}
    sets = {new[feature]: [new[one] for one in others] for feature, others in SETS.items()}
    other = corrected(subject(moved, X[:, order], y), covering(**sets), ("nll",))
    for feature in "abc":
        one, same = line(view, feature, "nll"), line(other, new[feature], "nll")
        assert (one.estimate, one.std_error, one.change, one.joint, one.rank) == pytest.approx(
            (same.estimate, same.std_error, same.change, same.joint, same.rank), abs=1e-12
        )


def test_intervals_cover_clusters_and_are_left_out_with_too_few_shuffles() -> None:
    X, y = classes(240)
    alone = corrected(subject(curved, X, y), covering(**SETS), ("nll",))
    of = subject(curved, np.repeat(X, 3, axis=0), np.repeat(y, 3), clusters=np.repeat(np.arange(240), 3))
    tripled = corrected(of, covering(**SETS), ("nll",))
    assert line(tripled, "a", "nll").std_error == pytest.approx(line(alone, "a", "nll").std_error, rel=0.35)
    few = corrected(subject(curved, X, y), covering(**SETS), ("nll",), n_repeats=2)
    assert not any(one.has_interval or one.change_lower == one.change_lower for one in few.lines)
    assert few.result.rows is None
    assert any(note.startswith("No interval: 2 permutations") for note in few.result.notes)


def pure(X: FloatArray) -> Distribution:
    p = (X[:, 0] + X[:, 1] > 0).astype(float)
    return Categorical(np.column_stack([1 - p, p]))


def test_infinite_losses_are_left_out_with_their_reason() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    of = subject(pure, X, (X[:, 0] + X[:, 1] > 0).astype(int))
    engine = Engine(of, MEASURES)
    prior = prior_of(of, engine, covering(a=["b"], b=[], c=[]), ("nll", "loss"))
    view = CoverCorrected.from_result(CoverCorrection(5).explain(of, engine.bound("cover"), prior)[0])
    assert {one.feature for one in view.lines if one.measure == "nll"} == {"c"}
    assert {one.feature for one in view.lines if one.measure == "brier"} == {"a", "b", "c"}
    assert {gap.feature for gap in view.omissions if gap.measure == "nll"} == {"a", "b"}


def test_without_covering_sets_or_with_options_that_cannot_be_used_it_refuses() -> None:
    of = copies(50)
    engine = Engine(of, MEASURES)
    prior = {**prior_of(of, engine, covering(a=[]), ("loss",)), "cid": []}
    with pytest.raises(UnsupportedError, match=r"it needs cid\.cover"):
        CoverCorrection().explain(of, engine.bound("cover"), prior)
    for value in (0, True, 2.5):
        with pytest.raises(InputError, match=r"cover\.n_repeats must be an integer >= 1"):
            CoverCorrection(value)  # type: ignore[arg-type]


def test_it_is_a_signed_change_that_does_not_contradict_the_feature_alone() -> None:
    assert CONVENTIONS[ids.COVER] == SIGNED_CHANGE
    assert not same_convention(ids.COVER, ids.PFI)
    assert same_convention(ids.COVER, ids.CID_CORRECTED)


def test_its_figure_names_the_partners_beside_both_importances() -> None:
    view = corrected(copies(200), covering(a=["b"], b=["a", "c"], c=[]))
    axes = draw(view.result).axes[0]
    labels = {label.get_text().split("\n")[0]: label.get_text() for label in axes.get_yticklabels()}
    assert labels == {"a": "a\n(with b)", "b": "b\n(with a, c)", "c": "c"}
