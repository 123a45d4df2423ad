"""The draw of a random model's members in intervals: the jackknife against exact numbers and brute force."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ALEATORIC, BRIER, ENTROPY, EPISTEMIC, NLL, PREDICTION, Measure
from uq_report.core.model.results import Importance
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.statistics.inference import member_variance, pooled_error
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import UnsupportedError
from uq_report.core.traits.stochastic import Members
from uq_report.distributions import Categorical, CategoricalMixture, Mixture, Normal, NormalMixture, Poisson
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.calibration.explain import Calibration
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shared.members import unbiased

THREE = CategoricalMixture([[[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]], [[0.7, 0.3], [0.7, 0.3], [0.4, 0.6]]])
MEASURES = {m.name: m for m in (PREDICTION, BRIER, NLL, ENTROPY, ALEATORIC, EPISTEMIC)}
SLOPES = np.array([1.0, 0.6, 0.0])


def noisy_classes(X: Any) -> Categorical:
    """A logistic model whose slopes are drawn in each call."""
    slopes = SLOPES + 0.8 * np.random.normal(size=3)  # noqa: NPY002 - the global stream is what is read
    p = 1 / (1 + np.exp(-np.asarray(X, dtype=float) @ slopes))
    return Categorical(np.column_stack([1 - p, p]), classes=[0, 1])


def noisy_numbers(X: Any) -> Normal:
    slopes = SLOPES + 0.8 * np.random.normal(size=3)  # noqa: NPY002
    return Normal(np.asarray(X, dtype=float) @ slopes, np.exp(0.2 * np.asarray(X)[:, 0]))


def subject(model: Callable[[Any], Distribution], members: int, seed: int, n: int = 60) -> Subject:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    signal = X @ SLOPES
    y = (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(int) if model is noisy_classes else signal
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return make_subject(model, Members(FunctionAdapter(), members, seed, n), frame, y)


def importance(s: Subject, seed: int = 0, **options: Any) -> Importance:
    engine = Engine(s, MEASURES, seed=seed)
    given: dict[str, Any] = {"measures": ("nll", "entropy", "decomposition"), "n_repeats": 6, "train": False}
    found = PermutationImportance(**given | options).explain(s, engine, {})[0]
    assert isinstance(found, Importance)
    return found


def test_exact_numbers_of_three_members() -> None:
    left = np.array([q.entropy().mean() for q in THREE.leave_one_out()])
    assert THREE.entropy().mean() == pytest.approx(0.683079, abs=1e-6)
    np.testing.assert_allclose(left, [0.667793, 0.688139, 0.610864], atol=1e-6)
    assert member_variance(left) == pytest.approx(0.002139, abs=1e-6)


@pytest.mark.parametrize("measure", list(MEASURES.values()), ids=lambda m: m.name)
def test_a_mixture_of_classes_without_a_member_is_that_of_the_others(measure: Measure) -> None:
    rng = np.random.default_rng(0)
    members, y = rng.dirichlet(np.ones(3), size=(40, 6)), rng.integers(3, size=40)
    q = CategoricalMixture(members, classes=["a", "b", "c"], positive=1)
    for k, other in enumerate(q.take(np.arange(10, 30)).leave_one_out()):
        direct = CategoricalMixture(np.delete(members, k, axis=1)[10:30], classes=["a", "b", "c"], positive=1)
        np.testing.assert_allclose(
            measure.rows(other, y[10:30], None), measure.rows(direct, y[10:30], None), atol=1e-12
        )


def test_a_mixture_of_normals_without_a_member_is_that_of_the_others() -> None:
    """All is exact but the entropy, which is right to first order in the weight: so is its spread over members."""
    rng = np.random.default_rng(1)
    means, stds = rng.normal(size=(50, 1)) + 0.7 * rng.normal(size=(50, 20)), np.exp(0.3 * rng.normal(size=(50, 20)))
    left = NormalMixture(means, stds).leave_one_out()
    direct = [NormalMixture(np.delete(means, k, 1), np.delete(stds, k, 1)) for k in range(20)]
    for one, other in zip(left, direct, strict=True):
        for name in ("mean", "variance", "aleatoric"):
            np.testing.assert_allclose(getattr(one, name)(), getattr(other, name)(), atol=1e-12)
        np.testing.assert_allclose(one.log_prob(means[:, 0]), other.log_prob(means[:, 0]), atol=1e-12)
        np.testing.assert_allclose(one.entropy(), one.aleatoric() + one.epistemic(), atol=1e-12)
    first, exact = (member_variance(np.array([q.entropy().mean() for q in every])) for every in (left, direct))
    assert first == pytest.approx(exact, rel=0.2)


def test_what_cannot_do_without_a_member_says_so() -> None:
    mixture = Mixture([Poisson([1.0]), Poisson([2.0])])
    assert "leave_one_out" not in mixture.supports
    assert "leave_one_out" in THREE.supports & NormalMixture([[0.0, 1.0]], [[1.0, 1.0]]).supports
    with pytest.raises(UnsupportedError, match="leave_one_out"):
        mixture.leave_one_out()


def without(s: Subject, k: int, members: int) -> Subject:
    """The subject whose model is the mixture of all members but one, drawn as before."""

    class Others(Members):
        def predict(self, model: Any, X: Any) -> Distribution:
            drawn = super().predict(model, X)
            assert isinstance(drawn, CategoricalMixture | NormalMixture)
            return drawn.leave_one_out()[k]

    return make_subject(s.model, Others(FunctionAdapter(), members, 3, s.n), s.X, s.y)


@pytest.mark.parametrize("exact", [False, True])
def test_the_error_is_that_of_importances_without_each_member(exact: bool) -> None:
    """Brute force: the importance of each mixture of the other members, from the same shuffles."""
    members = 4
    s = subject(noisy_classes, members, 3, n=25)
    found = importance(s, exact=exact).estimates.set_index(["measure", "feature"])
    left = [importance_of(without(s, k, members), exact=exact) for k in range(members)]
    drawn = np.sqrt(member_variance(np.array([one.reindex(found.index).to_numpy() for one in left])))
    alone = importance_of(without(s, 0, members), exact=exact, column="std_error")
    assert (found["std_error"] >= drawn - 1e-12).all()
    assert len(alone) == len(found)
    rows = np.sqrt(np.maximum(np.square(found["std_error"]) - drawn**2, 0.0))
    reach = stats.t.ppf(0.975, pooled_error([rows.to_numpy(), drawn], (24, members - 1))[1]) * found["std_error"]
    np.testing.assert_allclose(found["upper"] - found["estimate"], reach, rtol=1e-6)
    assert set(found["covers"]) == {"new test samples and new draws of 4 members"}


def importance_of(s: Subject, *, exact: bool, column: str = "estimate") -> pd.Series:
    """Return a column of importances of a model that is fixed."""
    engine = Engine(s, MEASURES, seed=0)
    explainer = PermutationImportance(("nll", "entropy", "decomposition"), n_repeats=6, train=False, exact=exact)
    return explainer.explain(s, engine, {})[0].estimates.set_index(["measure", "feature"])[column]


def test_levels_are_those_of_many_members() -> None:
    """H + I/(K-1) and I K/(K-1): over draws of five members a small part of the bias is left, the identity stays."""
    rng, names = np.random.default_rng(0), ("entropy", "aleatoric", "epistemic")

    def means(members: int, draws: int) -> FloatArray:
        p = 1 / (1 + np.exp(-rng.normal(0.5, 0.8, size=(draws, members))))
        q = CategoricalMixture(np.stack([1 - p, p], axis=2))
        return np.array([getattr(q, name)().mean() for name in names])

    truth, plain = means(2000, 200), means(5, 20_000)
    levels = unbiased(names, plain, 5)
    assert np.abs(levels - truth)[[0, 2]].max() < 0.003
    assert (np.abs(plain - truth)[[0, 2]] > 0.01).all()
    assert levels[0] == pytest.approx(levels[1] + levels[2])
    np.testing.assert_array_equal(unbiased(names, plain, 0), plain)


def test_a_fixed_model_has_no_part_of_members() -> None:
    s = subject(noisy_classes, 4, 0)
    fixed = make_subject(lambda X: Categorical(np.tile([0.4, 0.6], (len(X), 1))), FunctionAdapter(), s.X, s.y)
    found = importance_result_of(fixed)
    assert set(found.estimates["covers"]) == {"new test samples"}
    assert "Intervals cover new test samples for the fixed model." in found.notes


def importance_result_of(s: Subject) -> Importance:
    return importance(s, measures=("nll", "entropy"))


def test_the_notes_say_what_is_covered_and_how_many_members_are_needed() -> None:
    notes = " ".join(importance(subject(noisy_classes, 4, 3, n=200)).notes)
    assert "Intervals cover new test samples and new draws of 4 members" in notes
    assert "this fixed model" not in notes
    assert "members it would contribute a quarter of the variance due to the observations." in notes


@pytest.mark.parametrize("model", [noisy_classes, noisy_numbers])
def test_scores_cover_new_draws(model: Callable[[Any], Distribution]) -> None:
    members = 5
    s = subject(model, members, 1, n=100)
    engine = Engine(s, MEASURES).bound("calibration")
    found = Calibration(n_draws=99).explain(s, engine, {})[0].estimates.set_index("item")
    q, y = engine.baseline, engine.y
    assert y is not None
    others = q.leave_one_out()
    for item, measure in (("log_score", NLL), ("sharpness_entropy", ENTROPY)):
        if item not in found.index:
            continue
        rows = measure.rows(q, y, None)
        left = np.array([measure.rows(other, y, None).mean() for other in others])
        error = np.sqrt(rows.var(ddof=1) / s.n + member_variance(left))
        assert found.loc[item, "std_error"] == pytest.approx(error)
        assert found.loc[item, "covers"] == "new test samples and new draws of 5 members"


def test_the_freedom_of_a_mean_is_pooled() -> None:
    values, left = np.array([1.0, 2.0, 4.0, 5.0]), np.array([2.0, 3.0, 4.0])
    plain = Sampling(np.full(4, 0.25), units=4)
    both = plain.over_draws(values, left)
    rows, drawn = values.var(ddof=1) / 4, 2 / 3 * 2.0
    assert plain.freedom == 3
    assert both.mean(values)[1] == pytest.approx(np.sqrt(rows + drawn))
    assert both.freedom == pytest.approx((rows + drawn) ** 2 / (rows**2 / 3 + drawn**2 / 2))
    lower, upper = both.interval(3.0, 1.0, 0.95)
    assert upper - lower == pytest.approx(2 * stats.t.ppf(0.975, both.freedom))


@pytest.mark.study
def test_intervals_cover_fresh_draws_and_rows() -> None:
    """Of 10 members, whose draw is most of the variance of the loss."""
    truth = pd.concat([level(seed) for seed in range(10_000, 10_150)], axis=1).mean(axis=1)
    held: list[FloatArray] = []
    for seed in range(100):
        found = importance(subject(noisy_classes, 10, seed, n=250), seed).estimates.set_index(["measure", "feature"])
        covered = (found["lower"] <= truth) & (truth <= found["upper"])
        held.append(np.asarray(covered, dtype=np.float64))
    assert np.mean(held, axis=0).min() > 0.85


def level(seed: int) -> pd.Series:
    found = importance(subject(noisy_classes, 10, seed, n=400), seed, n_repeats=3)
    return found.estimates.set_index(["measure", "feature"])["estimate"]
