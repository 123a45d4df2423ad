"""The parts of permutation importance and of claims from numbers made by hand."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import BRIER, NLL, SET_SIZE, SQUARED_ERROR, ZERO_ONE
from uq_report.core.model.results import Diagnostic
from uq_report.core.model.subject import Subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal, Poisson
from uq_report.evidence import ids
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from uq_report.methods.pfi import figure
from uq_report.methods.pfi.claims import Claiming, ModelImplied, ProperScore, exact_p_values, score_of
from uq_report.methods.pfi.estimator import Estimator, FeatureShuffles, Shuffler, distinct_values, stops
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.pfi.tables import (
    ShuffleTables,
    delta_result,
    importance_result,
    training_result,
    untrained_result,
)
from uq_report.methods.shared.choice import at_most
from uq_report.methods.shared.terms import ChangedMeasures, Distinct, ImportanceTerms, ShuffledRows

from .pfi_cases import MEASURES, subject
from .test_cid_terms import flat

# ---------------------------------------------------------------------- shuffles


def held(distinct: Distinct | None, base: FloatArray, m: int = 3) -> FeatureShuffles:
    n = base.shape[1]
    donors = np.stack([np.roll(np.arange(n), r + 1) for r in range(m)])
    T = np.zeros((1, m if distinct is None else len(distinct.first), n))
    return FeatureShuffles("a", (0,), donors, distinct, T, np.zeros((1, n)))


def test_shuffles_are_taken_in_order_and_further_measures_averaged() -> None:
    one = held(None, np.zeros((2, 2)))
    assert list(one.left(2)) == [0, 1]
    assert one.variant(1).columns == (0,)
    assert one.sources(0).tolist() == [1, 0]
    one.take(np.array([[1.0, 2.0], [3.0, 5.0]]))
    one.take(np.array([[4.0, 6.0], [5.0, 5.0]]))
    assert one.changes.T.tolist() == [[[1.0, 2.0], [4.0, 6.0]]]
    assert one.changes.donors.tolist() == [[1, 0], [0, 1]]
    assert one.means.tolist() == [[4.0, 5.0]]
    assert list(one.left(3)) == [2]


def test_values_are_taken_step_by_step_and_further_measures_averaged_over_rows() -> None:
    """Values 0, 1, 0 of three rows: a row's own, then the other; the mean counts value 0 twice."""
    one = held(Distinct(np.array([0, 1, 0]), np.array([0, 1])), np.zeros((2, 3)))
    one.take(np.array([[1.0, 2.0, 3.0], [6.0, 0.0, 3.0]]))
    assert one.sources(1).tolist() == [1, 0, 1]
    assert list(one.left(99)) == [1]
    one.take(np.array([[10.0, 20.0, 30.0], [0.0, 9.0, 3.0]]))
    assert one.changes.T.tolist() == [[[1.0, 20.0, 3.0], [10.0, 2.0, 30.0]]]
    assert one.means.tolist() == [[4.0, 6.0, 3.0]]
    assert list(one.left(99)) == []


def test_looks_begin_at_20_and_come_every_10() -> None:
    assert [stops(n, adaptive=True) for n in (19, 20, 21, 30, 31)] == [[19], [20], [20, 21], [20, 30], [20, 30, 31]]
    assert stops(31, adaptive=False) == [31]


def levels(*counts: int) -> Subject:
    """Return features with these numbers of values."""
    return subject(flat, np.column_stack([np.arange(60.0) % count for count in counts]), np.arange(60.0))


def test_all_pairs_are_used_up_to_one_value_more_than_shuffles() -> None:
    of = levels(5, 6)
    at_most, more = (distinct_values(of, (column,), 4, None) for column in (0, 1))
    assert at_most is not None
    assert len(at_most.first) == 5
    assert more is None
    assert distinct_values(of, (1,), 4, True) is not None
    assert distinct_values(of, (0,), 4, False) is None


def test_of_a_set_the_rows_own_values_are_known_before_any_prediction() -> None:
    engine = Engine(levels(60), MEASURES)
    held = Shuffler(engine, (NLL,), engine.unchanged((NLL,)), 1, 7, exact=True).of("a")
    assert held.done == 1
    assert not (held.donors == np.arange(60)).all(axis=1).any()


