"""How a penalty is found and a precision fitted, and what estimators make of it, against sums of their own."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import OAS, graphical_lasso

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.methods.cid import cid as textbook, estimate, precision
from uq_report.methods.cid.cid import InformationTerms, UnfitError
from uq_report.methods.cid.correction import CoverCorrection
from uq_report.methods.cid.estimate import InformationEstimate, _with_copies
from uq_report.methods.cid.explain import _graph

from .pfi_cases import MEASURES, subject
from .test_cid_solver import covariances
from .test_cid_terms import data, flat


def engine(n: int = 40) -> Engine:
    return Engine(subject(flat, np.arange(2.0 * n).reshape(n, 2), np.arange(n)), MEASURES)


def columns(n: int, d: int = 3) -> FloatArray:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.7 * np.triu(np.ones((d, d)), 1))
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def test_each_penalty_is_scored_by_the_rows_left_out_of_all_folds() -> None:
    """log det T - tr(S_left_out T), averaged over folds, at scikit-learn's answers."""
    S, left = covariances(2, 3), covariances(4, 3)[2:]
    first, second = (precision._solved(S, left, penalty, []) for penalty in (0.4, 0.1))
    for found, penalty in ((first, 0.4), (second, 0.1)):
        answers = np.stack([graphical_lasso(s, alpha=penalty)[1] for s in S])
        fit = [np.linalg.slogdet(T)[1] - np.trace(rest @ T) for T, rest in zip(answers, left, strict=True)]
        assert found.penalty == penalty
        np.testing.assert_allclose(found.precision, answers, atol=5e-3 * np.abs(answers).max())
        assert found.score == pytest.approx(np.mean(fit), abs=1e-2)


def test_each_penalty_begins_at_the_nearest_that_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = [True, True]

    def solved(S: Any, penalties: Any, start: Any) -> Any:
        return SimpleNamespace(precision=start.copy(), proven=np.array(proven))

    monkeypatch.setattr(precision, "graphical_lassos", solved)
    S = covariances(2, 3)
    near = [precision._Tried(p, np.stack([p * np.eye(3)] * 2), 0.0) for p in (4.0, 0.5)]
    starts = [precision._solved(S, S, penalty, near).precision[:, 0, 0].tolist() for penalty in (3.0, 1.0)]
    assert starts == [[4.0, 4.0], [0.5, 0.5]]
    proven[1] = False
    failed = precision._solved(S, S, 3.0, near)
    assert failed.score == -np.inf
    assert failed.precision[0, 0, 0] == 4.0
    assert failed.precision[1].tolist() == np.diag(1 / np.diag(S[1])).tolist()


Scores = Callable[[float], float]


def searched(n: int, score: Scores, monkeypatch: pytest.MonkeyPatch) -> tuple[float, list[float], Any]:
    """Return the penalty found, what was tried, and the covariances of the folds."""
    asked: list[float] = []
    seen: list[Any] = []

    def solved(S: Any, left: Any, penalty: float, tried: Any) -> precision._Tried:
        seen.append((S, left))
        asked.append(penalty)
        return precision._Tried(penalty, np.full((len(S), 1, 1), penalty), score(penalty))

    monkeypatch.setattr(precision, "_solved", solved)
    best, start = precision._by_folds(columns(n), engine())[:2]
    assert start.shape == (1, 1, 1)
    assert start.item() == pytest.approx(best)
    return best, asked, seen[0]


