"""R-sens of members and mixture: the chain rule of information, F(y, m) = F(y) + E F(m | y), on closed forms.

The members' information is the weighted mean of their own, that of the mixture is its Fisher information, and what
is hidden is the expected information of the posterior over the members, each computed here from its definition.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp, softmax
from scipy.stats import norm

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.divergence import Order, divergence, divergences_of_members, in_cells, sensitivity
from uq_report.core.model.results import Result
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import AnyArray, FloatArray, Table
from uq_report.distributions import Categorical, CategoricalMixture, Laplace, Mixture, Normal, NormalMixture, StudentT
from uq_report.evidence import ids
from uq_report.inputs.adapters.function import FunctionAdapter
from uq_report.methods.rsens.estimator import hidden_length, joint_table
from uq_report.methods.rsens.explain import RSens

RNG = np.random.default_rng(8)
X = RNG.normal(size=(30, 2))
SHARES = np.array([0.2, 0.3, 0.5])
SLOPES = RNG.normal(size=(3, 2))
OFFSETS = np.array([0.5, -1.0, 0.0])
Model = Callable[[Table], Distribution]


def results(model: Model, **options: Any) -> dict[str, Result]:
    engine = Engine(make_subject(model, FunctionAdapter(), X), testing.measures(), seed=0).bound("rsens")
    explainer = RSens(interactions=False, comparators=False, shared_unit=True, **options)
    return {r.id: r for r in explainer.explain(engine.subject, engine, {})}


def rows_of(model: Model, **options: Any) -> dict[str, FloatArray]:
    """The values of rows of the three measures, (rows, features), per unit of x."""
    members = results(model, **options)[ids.RSENS_MEMBERS].rows
    assert members is not None
    return {m: np.stack([members.of(m, f) for f in members.features], axis=1) for m in members.measures}


def two_classes(T: Table) -> Distribution:
    p = expit(np.asarray(T) @ SLOPES.T + OFFSETS)
    return CategoricalMixture(np.stack([1 - p, p], axis=2), weights=SHARES)


def test_of_two_classes_by_hand() -> None:
    p = expit(X @ SLOPES.T + OFFSETS)
    slope = (p * (1 - p))[:, :, None] * SLOPES
    members = np.einsum("m,nmd,nm->nd", SHARES, slope**2, 1 / (p * (1 - p)))
    mean, mean_slope = p @ SHARES, np.einsum("m,nmd->nd", SHARES, slope)
    mixture = mean_slope**2 / (mean * (1 - mean))[:, None]
    own = rows_of(two_classes)
    np.testing.assert_allclose(own["rsens_members"] ** 2, members, rtol=1e-7)
    np.testing.assert_allclose(own["rsens"] ** 2, mixture, rtol=1e-7)
    np.testing.assert_allclose(own["rsens_hidden"] ** 2, members - mixture, rtol=1e-6)


def test_what_is_hidden_of_classes_is_the_information_of_the_posterior() -> None:
    W = RNG.normal(size=(3, 2, 4))

    def model(T: Table) -> Distribution:
        return CategoricalMixture(softmax(np.einsum("nd,mdk->nmk", np.asarray(T), W), axis=2), weights=SHARES)

    def log_posterior(T: FloatArray) -> FloatArray:
        joint = SHARES[:, None] * softmax(np.einsum("nd,mdk->nmk", T, W), axis=2)
        return np.asarray(np.log(joint / joint.sum(axis=1, keepdims=True)))

    joint = SHARES[:, None] * softmax(np.einsum("nd,mdk->nmk", X, W), axis=2)
    h = 1e-5 * np.eye(2)
    scores = [(log_posterior(X + h[d]) - log_posterior(X - h[d])) / 2e-5 for d in (0, 1)]
    expected = np.sqrt(np.stack([(joint * score**2).sum(axis=(1, 2)) for score in scores], axis=1))
    np.testing.assert_allclose(rows_of(model)["rsens_hidden"], expected, rtol=1e-6)


# ---------------------------------------------------------------- mixtures of densities


def normals(T: Table) -> Distribution:
    rows = np.asarray(T)
    return NormalMixture(rows @ SLOPES.T + OFFSETS, np.exp(0.3 * rows @ SLOPES.T), SHARES)


def components(T: Table) -> Distribution:
    rows = np.asarray(T)
    return Mixture([Normal(rows @ SLOPES[0], 1.0), Laplace(rows @ SLOPES[1] + 1, 0.8), StudentT(9.0, rows[:, 1], 1.5)])


def information(log_joint: Callable[[FloatArray, FloatArray], FloatArray], row: FloatArray) -> tuple[float, float]:
    """Fisher information of (y, m) and of y about the first feature, by the trapezoid rule over y."""
    y, h = np.linspace(-25, 25, 20001), np.array([1e-4, 0.0])
    log_here = log_joint(row, y)
    score = (log_joint(row + h, y) - log_joint(row - h, y)) / 2e-4
    mixed = (softmax(log_here, axis=0) * score).sum(axis=0)  # E[score of y and m | y]
    density = np.exp(log_here) * (y[1] - y[0])
    return (density * score**2).sum(), (density.sum(axis=0) * mixed**2).sum()


def log_normals(row: FloatArray, y: FloatArray) -> FloatArray:
    mean, std = SLOPES @ row + OFFSETS, np.exp(0.3 * SLOPES @ row)
    return np.asarray(np.log(SHARES)[:, None] + norm.logpdf(y, mean[:, None], std[:, None]))


def test_normal_mixtures_come_to_the_fisher_information_of_outcome_and_member() -> None:
    """For small steps KL is half of the information times the step squared, and order 1/2 half of that.

    The mixture is compared in many cells.
    """
    h, levels = 1e-3, np.linspace(0, 1, 4001)[1:-1]
    for row in X[:4]:
        here, there = (normals(row[None] + np.array([[move, 0.0]])) for move in (0, h))
        edges = here.quantile(levels)[0]
        joint, half = divergences_of_members(here.members(), there.members())
        mixed = divergence(in_cells(here, edges), in_cells(there, edges), "kl")
        members, mixture = information(log_normals, row)
        assert 2 * joint[0] / h**2 == pytest.approx(members, rel=5e-3)
        assert 4 * half[0] / h**2 == pytest.approx(members, rel=5e-3)
        assert 2 * mixed[0] / h**2 == pytest.approx(mixture, rel=5e-3)
        assert members > 1.05 * mixture


@pytest.mark.parametrize("model", [two_classes, components], ids=["classes", "mixture"])
def test_the_chain_rule_of_kl_and_of_order_one_half(model: Model) -> None:
    """What the joint diverges more is the divergence of the posteriors over the members, given the outcome."""
    p, q = model(X[:3]), model(X[:3] + 0.7)
    joint = divergences_of_members(p.members(), q.members())
    for i in range(3):
        y, step = (np.arange(2), 1.0) if p.discrete else (np.linspace(-60, 60, 240001), 120 / 240000)
        one, other = (np.stack(logs_of_members(dist, i, y)) for dist in (p, q))
        before, after = log_softmax(one, axis=0), log_softmax(other, axis=0)
        posterior = (np.exp(one) * (before - after)).sum() * step
        tilted = softmax((logsumexp(one, axis=0) + logsumexp(other, axis=0)) / 2)
        affinity = (tilted * np.exp((before + after) / 2).sum(axis=0)).sum()
        assert joint[0][i] - p.kl(q)[i] == pytest.approx(posterior, rel=1e-5)
        assert joint[1][i] - p.renyi_half(q)[i] == pytest.approx(-2 * np.log(affinity), rel=1e-5)


def logs_of_members(dist: Distribution, row: int, y: AnyArray) -> list[FloatArray]:
    pairs = list(dist.members())
    total = sum(weight for weight, _ in pairs)
    return [np.log(w / total) + member.take(np.full(len(y), row)).log_prob(y) for w, member in pairs]


@pytest.mark.parametrize("model", [two_classes, normals, components], ids=["classes", "normals", "mixture"])
def test_one_step_to_either_side(model: Model) -> None:
    """A step function of x: finite steps, whose squares add up at each of the two moves."""

    def stairs(T: Table) -> Distribution:
        return model(np.floor(np.asarray(T) * 3) / 3)

    own, reach, base = rows_of(stairs, step=0.6), 0.6 * X[:, 0].std(), stairs(X)
    order: Order = "half" if isinstance(base, NormalMixture) else "kl"  # some member gives a cell no probability
    words = {"kl": "finite-step form √(2 KL)", "half": "finite-step form √(4 D½)"}
    assert words[order] in results(stairs, step=0.6)[ids.RSENS].meta["method"]
    if isinstance(base, NormalMixture):
        spread = base.quantile(np.linspace(0.02, 0.98, 25)).ravel()
        edges = np.unique(np.quantile(spread, np.linspace(0, 1, 63)))
    expected = np.zeros((3, len(X)))
    for sign in (1, -1):
        pair = [base, stairs(X + np.array([sign * reach, 0.0]))]
        if isinstance(base, NormalMixture):
            pair = [in_cells(dist, edges) for dist in pair]
        joint = divergences_of_members(pair[0].members(), pair[1].members())[order == "half"]
        mixed = divergence(pair[0], pair[1], order)
        expected += sensitivity(np.array([joint, mixed, np.maximum(joint - mixed, 0)]), order) / 2 / reach
    found = [own[m][:, 0] for m in ("rsens_members", "rsens", "rsens_hidden")]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-4)


# ---------------------------------------------------------------- invariances


def with_members(order: list[int], weights: FloatArray | None = None) -> dict[str, Model]:
    """Models of members in an order, which may name one twice."""
    shares = SHARES[order] if weights is None else weights

    def classes(T: Table) -> Distribution:
        p = expit((np.asarray(T) @ SLOPES.T + OFFSETS)[:, order])
        return CategoricalMixture(np.stack([1 - p, p], axis=2), weights=shares)

    def densities(T: Table) -> Distribution:
        means = (np.asarray(T) @ SLOPES.T + OFFSETS)[:, order]
        return NormalMixture(means, np.ones_like(means), shares)

    return {"classes": classes, "densities": densities}


@pytest.mark.parametrize("kind", ["classes", "densities"])
def test_neither_the_order_of_the_members_nor_the_halves_of_one_change_anything(kind: str) -> None:
    plain = rows_of(with_members([0, 1, 2])[kind])
    turned = rows_of(with_members([2, 0, 1])[kind])
    halved = rows_of(with_members([0, 1, 2, 1], np.array([0.2, 0.1, 0.5, 0.2]))[kind])
    none = rows_of(with_members([0, 1, 2, 0], np.array([0.2, 0.3, 0.5, 0.0]))[kind])
    for other in (turned, halved, none):
        for measure, values in plain.items():
            np.testing.assert_allclose(other[measure], values, rtol=1e-6, atol=1e-6, err_msg=measure)


@pytest.mark.parametrize("kind", ["classes", "densities"])
def test_members_that_are_alike_hide_nothing(kind: str) -> None:
    own = rows_of(with_members([1, 1, 1])[kind])
    assert np.abs(own["rsens_hidden"]).max() <= (1e-12 if kind == "classes" else 0)
    np.testing.assert_allclose(own["rsens_members"], own["rsens"], rtol=1e-12)
    assert own["rsens"].min() > 0


def test_members_that_move_against_each_other_hide_everything() -> None:
    def model(T: Table) -> Distribution:
        p = expit(np.asarray(T)[:, 0])
        return CategoricalMixture(np.stack([[1 - p, p], [p, 1 - p]]).transpose(2, 0, 1))

    own = rows_of(model)
    np.testing.assert_allclose(own["rsens"], 0, atol=1e-10)
    np.testing.assert_allclose(own["rsens_hidden"][:, 0], own["rsens_members"][:, 0], rtol=1e-10)
    p = expit(X[:, 0])
    np.testing.assert_allclose(own["rsens_hidden"][:, 0], np.sqrt(p * (1 - p)), rtol=1e-8)


def test_members_far_apart_that_move_alike_hide_nothing_and_near_ones_do() -> None:
    def apart(distance: float) -> Model:
        def model(T: Table) -> Distribution:
            centre = np.asarray(T)[:, :1]
            return Mixture([Normal((centre + s * distance / 2)[:, 0], 1.0) for s in (-1, 1)])

        return model

    far, near = (rows_of(apart(d))["rsens_hidden"][:, 0] for d in (40.0, 2.0))
    assert np.abs(far).max() < 1e-3
    assert near.min() > 0.3


# ---------------------------------------------------------------- edges


def test_infinite_divergences_of_members_alone_change_the_order_for_all() -> None:
    """Trees: a member jumps from 0 to 1, the mixture does not."""

    def model(T: Table) -> Distribution:
        up = (np.asarray(T)[:, :1] > [[-0.5, 0.0, 0.5]]).astype(float)
        p = np.column_stack([up, np.full(len(up), 0.5)])
        return CategoricalMixture(np.stack([1 - p, p], axis=2))

    found = results(model, step=0.4)
    assert "Rényi divergence of order 1/2" in found[ids.RSENS].meta["method"]
    assert any("KL is infinite for members" in note for note in found[ids.RSENS].notes)
    own, reach = rows_of(model, step=0.4), 0.4 * X[:, 0].std()
    flips = [np.abs(np.diff(np.stack([at(s * reach), at(0.0)]), axis=0)[0]).sum(axis=1) / 4 for s in (1, -1)]
    expected = sum(np.sqrt(-8 * np.log(1 - share)) for share in flips) / 2 / reach
    np.testing.assert_allclose(own["rsens_members"][:, 0], expected, rtol=1e-12)


def at(shift: float) -> FloatArray:
    return (X[:, :1] + shift > [[-0.5, 0.0, 0.5]]).astype(float)


def test_a_member_that_leaves_0_has_infinite_information() -> None:
    p, slope = np.array([[[0.5, 0.0], [0.25, 0.25]]]), np.array([[[-0.1, 0.1], [0.0, 0.0]]])
    assert hidden_length(p, slope)[0] == np.inf
    assert hidden_length(p, np.array([[[0.0, 0.0], [-0.1, 0.1]]]))[0] == pytest.approx(
        np.sqrt(0.5 * (0.1 / 0.75) ** 2 + 0.25 * (0.4 - 0.1 / 0.75) ** 2)
    )


def test_members_hold_the_mixture_together() -> None:
    for dist in (two_classes(X), normals(X), components(X)):
        pairs = list(dist.members())
        weights = np.array([weight for weight, _ in pairs]) / sum(weight for weight, _ in pairs)
        np.testing.assert_allclose(weights @ [member.mean() for _, member in pairs], dist.mean(), rtol=1e-12)
    table = joint_table(two_classes(X)).probabilities.reshape(30, 3, 2)
    np.testing.assert_allclose(table.sum(axis=1), two_classes(X).parameters, rtol=1e-12)
    np.testing.assert_allclose(table.sum(axis=2), np.tile(SHARES, (30, 1)), rtol=1e-12)


def test_cells_of_a_mixture_have_the_cells_of_its_members() -> None:
    edges = np.array([-1.0, 0.0, 2.0])
    cells = in_cells(normals(X), edges)
    assert isinstance(cells, CategoricalMixture)
    for (_, table), (_, member) in zip(cells.members(), normals(X).members(), strict=True):
        np.testing.assert_allclose(table.parameters, in_cells(member, edges).probabilities, rtol=1e-12)
    assert type(in_cells(Normal(X[:, 0], 1.0), edges)) is Categorical