def test_the_cost_counts_shuffles_or_other_values_in_test_and_training_rows() -> None:
    of = levels(3, 60)
    engine = Engine(of, MEASURES)
    assert PermutationImportance(n_repeats=30).cost(of, engine) == (2 + 20) * 60
    assert PermutationImportance(n_repeats=30, max_shuffle_variance=0.0).cost(of, engine) == (2 + 30) * 60
    assert PermutationImportance(n_repeats=30, exact=False).cost(of, engine) == (20 + 20) * 60
    for n, used in ((500, 500), (1500, 1000)):
        trained = replace(of, train=(np.zeros((n, 2)), np.zeros(n)))
        assert PermutationImportance(n_repeats=30).cost(trained, engine) == 22 * (60 + used)
        assert PermutationImportance(n_repeats=30, train=False).cost(trained, engine) == 22 * 60


@pytest.mark.parametrize(
    ("option", "bad", "good"),
    [
        ("max_shuffle_variance", 1.0, 0.999),
        ("max_shuffle_variance", -0.01, 0.0),
        ("n_repeats", 0, 1),
        ("margin", 0.0, 1e-9),
    ],
)
def test_numbers_outside_their_range_are_refused(option: str, bad: float, good: float) -> None:
    settings: dict[str, Any] = {option: good}
    assert getattr(PermutationImportance(**settings), option) == good
    with pytest.raises(InputError, match=option):
        PermutationImportance(**{option: bad})  # type: ignore[arg-type]


# ---------------------------------------------------------------------- claims


@pytest.mark.parametrize(("classes", "terms"), [(20, 19), (21, 0)])
def test_the_exact_test_is_of_at_most_20_classes(classes: int, terms: int) -> None:
    score = score_of(Categorical(np.full((3, classes), 1 / classes)))
    assert score is not None
    assert (len(score.coefficients), score.loss.name) == (terms, NLL.name)
    assert (score.statistics is None) is (terms == 0)
    some = np.full((3, classes), 1 / (classes - 1))
    some[0, 0] = 0
    some[0] /= some[0].sum()
    some[1:] = 1 / classes
    zero = score_of(Categorical(some))
    assert zero is not None
    assert zero.loss.name == BRIER.name
    sure = score_of(Categorical(np.array([[0.5, 0.5], [1.0, 0.0]])))
    assert sure is not None
    assert sure.loss.name == BRIER.name


def test_scores_are_sums_of_coefficients_times_statistics() -> None:
    """-log p(y) less what does not depend on both: the coefficients by hand."""
    mean, sd, rate = np.array([1.0, -2.0]), np.array([2.0, 0.5]), np.array([0.5, 3.0])
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    zero = np.array([[0.2, 0.8], [1.0, 0.0]])
    cases: list[tuple[Any, list[FloatArray]]] = [
        (Normal(mean, sd), [-mean / sd**2, 1 / (2 * sd**2)]),
        (Poisson(rate), [-np.log(rate)]),
        (Categorical(p), [np.log(p[:, 0] / p[:, 1]), np.log(p[:, 0] / p[:, 2])]),
        (Categorical(zero), [2 * (zero[:, 0] - zero[:, 1])]),
    ]
    for q, expected in cases:
        score = score_of(q)
        assert score is not None
        np.testing.assert_allclose([part.rows(q, None, None) for part in score.coefficients], expected)
        assert [part.name for part in score.coefficients] == [f"coefficient {k}" for k in range(len(expected))]


def claim(excess: Any) -> ModelImplied:
    nothing = np.zeros((3, 1))
    return ModelImplied(nothing, np.zeros(3), np.zeros(3), ("",) * 3, 0.0, 0.0, np.asarray(excess, float), 3.0)


def drawn(values: Any) -> ProperScore:
    """Return a score whose draws are given: of one statistic, which is the outcome itself."""

    def draws(q: Any, rng: Any, size: int) -> Iterator[FloatArray]:
        assert size == expected[0]
        yield np.asarray(values, dtype=float)[None, :3]
        yield np.asarray(values, dtype=float)[None, 3:]

    expected = [999]
    return ProperScore(NLL, NLL, (), lambda y: np.asarray(y, dtype=float)[None], draws)