@pytest.mark.parametrize(("n", "folds"), [(40, 5), (10, 5), (9, 4), (5, 2), (3, 2)])
def test_every_row_is_left_out_once(n: int, folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scatter within both parts of a fold, less that of all rows, is that of their two means: of rank 1."""
    _, _, (S, left) = searched(n, lambda p: -p, monkeypatch)
    assert len(S) == len(left) == folds
    Z = columns(n)
    if n % folds == 0:
        for fit, rest in zip(S, left, strict=True):
            between = n * np.cov(Z, rowvar=False, bias=True) - (n - n // folds) * fit - n // folds * rest
            values = np.linalg.eigvalsh(between)
            assert values[-1] > 0
            np.testing.assert_allclose(values[:-1], 0, atol=1e-10)


def test_the_search_goes_round_the_best_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = columns(40)
    largest = np.abs((Z.T @ Z / 40)[np.triu_indices(3, 1)]).max()
    aim = 0.07 * largest
    best, asked, _ = searched(40, lambda p: -abs(np.log(p / aim)), monkeypatch)
    rounds = np.reshape(asked, (4, 4))
    np.testing.assert_allclose(rounds[0], largest * np.array([1, 0.01 ** (1 / 3), 0.01 ** (2 / 3), 0.01]))
    low, high = 0.01 * largest, 0.01 ** (1 / 3) * largest
    assert ((low < rounds[1:]) & (rounds[1:] < high)).all()
    np.testing.assert_allclose(np.diff(np.log(rounds[1])), -np.log(high / low) / 5)
    assert best == pytest.approx(aim, rel=0.02)
    level, _, _ = searched(40, lambda _: 1.0, monkeypatch)
    assert level < 1e-4 * largest, "of equal scores the smallest penalty"
    with pytest.raises(UnfitError, match=r"got cross-validation: no penalty has an answer in every fold"):
        searched(40, lambda _: -np.inf, monkeypatch)


def test_a_given_penalty_and_a_given_graph_are_used_as_they_are() -> None:
    Z = columns(60)
    S = Z.T @ Z / 60
    found, facts = precision.by_lasso(Z, 0.2, engine())
    np.testing.assert_allclose(found, graphical_lasso(S, alpha=0.2)[1], atol=5e-3)
    assert (facts["penalty"], facts["graph"]) == (0.2, "lasso")
    one, facts = precision.by_lasso(Z[:, :1], None, engine())
    assert one.item() == pytest.approx(1.0)
    assert facts == {"penalty": None, "graph": "one column"}
    edges = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]], dtype=bool)  # y last, not among rows
    chain, facts = precision.by_graph(Z, edges)
    assert (chain[0, 2], chain[2, 0], facts["graph"]) == (0.0, 0.0, "given")
    moments = np.linalg.inv(chain)
    np.testing.assert_allclose(moments[edges[:3, :3]], S[edges[:3, :3]], atol=1e-9)
    shrunk, facts = precision.by_shrinkage(Z)
    oas = OAS(assume_centered=True).fit(Z)
    np.testing.assert_allclose(shrunk, oas.precision_)
    assert facts["graph"] == f"all pairs, covariance shrunk by {oas.shrinkage_:.2g} (oracle approximation)"


def classes(n: int = 90) -> tuple[FloatArray, Any]:
    rng, y = np.random.default_rng(8), np.arange(n) % 3
    return rng.normal(size=(n, 2)) @ np.array([[2.0, 3.0], [0.0, 0.5]]) + np.array([5.0, -7.0]) + y[:, None], y


def plain(Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
    return np.asarray(np.linalg.inv(Z.T @ Z / len(Z)), dtype=float), {"graph": "all pairs"}


def test_classes_share_the_covariance_within_them() -> None:
    """log p(y | x_S) and the terms by Bayes' rule with the pooled covariance of the columns as they are."""
    X, y = classes()
    found = estimate.mixed_estimate(data(X[:, 0], X[:, 1], y=y, classes=True), plain, ())
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    pooled = np.cov(X - means[y], rowvar=False, bias=True)

    def posterior(at: list[int]) -> FloatArray:
        joint = np.stack([multivariate_normal(m[at], pooled[np.ix_(at, at)]).logpdf(X[:, at]) for m in means])
        return np.asarray(joint[y, np.arange(len(y))] - np.log(np.exp(joint).sum(axis=0)))

    for at in ([0], [1], [0, 1]):
        np.testing.assert_allclose(found.log_p(tuple(at)), posterior(at), rtol=1e-6)
    for i in (0, 1):
        np.testing.assert_allclose(found.terms.mutual[:, i], posterior([i]) + np.log(3), rtol=1e-6)
        np.testing.assert_allclose(found.terms.conditional[:, i], posterior([0, 1]) - posterior([1 - i]), rtol=1e-6)
    assert found.links.shape == (3, 3)
    assert found.links[0, 1] == pytest.approx(pooled[0, 1] / np.sqrt(pooled[0, 0] * pooled[1, 1]))
    assert not found.links[2].any(), "y is tied to every feature by its means, not by an edge"
    np.testing.assert_array_equal(found.related, np.ones((2, 2), dtype=bool))


@pytest.mark.parametrize(("spread", "fits"), [(2e-9, True), (1e-10, False)])
def test_a_column_that_is_the_class_does_not_fit(spread: float, fits: bool) -> None:
    X, y = classes()
    column = y + spread * np.where(np.arange(len(y)) % 2, 1, -1)
    of = data(X[:, 0], column, y=y, classes=True)
    if fits:
        assert estimate.mixed_estimate(of, plain, ()).features == ("a", "b")
    else:
        with pytest.raises(UnfitError, match="got b constant in each"):
            estimate.mixed_estimate(of, plain, ())


@pytest.mark.parametrize("half", [True, False])
def test_a_copula_is_the_normal_of_scores(half: bool) -> None:
    X, _ = classes()
    y = X.sum(axis=1) + np.random.default_rng(9).normal(size=len(X))
    found = estimate.copula_estimate(data(np.exp(X[:, 0] / 5), X[:, 1], y=y), plain, ("A doubt.",), half=half)
    Z = textbook.normal_scores(np.column_stack([X, y]))
    S = Z.T @ Z / len(Z)
    terms = (textbook.half_potential_terms if half else textbook.gaussian_terms)(
        Z, np.asarray(np.linalg.inv(S), dtype=float)
    )
    np.testing.assert_allclose(found.terms.conditional, terms.conditional)
    np.testing.assert_allclose(found.terms.mutual.mean(axis=0), -0.5 * np.log(1 - S[:2, 2] ** 2), atol=1e-9)
    left = S[2, 2] - S[2, :2] @ np.linalg.solve(S[:2, :2], S[:2, 2])
    assert found.mean_log_p((0, 1)) == pytest.approx(-0.5 * np.log(left), rel=1e-6)
    assert found.related.shape == (2, 2)
    assert found.notes[1:2] == ("A doubt.",)
    assert (len(found.notes) == 3) is half


def test_given_a_copy_nothing_is_left() -> None:
    """b repeats a: both have all of the information and none beside the other, and one stands in for the other."""
    asked: list[tuple[int, ...]] = []

    def log_p(chosen: tuple[int, ...]) -> Any:
        asked.append(chosen)
        return np.zeros(2)

    mutual, conditional = np.array([[0.3, 0.1], [0.5, 0.2]]), np.array([[0.2, 0.05], [0.1, 0.04]])
    related = np.array([[True, False], [False, True]])
    one = InformationEstimate(
        ("a", "c"),
        InformationTerms(mutual, conditional),
        "",
        np.eye(3),
        log_p,
        lambda chosen: float(len(chosen)),
        related,
        (),
        {},
    )
    found = _with_copies(one, ("a", "b", "c"), {"b": "a"})
    assert found.terms.mutual.tolist() == mutual[:, [0, 0, 1]].tolist()
    assert found.terms.conditional.tolist() == [[0.0, 0.0, 0.05], [0.0, 0.0, 0.04]]
    found.log_p((1, 0))
    found.log_p((2, 1))
    assert asked == [(0,), (0, 1)]
    assert found.mean_log_p((0, 1, 2)) == 2
    assert found.related.tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert found.notes == ("b repeats a exactly: its covered share is 100%.",)
    assert _with_copies(one, ("a", "c"), {}) is one


def test_log_p_of_cells_is_a_logistic_regression_of_this_penalty() -> None:
    """At its least, what is missing of the rows of level 0 is the penalty times the weight of level 0."""
    codes, penalty = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5, 2, 1, 4], axis=0), 3.0
    p = np.exp(textbook.discrete_log_p(codes, penalty)((0,)))
    first, second = p[5], p[8]  # of class 1 at level 0 and at level 1
    weight = (np.log(first / (1 - first)) - np.log(second / (1 - second))) / 2
    assert 2 - 7 * first == pytest.approx(penalty * weight, abs=1e-4)


