"""The built-in measures, and the statistic 1 - AUC with its influence values."""

from importlib.metadata import entry_points
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score, zero_one_loss

from uq_report.core.model import measures as built_in
from uq_report.core.model.measures import Measure, OneMinusAUC, Role
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import AnyArray, FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import (
    Categorical,
    CategoricalMixture,
    Intervals,
    LabelSets,
    Normal,
    NormalMixture,
    Ordinal,
    Poisson,
    StudentT,
)

MEASURES = {m.name: m for m in vars(built_in).values() if isinstance(m, Measure)}
RNG = np.random.default_rng(0)
N = 60
TWO, THREE = RNG.dirichlet([1, 1], N), RNG.dirichlet([1, 2, 3], N)
Y2, Y3, Y = RNG.integers(2, size=N), RNG.integers(3, size=N), RNG.normal(size=N)
MIXED = RNG.dirichlet([1, 1], (N, 4))
NORMAL = Normal(RNG.normal(size=N), np.exp(RNG.normal(size=N)))
CASES: dict[str, tuple[Distribution, AnyArray]] = {
    "two classes": (Categorical(TWO), Y2),
    "three classes": (Categorical(THREE), Y3),
    "mixture of classes": (CategoricalMixture(MIXED), Y2),
    "classes in order": (Ordinal(THREE, classes=[1, 2, 4]), Y3),
    "normal": (NORMAL, Y),
    "t": (StudentT(3.0, Y, 1.0), Y + 1),
    "poisson": (Poisson(np.exp(Y)), np.abs(np.rint(Y))),
    "mixture of normals": (NormalMixture(RNG.normal(size=(N, 3)), np.ones((N, 3))), Y),
    "intervals": (Intervals([0.9], Y - 1, Y + 2 * RNG.random(N), Y), Y + RNG.normal(size=N)),
    "label sets": (LabelSets(THREE, [0.9], THREE > 0.2), Y3),
    "points": (NormalMixture(RNG.normal(size=(N, 3)), np.zeros((N, 3))), Y),
}
ALWAYS = {"prediction", "variance"}
NUMBER = ALWAYS | {"squared_error", "absolute_error", "crps"}
DENSITY = {"nll", "nll_clipped", "entropy", "kl"}
CLASSES = ALWAYS | DENSITY | {"brier", "zero_one"}
PARTS = {"aleatoric_variance", "epistemic_variance"}
NATS = {"aleatoric", "epistemic"}
APPLY = {
    "two classes": CLASSES | {"log_odds", "one_minus_auc"},
    "three classes": CLASSES,
    "classes in order": CLASSES | {"squared_error", "absolute_error", "crps"},
    "mixture of classes": CLASSES | {"log_odds", "one_minus_auc"} | PARTS | NATS,
    "normal": NUMBER | DENSITY,
    "t": NUMBER | DENSITY,
    "poisson": NUMBER | DENSITY,
    "mixture of normals": NUMBER | DENSITY | PARTS | NATS,
    "intervals": (NUMBER - {"variance", "crps"}) | {"width", "interval_score", "miscoverage"},
    "label sets": CLASSES | {"set_size", "miscoverage"},
    "points": NUMBER | PARTS,
}
APPLY = {
    case: names | {built_in.CHANGES[n].name for n in names & set(built_in.CHANGES)} for case, names in APPLY.items()
}


def value(name: str, dist: Distribution, y: AnyArray | None = None) -> FloatArray:
    return MEASURES[name].rows(dist, y, None)


def test_errors_of_classes_in_order_are_those_of_their_numbers() -> None:
    numbers = np.array([1.0, 2.0, 4.0])
    error = numbers[Y3] - THREE @ numbers
    dist = Ordinal(THREE, classes=numbers)
    np.testing.assert_allclose(value("absolute_error", dist, Y3), np.abs(error))
    np.testing.assert_allclose(value("squared_error", dist, Y3), error**2)