def test_exact_p_values_count_draws_on_both_sides_and_the_observed_one() -> None:
    """One row, outcome 2 of draws 0 to 9: 3 are as low, 8 as high, of 1000 with the observed one."""
    q = Normal(np.zeros(1), np.ones(1))
    score = drawn(np.arange(10.0)[:, None])
    p = exact_p_values(
        [claim([[1.0]]), claim([[-2.0]]), claim([[0.0]])], score, q, np.array([2.0]), np.random.default_rng(0)
    )
    assert p.tolist() == pytest.approx([2 * 4 / 1000, 2 * 4 / 1000, 2 * 11 / 1000])
    none = exact_p_values([claim([[1.0]])], ProperScore(NLL, NLL), q, np.array([2.0]), np.random.default_rng(0))
    assert np.isnan(none).all()


def test_exact_p_values_sum_over_statistics_and_rows() -> None:
    """Of two statistics and two rows the score is the sum of four products."""
    draws = np.array([[[1.0, 2.0], [0.0, 4.0]], [[3.0, 0.0], [1.0, 5.0]]])  # statistics, draws, rows

    def draw(q: Any, rng: Any, size: int) -> Iterator[FloatArray]:
        yield draws

    score = ProperScore(NLL, NLL, (), lambda y: np.stack([y, y]), draw)
    excess = np.array([[1.0, 0.5], [2.0, -1.0]])
    sums = [float((excess * draws[:, k]).sum()) for k in range(2)]
    y = np.array([sums[0], sums[0]]) / excess.sum()
    p = exact_p_values([claim(excess)], score, Normal(np.zeros(2), np.ones(2)), y, np.random.default_rng(0))
    low, high = 1 + sum(x <= sums[0] + 1e-9 for x in sums), 1 + sum(x >= sums[0] - 1e-9 for x in sums)
    assert p.tolist() == pytest.approx([2 * min(low, high) / 1000])


def test_sums_that_rounding_sets_apart_are_equal() -> None:
    """Of a feature of two values many draws have the sum that is observed, whatever the last digits of its terms."""
    rng = np.random.default_rng(0)
    q = Categorical(np.full((40, 2), 0.5), classes=[0, 1])
    score, y = score_of(q), np.repeat([0, 1], 20)
    assert score is not None
    excess = np.where(np.arange(40) % 2, 1.0, -1.0)[None]
    near = [excess * (1 + 1e-15 * rng.normal(size=40)) + shift for shift in (0.0, 1e-16, -1e-16)]
    p = exact_p_values([claim(part) for part in (excess, *near)], score, q, y, np.random.default_rng(0))
    assert p.tolist() == [1.0] * 4  # the observed sum is the middle one


def claiming(outcomes: bool = True) -> Claiming:
    """Return claims of a normal model, with or without outcomes, of which nothing is known yet."""
    of = testing.linear_subject(6)
    engine = Engine(of if outcomes else replace(of, y=None), MEASURES)
    rows = ShuffledRows.of(engine, engine.select(("entropy",))[0])
    return Claiming.of(score_of(engine.baseline), engine, rows)


@pytest.mark.parametrize("outcomes", [True, False])
def test_rows_that_are_infinite_in_any_part_are_counted_once(outcomes: bool) -> None:
    given = claiming(outcomes)
    n, parts = 6, len(given.compared)
    assert (parts, given.n_full, len(given.measures)) == ((2, 3, 5) if outcomes else (1, 2, 2))
    T = np.zeros((parts, 3, n))
    T[0, 1, 2] = T[0, 2, 2] = T[-1, 0, 4] = np.inf
    given._add("a", ChangedMeasures(T, np.tile(np.arange(n), (3, 1))), np.zeros((2, n)))
    what = "divergence or the loss" if outcomes else "divergence"
    reason = f"the {what} is infinite for 2 of 6 observations, and none was dropped"
    assert [gap.reason for gap in given.omissions] == [reason]
    assert given.claims == {}


def test_a_result_is_of_what_is_delivered_where_there_are_outcomes() -> None:
    for outcomes, title in ((True, "Model-implied and realised importance"), (False, "Model-implied importance")):
        given = claiming(outcomes)
        assert given.score is not None
        given.claims["a"] = claim(np.zeros((2, 6)))._replace(unreliable=("",) * 3)
        found = given.result(given.score, {})
        assert found.title == title
        assert len(found.notes) == (2 if outcomes else 1)
        assert found.meta["exact"] is outcomes
        assert set(found.estimates["item"]) == {"claimed", "delivered", "difference"}


