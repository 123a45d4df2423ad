"""Bad parameters, labels and targets are refused with what is wrong, where, and what to do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical, CategoricalMixture, Normal, NormalMixture, Poisson, StudentT
from uq_report.distributions.numerics.validate import numbers

HALF = [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Normal([0.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
            r"normal\.std .* greater than 0; got 0 in row 1 \(2 of 3 rows\)",
        ),
        (lambda: Normal([0.0, 1.0], [1.0, NAN]), r"normal\.std must be finite; got no number in row 1 \(1 of 2 rows\)"),
        (lambda: Normal([INF, 1.0], [1.0, 1.0]), r"normal\.mean must be finite; got infinity in row 0"),
        (lambda: Normal([0.0, 1.0], [1.0]), r"normal\.std must have one value per row, 2; got 1"),
        (lambda: Normal([[0.0], [1.0]], [1.0, 1.0]), r"normal\.mean must be one-dimensional.*got shape \(2, 1\)"),
        (lambda: Normal(["a"], [1.0]), r"normal\.mean must be numbers"),
        (lambda: StudentT(0, [0.0], [1.0]), r"student_t\.df must be greater than 0; got 0"),
        (lambda: StudentT(INF, [0.0], [1.0]), r"student_t\.df must be finite; got infinity"),
        (lambda: StudentT(3, [0.0], [-1.0]), r"student_t\.scale must be greater than 0; got -1"),
        (lambda: Poisson([1.0, -0.5]), r"poisson\.rate must be >= 0; got -0\.5 in row 1"),
        (
            lambda: NormalMixture([0.0, 1.0], [1.0, 1.0]),
            r"normal_mixture\.means must have the shape \(rows, members\); got \(2,\)",
        ),
        (
            lambda: NormalMixture([[0.0, 1.0]], [[1.0]]),
            r"normal_mixture\.stds must be of means' shape, \(1, 2\); got \(1, 1\)",
        ),
        (
            lambda: NormalMixture([[0.0, 1.0]], [[1.0, -1.0]]),
            r"normal_mixture\.stds must be >= 0; got negative ones in 1 ",
        ),
        (lambda: NormalMixture([[0.0, NAN]], [[1.0, 1.0]]), r"normal_mixture\.means must be finite; .* 1 of 1 rows"),
        (
            lambda: NormalMixture([[0.0, 1.0]], [[1.0, 0.0]], points=False),
            r"stds must be > 0; got 0 in 1 of 1 rows\. Raise min_",
        ),
        (lambda: NormalMixture([[0.0, 1.0]], [[1.0, 1.0]], [1.0]), r"weights must have one weight per member, 2"),
        (
            lambda: NormalMixture([[0.0, 1.0]], [[1.0, 1.0]], [0.0, 0.0]),
            r"weights must be finite, not negative and not all zero",
        ),
        (lambda: Categorical([0.5, 0.5]), r"\(rows, classes\) with at least 2 classes; got \(2,\)"),
        (lambda: Categorical([[1.0], [1.0]]), r"at least 2 classes; got \(2, 1\)"),
        (
            lambda: Categorical([[0.5, 0.5], [0.5, 0.4], [0.6, 0.6]]),
            r"sum to 1 within 1e-05 .* got 1\.2 in row 2, .* of 2 of 3 r",
        ),
        (
            lambda: Categorical([[0.5, 0.5], [1.2, -0.2]]),
            r"finite and >= 0; got -0\.2 in row 1 \(1 of 2 rows\)\. Check",
        ),
        (lambda: Categorical([[0.5, 0.5], [NAN, 1.0]]), r"finite and >= 0; got no number in row 1"),
        (lambda: Categorical([[INF, -INF]]), r"finite and >= 0; got infinity in row 0"),
        (lambda: Categorical(HALF, classes=["a"]), r"classes must be 2 different labels, one per column; got \['a'\]"),
        (lambda: Categorical(HALF, classes=["a", "a"]), r"classes must be 2 different labels"),
        (lambda: Categorical(HALF, positive=2), r"positive must be a class position, 0 to 1; got 2"),
        (lambda: CategoricalMixture(HALF), r"members must be of shape \(rows, members, classes\); got \(3, 2\)"),
        (lambda: CategoricalMixture(lambda: [HALF]), r"probabilities must be given with a callable"),
    ],
)
def test_parameters(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("members", "weights", "message"),
    [
        (
            [[[0.5, 0.5]] * 3, [[0.9, 0.1]] * 3],
            None,
            r"weighted mean of the members within 1e-06; got a difference of 0\.2",
        ),
        ([[[0.5, 0.5], [0.4, 0.6], [0.8, 0.2]]], None, r"got a difference of 0\.3 in row 2\. Check the weights"),
        ([[[0.5, 0.5], [0.5 + 1.1e-6, 0.5 - 1.1e-6], [0.5, 0.5]]], None, r"difference of 1\.1e-06 in row 1"),
        ([HALF, HALF], [1.0], r"must hold 1 members; got 2"),
        ([HALF], [1.0, 1.0], r"must hold 2 members; got 1"),
        ([], None, r"must hold at least 1 members; got 0"),
        ([HALF[:2]], None, r"must each have the shape \(3, 2\); got \(2, 2\)"),
        ([HALF, [[0.5, 0.6]] * 3], None, r"members\[1\] must sum to 1"),
    ],
)
def test_lazy_members(members: Any, weights: Any, message: str) -> None:
    mixture = CategoricalMixture(lambda: iter(members), probabilities=HALF, weights=weights)
    np.testing.assert_allclose(mixture.entropy(), np.log(2))
    with pytest.raises(InputError, match=message):
        mixture.aleatoric()


def test_members_may_miss_their_mean_by_rounding() -> None:
    near = [[0.5 + 0.9e-6, 0.5 - 0.9e-6]] * 3
    np.testing.assert_allclose(CategoricalMixture(lambda: [near], probabilities=HALF).aleatoric(), np.log(2))


@pytest.mark.parametrize("p", [0.0, 1.0, [0.5, 1.5], [[0.5]], NAN, "a"])
@pytest.mark.parametrize(
    "dist", [Normal([0.0], 1.0), StudentT(3, [0.0], 1.0), Poisson([2.0]), NormalMixture([[0.0]], [[1.0]])]
)
def test_levels_of_a_quantile(dist: Any, p: Any) -> None:
    with pytest.raises(InputError, match=r"quantile\.p must be"):
        dist.quantile(p)


def test_targets() -> None:
    for dist in (Normal([0.0], 1.0), StudentT(3, [0.0], 1.0), NormalMixture([[0.0]], [[1.0]]), Poisson([2.0])):
        np.testing.assert_array_equal(dist.encode([3]), [3.0])
        with pytest.raises(InputError, match=r"y must be numbers"):
            dist.encode(np.array(["low", "high"]))
    with pytest.raises(InputError, match=r"poisson\.y must be whole numbers >= 0; got 0\.5 in row 1 \(2 of 3 rows\)"):
        Poisson([1.0]).encode([1.0, 0.5, -1.0])


@pytest.mark.parametrize(
    ("classes", "y", "positions"),
    [
        (np.array(["no", "yes"]), ["yes", "no"], [1, 0]),
        (np.array(["yes", "no"]), pd.Series(["yes", "no", "yes"], dtype="category"), [0, 1, 0]),
        (np.array(["b", "a", "c"], dtype=object), np.array(["c", "a"]), [2, 1]),
        (np.array([False, True]), [True, False], [1, 0]),
        (np.array([False, True]), np.array([1, 0]), [1, 0]),
        (np.array([0, 1]), pd.array([True, False], dtype="boolean"), [1, 0]),
        (np.array([3, 1, 2]), np.array([1.0, 3.0]), [1, 0]),
        (np.array([1.0, 2.0]), [2, 1], [1, 0]),
        (np.array([-1, 1], dtype=np.int8), np.array([1, -1]), [1, 0]),
        (["a", 1], np.array([1, "a"], dtype=object), [1, 0]),
        (None, pd.Series([1, 0], dtype="Int64"), [1, 0]),
    ],
)
def test_labels_of_any_kind_become_positions(classes: Any, y: Any, positions: list[int]) -> None:
    k = 2 if classes is None else len(classes)
    found = Categorical(np.full((len(y), k), 1 / k), classes=classes).encode(y)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, positions)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["no", "maybe", "maybe"], r"classes, 'no', 'yes'; got 'maybe' in 2 of 3 rows\. Drop them"),
        ([0, 1, 0], r"got 0, 1 in 3 of 3 rows"),
        (["no", None, "yes"], r"got missing values in 1 of 3 rows"),
        (["no", None, "?"], r"got '\?', missing values in 2 of 3 rows"),
        ([["no"], ["yes"]], r"one-dimensional; got shape \(2, 1\)"),
    ],
)
def test_unseen_labels(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Categorical(HALF, classes=["no", "yes"]).encode(y)


def test_many_classes_are_listed_in_part() -> None:
    with pytest.raises(InputError, match=r"0, 1, 2, 3, 4, 5, 6, 7, 8, 9 \.\.\. \(12 in all\); got 12 in 1 of 1 rows"):
        Categorical(np.full((1, 12), 1 / 12)).encode([12])


def test_the_focus() -> None:
    two, three = (
        Categorical(HALF, classes=np.array(["b", "a"])),
        Categorical(np.full((4, 3), 1 / 3), classes=["x", "y", "z"]),
    )
    assert two.positive == 1
    assert two.default_focus(np.array(["b", "b"])) == "a"
    assert three.default_focus(np.array(["y", "x", "x", "y"])) == "x"
    assert three.default_focus(np.array(["z", "x", "y", "z"])) == "z"
    assert three.default_focus(None) == "z"
    assert type(Categorical(HALF).default_focus(None)) is int
    assert two.focus("b").positive == 0
    assert two.positive == 1
    with pytest.raises(InputError, match=r"positive_class must be one of \['b', 'a'\]; got 'c'"):
        two.focus("c")
    with pytest.raises(InputError, match=r"got \['a'\]"):
        two.focus(["a"])
    assert Normal([0.0], 1.0).default_focus(np.zeros(1)) is None
    assert Normal([0.0], 1.0).focus("anything").mean() == 0


def test_the_usual_loss() -> None:
    assert Categorical(HALF).usual_loss == CategoricalMixture([HALF]).usual_loss == "brier"
    assert {d.usual_loss for d in (Normal([0.0], 1), Poisson([1.0]), StudentT(3, [0.0], 1))} == {"squared_error"}


def test_why_not() -> None:
    points = NormalMixture([[0.0, 1.0]], [[0.0, 1.0]])
    assert points.points
    assert "single points" in points.why_not("entropy")
    assert "min_samples_leaf" in points.why_not("log_prob")
    assert "members of an ensemble" in Normal([0.0], 1).why_not("epistemic")
    assert "no order" in Categorical(HALF).why_not("quantile")
    assert "two classes; this model has 3" in Categorical(np.full((1, 3), 1 / 3)).why_not("log_odds")
    assert "density" in NormalMixture([[0.0]], [[1.0]]).why_not("fisher_information")
    assert "not defined for a normal mixture" in NormalMixture([[0.0]], [[1.0]]).why_not("skewness")
    assert "at most 1 degree" in StudentT(0.5, [0.0], 1).why_not("mean")
    with pytest.raises(UnsupportedError, match="two classes"):
        Categorical(np.full((1, 3), 1 / 3)).log_odds()


def test_points_are_a_property_of_the_model() -> None:
    means, stds = np.zeros((2, 2)), np.array([[1.0, 1.0], [0.0, 1.0]])
    assert NormalMixture(means[:1], stds[:1], points=True).supports == NormalMixture(means, stds).supports
    assert NormalMixture(means, stds + 1, points=False).supports > NormalMixture(means, stds).supports


def test_members_are_evaluated_at_most_once_and_only_when_asked() -> None:
    calls = []
    members = np.random.default_rng(0).dirichlet([1.0, 1.0], (5, 4))

    def evaluate() -> Any:
        calls.append(1)
        return members

    mixture = CategoricalMixture(evaluate, probabilities=members.mean(axis=1))
    some = mixture.take(np.array([4, 0])).focus(0)
    _ = mixture.entropy(), mixture.mean(), some.variance(), mixture.log_prob(np.zeros(5, dtype=int))
    assert calls == []
    eager = CategoricalMixture(members)
    for name in ("aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"):
        np.testing.assert_allclose(getattr(some, name)(), getattr(eager, name)()[[4, 0]], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(getattr(mixture, name)(), getattr(eager, name)(), rtol=1e-12, atol=1e-15)
    assert calls == [1]


def test_members_are_predicted_anew_once_they_are_reduced() -> None:
    """One member is held at a time; who asks for them after the split lets them predict again."""
    calls: list[int] = []

    def members() -> Any:
        calls.append(1)
        yield HALF

    mixture = CategoricalMixture(members, probabilities=HALF)
    mixture.aleatoric(), mixture.epistemic()
    assert calls == [1]
    ((weight, member),) = mixture.members()
    assert weight == 1
    np.testing.assert_array_equal(member.probabilities, HALF)
    assert calls == [1, 1]


def test_single_precision_probabilities_pass() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(50), 100).astype(np.float32)
    assert Categorical(p).probabilities.dtype == np.float64


@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_are_taken_as_long_as_floats_hold_them(sign: int) -> None:
    held = sign * np.array([0, 2**53, 2**53 + 2])
    np.testing.assert_array_equal(numbers("x", held), held.astype(float))
    with pytest.raises(InputError, match="whole numbers that floats hold"):
        numbers("x", sign * np.array([0, 2**53 + 1]))