def test_each_is_named_like_its_constant_and_registered() -> None:
    assert len(MEASURES) == 25
    assert all(vars(built_in)[name.upper()] is measure for name, measure in MEASURES.items())
    registered = {e.name for e in entry_points(group="uq_report.measures") if e.value.startswith("uq_report.")}
    assert registered in (set(), set(MEASURES))  # empty where the package is not installed


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
def test_each_says_what_it_is(measure: Measure) -> None:
    assert measure.unit
    assert measure.title
    assert measure.role in get_args(Role)
    assert measure.requires
    assert measure.rows.__doc__
    assert measure.needs_y == (measure.role == "loss")
    assert measure.needs_base == (measure is built_in.KL or measure in built_in.CHANGES.values())
    assert measure.direction == "larger"


@pytest.mark.parametrize(
    ("field", "word", "message"),
    [
        (
            "role",
            "los",
            r"measure 'gini'\.role must be 'prediction' or 'loss' or 'uncertainty'; got 'los'. Did you mean",
        ),
        ("direction", "up", r"measure 'gini'\.direction must be 'larger' or 'smaller'; got 'up'. Allowed: larger, sm"),
    ],
)
def test_a_word_that_is_none_of_the_allowed_is_refused(field: str, word: str, message: str) -> None:
    options: Any = {"role": "uncertainty", field: word}
    with pytest.raises(InputError, match=message):
        Measure("gini", built_in.Own("entropy"), "nats", requires=frozenset({"entropy"}), **options)


def test_a_measure_may_be_smaller_where_the_model_is_less_sure() -> None:
    sure = Measure("sure", lambda q, _y, _b: q.mean(), "share", "uncertainty", frozenset({"mean"}), direction="smaller")
    assert sure.direction == "smaller"


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("case", CASES)
def test_each_answers_or_says_why_not(case: str, name: str) -> None:
    (dist, y), measure = CASES[case], MEASURES[name]
    reason = measure.why_not(dist, has_y=True)
    assert (name in APPLY[case]) == (reason == "")
    if reason:
        assert "needs" in reason
        assert "not defined" not in reason
        return
    rows = measure.rows(dist, y if measure.needs_y else None, dist if measure.needs_base else None)
    assert rows.shape == (N,)
    assert rows.dtype == np.float64
    assert not np.isnan(rows).any()
    assert (measure.why_not(dist, has_y=False) != "") == measure.needs_y


@pytest.mark.parametrize(
    ("name", "case", "words"),
    [
        ("log_odds", "three classes", "needs two classes; this model has 3"),
        ("one_minus_auc", "three classes", "needs two classes; this model has 3"),
        ("one_minus_auc", "normal", "needs class probabilities, which a normal"),
        ("brier", "poisson", "needs class probabilities, which a Poisson"),
        ("squared_error", "two classes", "needs a numeric target; this model predicts classes"),
        ("epistemic", "t", "needs the members of an ensemble"),
        ("entropy", "points", "needs a density"),
    ],
)
def test_the_reasons(name: str, case: str, words: str) -> None:
    for has_y in (True, False):  # y would not help, so it is not asked for
        assert words in MEASURES[name].why_not(CASES[case][0], has_y)
    assert MEASURES["nll"].why_not(NORMAL, has_y=False) == "it needs outcomes, which were not given"


def test_class_losses_against_sklearn() -> None:
    for p, y in ((TWO, Y2), (THREE, Y3)):
        dist, k = Categorical(p), p.shape[1]
        assert value("nll", dist, y).mean() == pytest.approx(log_loss(y, p, labels=range(k)), rel=1e-12)
        assert value("zero_one", dist, y).mean() == pytest.approx(zero_one_loss(y, p.argmax(axis=1)), rel=1e-12)
        brier = sum(brier_score_loss(y == c, p[:, c]) for c in range(k))  # before 1.7, of two classes only
        assert value("brier", dist, y).mean() == pytest.approx(brier, rel=1e-12)