@pytest.mark.parametrize(("number", "draws"), [(24, 999), (25, 999), (26, 1039)])
def test_many_claims_take_more_draws(number: int, draws: int) -> None:
    asked: list[int] = []

    def draw(q: Any, rng: Any, size: int) -> Iterator[FloatArray]:
        asked.append(size)
        yield np.zeros((1, size, 1))

    score = ProperScore(NLL, NLL, (), lambda y: np.asarray(y, dtype=float)[None], draw)
    q = Normal(np.zeros(1), np.ones(1))
    p = exact_p_values([claim([[1.0]])] * number, score, q, np.array([0.0]), np.random.default_rng(0))
    assert (asked, p.tolist()) == ([draws], [1.0] * number)


def test_the_compared_measures_are_found_wherever_they_stand() -> None:
    divergence, loss = BRIER, NLL
    rows = ShuffledRows((), np.zeros((0, 2)), np.zeros(2), np.ones(2), None)
    engine = Engine(levels(3), MEASURES)
    for measures, found in (
        ((divergence, loss), [0, 1]),
        ((loss, divergence), [1, 0]),
        ((loss, ZERO_ONE, divergence), [2, 0]),
        ((ZERO_ONE, divergence, ZERO_ONE, loss), [1, 3]),
        ((ZERO_ONE, loss, divergence), [2, 1]),
        ((ZERO_ONE, loss, ZERO_ONE, divergence), [3, 1]),
    ):
        of = Claiming(None, engine, rows, (divergence, loss), measures, np.zeros((len(measures), 2)), len(measures))
        assert np.arange(len(measures))[of.at].tolist() == found
        alone = replace(of, compared=(divergence,))
        assert np.arange(len(measures))[alone.at].tolist() == found[:1]
        assert np.arange(len(measures))[replace(of, compared=()).at].tolist() == []


def claims(parts: dict[str, tuple[float, float]], *, outcomes: bool = True) -> Diagnostic:
    """Return ``pfi.claims`` of features that claim and deliver these numbers."""
    lines = []
    for feature, (claimed, delivered) in parts.items():
        values = [(CLAIMED, claimed), (DELIVERED, delivered), (DIFFERENCE, claimed - delivered)]
        for item, value in values if outcomes else values[:1]:
            ends = {"lower": value - 0.1, "upper": value + 0.2, "confidence": 0.95, "covers": "new test samples"}
            lines.append(
                {"measure": "nll", "feature": feature, "estimate": value, "item": item, "std_error": 0.05} | ends
            )
    table = pd.DataFrame(lines)
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(id=ids.PFI_CLAIMS, explainer=ids.PFI, title="", frame=frame, estimates=table)


def ends_of(lines: Any) -> list[list[float]]:
    return [np.round(np.asarray(path.vertices, dtype=float), 6).ravel().tolist() for path in lines.get_paths()]


PARTS = {"a": (0.2, 0.1), "b": (1.0, 0.8), "c": (0.19, -0.3), ALL_FEATURES: (3.0, 3.0)}


def test_the_figure_of_claims_holds_them_against_the_diagonal() -> None:
    """Features only, each with the interval of what it delivers; named are those with a fifth of the largest claim."""
    (axes,) = figure.draw_claims(claims(PARTS)).axes
    diagonal, dots = axes.lines
    assert np.asarray(diagonal.get_xydata()).tolist() == [[-0.3, -0.3], [1.0, 1.0]]
    np.testing.assert_allclose(np.asarray(dots.get_xydata(), dtype=float), [[1.0, 0.8], [0.2, 0.1], [0.19, -0.3]])
    (intervals,) = axes.collections
    assert ends_of(intervals) == [[1.0, 0.7, 1.0, 1.0], [0.2, 0.0, 0.2, 0.3], [0.19, -0.4, 0.19, -0.1]]
    assert [text.get_text() for text in axes.texts] == ["b", "a"]
    assert [tuple(text.xy) for text in axes.texts] == [(1.0, 0.8), (0.2, 0.1)]  # type: ignore[attr-defined]
    assert [text.get_position() for text in axes.texts] == [(5, 3), (5, 3)]
    assert axes.get_xlabel().startswith("model-implied importance (")
    assert axes.get_ylabel().startswith("realised importance (")
    assert (diagonal.get_linewidth(), dots.get_markersize()) == (0.8, 4.5)
    assert diagonal.is_dashed()
    assert [text.get_text() for text in figure.draw_claims(claims(PARTS), 1).axes[0].texts] == ["b"]
    above = figure.draw_claims(claims({"a": (0.5, 0.25)})).axes[0].lines[0]
    assert np.asarray(above.get_xydata()).tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_the_figure_of_claims_holds_0_and_grows_with_its_lines() -> None:
    none = figure.draw_claims(claims({ALL_FEATURES: (3.0, 3.0)})).axes[0].lines[0]
    assert np.asarray(none.get_xydata()).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    heights = [figure.draw_claims(claims(dict.fromkeys(names, (1.0, 1.0)), outcomes=False)).get_size_inches()[1]
               for names in ("a", "abc")]  # fmt: skip
    assert heights == pytest.approx([1.25, 1.75])