def test_one_repeat_is_enough_and_none_is_too_few() -> None:
    assert CoverCorrection(n_repeats=1).n_repeats == 1
    for n in (0, True):
        with pytest.raises(InputError, match=r"cover\.n_repeats must be an integer >= 1"):
            CoverCorrection(n_repeats=n)


@pytest.mark.parametrize(
    ("estimator", "meaning"), [(estimate.DISCRETE, "largest pair potential"), ("", "partial correlation")]
)
def test_the_graph_has_an_edge_for_every_link_and_no_node_for_a_copy(estimator: str, meaning: str) -> None:
    links = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, -0.2], [0.0, -0.2, 0.0]])
    terms = InformationTerms(np.zeros((2, 3)), np.zeros((2, 3)))
    made = InformationEstimate(
        ("a", "b", "c"), terms, estimator, links, lambda _: np.zeros(2), lambda _: 0.0, np.eye(3, dtype=bool), (), {},
        copies={"b": "a"},
    )  # fmt: skip
    found = _graph(made)
    assert found.frame[["feature", "item", "value"]].to_numpy().tolist() == [["a", "c", 0.5], ["c", "y", -0.2]]
    assert found.meta == {"nodes": ["a", "c", "y"], "edge": meaning}
    assert [(gap.feature, gap.reason) for gap in found.omissions] == [("b", "it repeats a exactly, and has its place")]