def test_the_brier_score_lies_between_0_and_2() -> None:
    dist = Categorical([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1e-9, 1 - 1e-9, 0.0]])
    np.testing.assert_allclose(value("brier", dist, np.array([0, 1, 1])), [0, 2, 2e-18], atol=1e-17)


def test_equal_probabilities_count_as_the_first_class() -> None:
    np.testing.assert_array_equal(value("zero_one", Categorical([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1])), [0, 1])


def test_numeric_losses() -> None:
    np.testing.assert_allclose(value("squared_error", NORMAL, Y), (Y - NORMAL.loc) ** 2)
    np.testing.assert_allclose(value("absolute_error", NORMAL, Y), np.abs(Y - NORMAL.loc))
    np.testing.assert_array_equal(value("nll", NORMAL, Y), -NORMAL.log_prob(Y))


def test_infinite_values_are_kept_unless_the_clipped_nll_is_asked_for() -> None:
    dist, y = Categorical([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), np.array([0, 0, 0])
    np.testing.assert_array_equal(value("nll", dist, y), [np.inf, 0, np.log(2)])
    np.testing.assert_array_equal(value("log_odds", dist), [np.inf, -np.inf, 0])
    clipped = value("nll_clipped", dist, y)
    np.testing.assert_allclose(clipped, [-np.log(np.finfo(float).tiny), 0, np.log(2)])
    np.testing.assert_array_equal(value("nll_clipped", NORMAL, Y), value("nll", NORMAL, Y))


def test_kl_is_the_divergence_of_the_base_from_the_distribution() -> None:
    """With equal sd, KL = (change of the mean)^2 / (2 sd^2)."""
    shift = RNG.normal(size=N)
    base = Normal(NORMAL.loc + shift, NORMAL.scale)
    values = MEASURES["kl"].rows(NORMAL, None, base)
    np.testing.assert_allclose(values, shift**2 / (2 * NORMAL.scale**2), rtol=1e-12)
    one, two = Categorical(TWO), Categorical(TWO[::-1])
    np.testing.assert_array_equal(MEASURES["kl"].rows(two, None, one), one.kl(two))


def test_kl_is_infinite_where_the_possible_becomes_impossible() -> None:
    sure, split = Categorical([[1.0, 0.0]]), Categorical([[0.5, 0.5]])
    assert MEASURES["kl"].rows(sure, None, split)[0] == np.inf
    assert MEASURES["kl"].rows(split, None, sure)[0] == pytest.approx(np.log(2))


def test_uncertainties_are_the_distribution_s() -> None:
    for name in ("entropy", "variance", *PARTS, *NATS):
        dist = CASES["mixture of classes"][0]
        np.testing.assert_array_equal(value(name, dist), getattr(dist, name)())


class TestOneMinusAUC:
    """1 - P(score of class 1 > score of class 0), ties half; influence -(F0 - A)/pi and -(1 - F1 - A)/(1 - pi)."""

    AUC = OneMinusAUC()
    LABELS = RNG.integers(2, size=300)
    SCORES: FloatArray = np.round(RNG.random(300) + 0.2 * LABELS, 1).astype(float)
    WEIGHTS = RNG.exponential(size=300)

    @pytest.mark.parametrize("decimals", [1, 2, 12])
    def test_equals_sklearn(self, decimals: int) -> None:
        y = RNG.integers(2, size=200)
        scores: FloatArray = np.round(RNG.random(200) + 0.3 * y, decimals).astype(float)
        for weights in (np.ones(200), RNG.exponential(size=200), RNG.integers(0, 3, 200).astype(float)):
            expected = 1 - roc_auc_score(y, scores, sample_weight=weights)
            assert self.AUC.value(scores, y, weights) == pytest.approx(expected, abs=1e-13)

    def test_integer_weights_are_repeated_rows(self) -> None:
        times = RNG.integers(0, 4, 300)
        again = np.repeat(np.arange(300), times)
        repeated = self.AUC.value(self.SCORES[again], self.LABELS[again], np.ones(len(again)))
        assert self.AUC.value(self.SCORES, self.LABELS, times.astype(float)) == pytest.approx(repeated, abs=1e-13)

    def test_the_influence_has_weighted_mean_0(self) -> None:
        found = self.AUC.influence(self.SCORES, self.LABELS, self.WEIGHTS, self.SCORES)
        assert found @ self.WEIGHTS == pytest.approx(0, abs=1e-10)

    def test_the_influence_is_the_derivative_by_a_row_s_weight(self) -> None:
        """d T / d w_i = influence_i / sum(w), by definition of the influence function."""
        found = self.AUC.influence(self.SCORES, self.LABELS, self.WEIGHTS, self.SCORES)
        for i in range(0, 300, 23):
            step = np.zeros(300)
            step[i] = 1e-6 * self.WEIGHTS.sum()
            change = self.AUC.value(self.SCORES, self.LABELS, self.WEIGHTS + step) - self.AUC.value(
                self.SCORES, self.LABELS, self.WEIGHTS - step
            )
            assert found[i] == pytest.approx(change / 2e-6, abs=1e-5)

    def test_its_standard_error_is_delong_s(self) -> None:
        """var = s10 / n1 + s01 / n0 of the placement values, up to the (n - 1)/n of each."""
        y, scores = self.LABELS, self.SCORES
        found = self.AUC.influence(scores, y, np.ones(300), scores)
        wins = (scores[y == 1][:, None] > scores[y == 0]) + 0.5 * (scores[y == 1][:, None] == scores[y == 0])
        delong = wins.mean(axis=1).var() / (y == 1).sum() + wins.mean(axis=0).var() / (y == 0).sum()
        assert (found**2).sum() / 300**2 == pytest.approx(delong, rel=1e-10)

    def test_a_pool_of_shuffles(self) -> None:
        """Scores (m, n) against their own pool: mean 0, and each shuffle's rows as if asked alone."""
        pool = np.stack([RNG.permutation(self.SCORES) for _ in range(5)])
        whole = self.AUC.influence(pool, self.LABELS, self.WEIGHTS, pool)
        assert whole.shape == pool.shape
        assert (whole @ self.WEIGHTS).sum() == pytest.approx(0, abs=1e-9)
        np.testing.assert_array_equal(self.AUC.influence(pool[2], self.LABELS, self.WEIGHTS, pool), whole[2])
        flat = self.AUC.influence(pool.ravel(), np.tile(self.LABELS, 5), np.tile(self.WEIGHTS, 5), pool.ravel())
        np.testing.assert_array_equal(flat, whole.ravel())

    @pytest.mark.parametrize(("y", "weights"), [([1, 1], [1, 1]), ([0, 0], [1, 1]), ([0, 1], [1, 0]), ([0, 1], [0, 1])])
    def test_both_classes_are_needed(self, y: Any, weights: Any) -> None:
        scores = np.array([0.1, 0.2])
        with pytest.raises(InputError, match="observations of both classes; got none of class position"):
            self.AUC.value(scores, np.array(y), np.array(weights, dtype=float))
        with pytest.raises(InputError, match="both classes"):
            self.AUC.influence(scores, np.array(y), np.array(weights, dtype=float), scores)

    def test_the_focus_does_not_change_it(self) -> None:
        dist = Categorical(TWO, classes=["a", "b"])
        np.testing.assert_array_equal(value("one_minus_auc", dist), value("one_minus_auc", dist.focus("a")))
        statistic = built_in.ONE_MINUS_AUC.statistic
        assert statistic is not None
        found = statistic.value(value("one_minus_auc", dist), Y2, np.ones(N))
        assert found == pytest.approx(1 - roc_auc_score(Y2, TWO[:, 1]), abs=1e-14)