def test_without_outcomes_claims_stand_below_each_other_the_largest_on_top() -> None:
    (axes,) = figure.draw_claims(claims(PARTS, outcomes=False)).axes
    (dots,) = axes.lines
    np.testing.assert_allclose(np.asarray(dots.get_xydata(), dtype=float), [[1.0, 2], [0.2, 1], [0.19, 0]])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a", "c"]
    (intervals,) = axes.collections
    assert ends_of(intervals) == [[0.9, 2.0, 1.2, 2.0], [0.1, 1.0, 0.4, 1.0], [0.09, 0.0, 0.39, 0.0]]
    assert len(figure.draw_claims(claims(PARTS, outcomes=False), 2).axes[0].get_yticks()) == 2


# ---------------------------------------------------------------------- tables

N = 50


def tables(repeats: FloatArray, **parts: Any) -> ShuffleTables:
    """Return tables of one feature and nll with these shuffles."""
    values = repeats[None]
    rows = np.tile(np.linspace(-1, 1, N) + repeats.mean(), (1, 1))
    term = ImportanceTerms(
        values, values.mean(axis=1), np.array([0.05]), np.array([0.01]), rows, rows, np.array([False]),
        np.array([0.25]), np.zeros((1, 2), int), np.zeros(1), np.full(1, N - 1.0), exact=parts.pop("exact", False),
    )  # fmt: skip
    of = ShuffledRows((NLL,), np.full((1, N), 0.7), np.zeros(N), parts.pop("weights", np.ones(N)), None)
    options = {"n_repeats": len(repeats), "max_shuffle_variance": 0.1} | parts.pop("options", {})
    return replace(ShuffleTables(Estimator(of, {"nll": 0.01}, 0.95, 0.1), ["a"], [term], options, ()), **parts)


@pytest.mark.parametrize(
    ("m", "low", "high", "words"),
    [(19, 0.0, 18.0, "smallest and largest"), (20, 0.95, 18.05, "5% and 95% quantiles")],
)
def test_the_spread_is_of_quantiles_from_20_shuffles_on(m: int, low: float, high: float, words: str) -> None:
    result = importance_result(tables(np.arange(float(m))))
    (line,) = result.estimates.to_dict("records")
    assert (line["spread_low"], line["spread_high"]) == pytest.approx((low, high))
    assert result.meta == {"spread": f"{words} of {m} permutations", "degrees_of_freedom": N - 1}
    assert line["p_value"] == pytest.approx(2 / (m + 1))
    assert line["unpermuted"] == pytest.approx(0.7)


@pytest.mark.parametrize(("m", "reach"), [(19, True), (18, False)])
def test_a_test_is_out_of_reach_where_the_smallest_p_value_is_above_the_level(m: int, reach: bool) -> None:
    notes = " ".join(importance_result(tables(np.arange(float(m)))).notes)
    words = (
        "18 permutations give no p-value below 0.053, so the test cannot reach the level 0.05: it needs 19, or 19 with "
        "adjustment for all features."
    )
    assert (words in notes) is not reach
    assert ("give no p-value below" in notes) is not reach


def test_with_unequal_weights_there_is_no_p_value() -> None:
    weighted = importance_result(tables(np.arange(30.0), weights=np.linspace(1, 2, N)))
    assert weighted.estimates["p_value"].isna().all()
    assert any(note.startswith("No permutation p-value") for note in weighted.notes)
    assert not any(note.startswith("No permutation p-value") for note in importance_result(tables(np.ones(30))).notes)


def test_the_reader_is_told_which_features_stopped_early() -> None:
    early = importance_result(tables(np.arange(20.0), options={"n_repeats": 30})).notes
    assert early[0].startswith("Permutations stop early (after 20 to 30) once their random choice has at most 10%")
    assert early[0].endswith("They stopped early for all features.")
    assert not any(note.startswith("Permutations stop") for note in importance_result(tables(np.arange(30.0))).notes)


def test_an_importance_of_all_pairs_says_so() -> None:
    exact = importance_result(tables(np.arange(30.0), exact=True)).notes
    assert exact[0].startswith("All importances are exact over all permutations")
    assert "Intervals cover new test samples for the fixed model." in exact
    assert not any("exact over all permutations" in note for note in importance_result(tables(np.ones(30))).notes)


def two(first: ShuffleTables, second: ShuffleTables) -> ShuffleTables:
    """Return the tables of two features, a and b."""
    return replace(first, features=["a", "b"], terms=[*first.terms, *second.terms])


def test_the_smallest_number_of_shuffles_decides_and_both_are_told() -> None:
    both = importance_result(two(tables(np.arange(30.0)), tables(np.arange(19.0))))
    assert both.meta["spread"] == "smallest and largest of 19 to 30 permutations"
    assert both.frame.groupby("feature").size().to_dict() == {"a": 30, "b": 19}
    assert both.rows is None  # no row values were kept
    early = " ".join(importance_result(two(tables(np.arange(30.0)), tables(np.arange(19.0)))).notes)
    assert early.count("They stopped early for b.") == 1


def test_where_some_are_exact_only_the_others_have_no_interval() -> None:
    few, exact = tables(np.arange(2.0)), tables(np.arange(2.0), exact=True)
    fixed = "Intervals cover new test samples for the fixed model."
    for given, start, some in (
        (two(exact, few), "No interval of the other importances: ", True),
        (two(few, few), "No interval: ", False),
        (two(exact, exact), "", True),
    ):
        notes = importance_result(given).notes
        assert [note for note in notes if note.startswith("No interval")] == [
            note for note in notes if start and note.startswith(start)
        ]
        assert any(note.startswith("No interval") for note in notes) is bool(start)
        assert (fixed in notes) is some
    named = importance_result(two(exact, few)).notes[0]
    assert named.startswith("Importances of a are exact over all permutations")


def judged(value: float, se: float, margin: float = 0.01) -> dict[str, Any]:
    """Return the line of an importance of this estimate and error."""
    made = tables(np.full(30, value))
    (term,) = made.terms
    given = replace(
        made, estimator=Estimator(made.rows, {"nll": margin}, 0.95, 0.1), terms=[term._replace(se=np.array([se]))]
    )
    (line,) = importance_result(given).estimates.to_dict("records")
    return {str(name): number for name, number in line.items()}


def test_about_0_is_said_of_small_importances_that_are_surely_something_too() -> None:
    small = judged(0.005, 0.001)
    assert (small["verdict"], small["remark"]) == ("about 0", "but not 0")
    assert judged(-0.005, 0.001)["remark"] == "but not 0"
    assert (judged(0.0, 0.0)["verdict"], judged(0.0, 0.0)["remark"]) == ("about 0", "")
    assert judged(0.001, 0.001)["remark"] == ""


def test_rows_that_would_decide_are_told_where_it_is_undecided() -> None:
    open_ = judged(0.02, 0.02)
    assert (open_["verdict"], open_["n_needed"] > N) == ("undetermined", True)
    assert np.isnan(judged(1.0, 0.02)["n_needed"])


def test_margins_are_found_by_the_name_that_was_asked_for() -> None:
    rows = ShuffledRows((SQUARED_ERROR, NLL), np.ones((2, N)), np.zeros(N), np.ones(N), None)
    asked = PermutationImportance(measures=("loss", "nll"), margin={"loss": 0.5, "nll": 0.25})
    assert asked._margins(rows) == {"squared_error": 0.5, "nll": 0.25}
    named = PermutationImportance(measures=("squared_error", "nll"), margin={"squared_error": 0.5})
    assert named._margins(rows) == {"squared_error": 0.5, "nll": 0.01}
    assert PermutationImportance(margin=0.125)._margins(rows) == {"squared_error": 0.125, "nll": 0.125}


def test_the_size_of_sets_is_added_where_it_is_known() -> None:
    for known, more in (({}, ()), ({SET_SIZE.name: SET_SIZE}, (SET_SIZE.name,))):
        engine: Any = SimpleNamespace(baseline=SimpleNamespace(supports={"label_sets"}), measures=known)
        usual = PermutationImportance()
        assert usual._names(engine) == (*usual.measures, *more)


def test_without_a_measure_for_training_rows_nothing_is_in_their_result() -> None:
    main = importance_result(tables(np.arange(30.0)))
    empty = untrained_result(main, ())
    assert (empty.id, len(empty.frame), len(empty.estimates)) == ("pfi.train", 0, 0)
    assert list(empty.estimates.columns) == list(main.estimates.columns)


def test_rows_shuffled_within_clusters_never_use_all_pairs() -> None:
    assert PermutationImportance(within_clusters=True)._all_pairs is False
    assert PermutationImportance()._all_pairs is None
    assert PermutationImportance(exact=True)._all_pairs is True


def test_row_changes_are_summed_up_by_quantiles_and_the_share_unchanged() -> None:
    frame = delta_result(tables(np.zeros(30))).frame
    assert frame["x"].tolist() == [0.05, 0.25, 0.5, 0.75, 0.95, 0.0]
    np.testing.assert_allclose(frame["value"], [-0.9, -0.5, 0.0, 0.5, 0.9, 0.25], atol=1e-12)
    assert set(frame["item"][:5]) == {"quantile"}
    assert frame["item"].iloc[-1] == "share of observations unchanged"


def test_training_rows_have_no_interval_and_say_how_many_were_drawn() -> None:
    result = training_result(tables(np.arange(30.0)), 900)
    assert result.estimates[["std_error", "lower", "upper", "confidence", "p_value"]].isna().all(axis=None)
    assert result.notes[-1] == "50 of 900 training observations, drawn at random, were used."
    assert len(training_result(tables(np.arange(30.0)), None).notes) == 1


def test_terms_row_by_row_are_kept_in_their_place_or_not_at_all() -> None:
    made = tables(np.arange(30.0))
    (term,) = made.terms
    term = term._replace(delta=term.rows + 1)
    kept = np.zeros((2, 1, 1, N))
    held_terms = replace(made, kept=kept).kept_terms(0, term)
    for k, values in enumerate((term.rows, term.delta)):
        np.testing.assert_array_equal(kept[k, :, 0], values)
        stored = replace(made, kept=kept).row_values(k)
        assert stored is not None
        np.testing.assert_array_equal(stored.of("nll", "a"), values[0])
    np.testing.assert_array_equal(held_terms.rows, term.rows)
    np.testing.assert_array_equal(held_terms.delta, term.delta)
    bare = made.kept_terms(0, term)
    assert (bare.rows.shape, bare.delta.shape, made.row_values(0)) == ((1, 0), (1, 0), None)


def test_an_importance_about_0_whose_interval_leaves_0_out_says_so() -> None:
    """0.006 ± 0.002 is within a margin of 0.01 and not 0; an interval that is 0 itself does not leave it out."""

    def remark(estimate: float, se: float, *, zero: bool = False) -> tuple[str, str]:
        made = tables(np.full(30, estimate))
        term = made.terms[0]._replace(se=np.array([se]), zero=np.array([zero]))
        (line,) = importance_result(replace(made, terms=[term])).estimates.to_dict("records")
        return line["verdict"], line["remark"]

    assert remark(0.006, 0.001) == ("about 0", "but not 0")
    assert remark(-0.006, 0.001) == ("about 0", "but not 0")
    assert remark(0.001, 0.002) == ("about 0", "")
    assert remark(0.0, 0.0) == ("about 0", "")
    assert remark(0.0, 0.0, zero=True) == ("about 0", "exact")
    assert remark(0.5, 0.1) == ("positive", "")


def test_intervals_are_of_student_with_one_unit_less() -> None:
    made = tables(np.full(30, 0.5))
    rows_of = replace(made.rows, b=np.ones((1, 4)), y=np.zeros(4), weights=np.ones(4))
    term = made.terms[0]._replace(freedom=np.array([3.0]))
    few = replace(made, estimator=Estimator(rows_of, {"nll": 0.01}, 0.95, 0.1), terms=[term])
    (line,) = importance_result(few).estimates.to_dict("records")
    assert line["upper"] - 0.5 == pytest.approx(3.182446305284263 * 0.05), "t of 3 degrees of freedom at 97.5%"


@pytest.mark.parametrize("outcomes", [True, False])
def test_lines_of_claims_have_their_intervals_and_the_last_its_test(outcomes: bool) -> None:
    """Of 4 rows: t of 3 degrees of freedom at 97.5% is 3.182; a claim has its own, 2, on the scale of logarithms."""
    size = 3 if outcomes else 1
    one = ModelImplied(
        np.zeros((size, 1)), np.array([0.4, 0.3, 0.1])[:size], np.array([0.1, 0.2, 0.3])[:size],
        ("", "doubt", "")[:size], 0.75, 0.05, np.zeros((1, 4)), 2.0,
    )  # fmt: skip
    rows = ShuffledRows((), np.zeros((0, 4)), np.zeros(4), np.ones(4), None)
    of = Claiming(None, Engine(levels(3), MEASURES), rows, (), (), np.zeros((0, 4)), 0, claims={"a": one})
    lines = of._lines("nll", "a", 0.25)
    t = 3.182446305284263
    assert [line["item"] for line in lines] == [CLAIMED, DELIVERED, DIFFERENCE][:size]
    factor = np.exp(4.302652729749464 * 0.1 / 0.4)
    assert (lines[0]["lower"], lines[0]["upper"]) == pytest.approx((0.4 / factor, 0.4 * factor))
    rest = lines[1:]
    assert [line["upper"] - line["estimate"] for line in rest] == pytest.approx([0.2 * t, 0.3 * t][: size - 1])
    assert [line["estimate"] - line["lower"] for line in rest] == pytest.approx([0.2 * t, 0.3 * t][: size - 1])
    assert [line["unreliable"] for line in lines] == ["", "doubt", ""][:size]
    if outcomes:
        last = lines[-1]
        assert (last["p_value"], last["share"]) == (0.25, 0.75)
        assert (last["share_lower"], last["share_upper"]) == pytest.approx((0.75 - 0.05 * t, 0.75 + 0.05 * t))
    else:
        assert "share" not in lines[0]


@pytest.mark.parametrize(("n", "sampled"), [(1000, None), (1001, 1001)])
@pytest.mark.parametrize("known", [True, False])
def test_training_rows_are_drawn_above_a_limit_only(n: int, sampled: int | None, known: bool) -> None:
    training = subject(flat, np.arange(float(n))[:, None], np.arange(float(n)) if known else None)
    kept = at_most(training, 1000, Engine(levels(3), MEASURES).bound("pfi"))
    assert (kept.n, kept.sampled_from) == (1000, sampled)
    assert (kept.y is not None) is known
    if kept.y is not None:
        np.testing.assert_array_equal(kept.y, np.asarray(kept.X, dtype=float)[:, 0])
    assert (np.diff(np.asarray(kept.X, dtype=float)[:, 0]) > 0).all(), "in their order"


def test_a_loss_that_is_no_mean_is_noted_among_others() -> None:
    made = tables(np.arange(30.0))
    auc = MEASURES["one_minus_auc"]
    y = np.arange(N) % 2
    both = replace(made.rows, measures=(NLL, auc), b=np.stack([np.full(N, 0.7), np.linspace(0, 1, N)]), y=y)
    (term,) = made.terms
    twice: Any = [np.concatenate([part, part]) for part in term[:-1]]
    pair = ImportanceTerms(*[*twice, term.exact])
    of = replace(made, estimator=Estimator(both, {"nll": 0.01, auc.name: 0.01}, 0.95, 0.1), terms=[pair])
    notes = importance_result(of).notes
    assert "1 - AUC is no mean over observations: its interval is based on the influence of each observation." in notes
    assert not any("1 - AUC" in note for note in importance_result(made).notes)


def test_the_size_of_label_sets_is_measured_only_where_there_are_such_and_nothing_else_was_asked() -> None:
    engine = Engine(levels(3), MEASURES | {SET_SIZE.name: SET_SIZE})
    asked = PermutationImportance(measures=("nll",))._names(engine)
    assert (asked, PermutationImportance()._names(engine)) == (("nll",), PermutationImportance.measures)
