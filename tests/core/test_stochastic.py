"""Random predictions are refused at the door, or read as members of a mixture, or given a seed."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report import jobs as files
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.errors import InputError, ModelError, UnsupportedError
from uq_report.core.traits.stochastic import (
    BATCH_TOLERANCE,
    ROWS,
    TOLERANCE,
    Members,
    another_batch,
    first_gap,
    head_readings,
    mixture,
    seed_argument,
    two_calls,
    unread_output,
)
from uq_report.distributions import Categorical, CategoricalMixture, Mixture, Normal, NormalMixture, Poisson, StudentT
from uq_report.jobs.audit_file import AuditFile

X = np.random.default_rng(0).normal(size=(150, 2))
Y = (X[:, 0] > 0).astype(int)


class Coin:
    """A classifier that draws its probabilities anew in each call, from a stream of its own."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X: Any) -> Any:
        p = np.random.default_rng().uniform(0.05, 0.95, len(X))
        return np.column_stack([1 - p, p])


class Drawing:
    """A regressor with std whose means are drawn from numpy's global stream."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        mean = X[:, 0] + np.random.normal(size=len(X))  # noqa: NPY002 - what is tested
        return (mean, np.ones(len(X))) if return_std else mean


def global_noise(X: Any) -> Normal:
    return Normal(X[:, 0] + np.random.normal(size=len(X)), 0.5)  # noqa: NPY002 - what is tested


def seeded_noise(X: Any, seed: Any = None) -> Normal:
    return Normal(X[:, 0] + np.random.default_rng(seed).normal(size=len(X)), 0.5)


class Seeded(Coin):
    random_state: Any = None

    def predict_proba(self, X: Any) -> Any:
        p = np.random.default_rng(self.random_state).uniform(0.05, 0.95, len(X))
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize(
    ("model", "kind", "remedy"),
    [
        (Coin(), "class probabilities", "members of a mixture."),
        (global_noise, "mean", "members of a mixture."),
        (seeded_noise, "mean", "or stochastic='seed' to fix its seed."),
        (Seeded(), "class probabilities", "or stochastic='seed' to fix its random_state."),
        (Drawing(), "mean", "members of a mixture."),
    ],
)
def test_random_predictions_are_refused_with_their_size_and_the_remedy(model: Any, kind: str, remedy: str) -> None:
    with pytest.raises(ModelError) as caught:
        uq.explain(model, X)
    text = str(caught.value)
    assert text.startswith("explain.model must predict the same rows alike in every call, within 1e-06 of the largest")
    assert f"({kind}) in 100 of 100 rows. Its predictions are random: pass stochastic='members'" in text
    assert text.endswith(remedy)


@pytest.mark.parametrize(("factor", "is_random"), [(0.5, False), (2.0, True)])
def test_the_tolerance_is_relative_to_the_largest_value(factor: float, is_random: bool) -> None:
    calls = iter(range(1000))
    scale = 1e4
    mean = np.append(np.zeros(len(X) - 1), scale)

    def noisy(rows: Any) -> Normal:
        shift = factor * TOLERANCE * scale * (next(calls) % 2)
        return Normal(mean[: len(rows)] * 0 + scale + shift, 1.0)

    if is_random:
        with pytest.raises(ModelError, match=r"differ by up to 0\.02"):
            uq.explain(noisy, X)
    else:
        assert uq.explain(noisy, X).notes == ()


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (Coin(), CategoricalMixture),
        (global_noise, NormalMixture),
        (seeded_noise, NormalMixture),
        (Drawing(), NormalMixture),
    ],
)
def test_calls_become_members(model: Any, family: type) -> None:
    subject = uq.explain(model, X, stochastic="members", n_members=7)
    q = Engine(subject, {}).baseline
    assert isinstance(q, family)
    assert (q.epistemic() > 0).all()
    assert subject.notes[0].startswith("Predictions are random: 7 calls are read as members of a mixture.")
    assert ("somewhat other numbers" in subject.notes[0]) == isinstance(model, Coin)
    if isinstance(q, NormalMixture):
        assert q.means.shape == (len(X), 7)
        assert q.epistemic_variance().mean() == pytest.approx(1.0, rel=0.2)


def test_members_that_follow_a_global_stream_repeat_and_leave_it_alone() -> None:
    first, second = (Engine(uq.explain(global_noise, X, stochastic="members"), {}) for _ in range(2))
    np.random.seed(5)  # noqa: NPY002 - what is tested
    expected = np.random.normal()  # noqa: NPY002 - as above
    np.random.seed(5)  # noqa: NPY002 - as above
    assert np.array_equal(first.baseline.mean(), second.baseline.mean())
    assert np.random.normal() == expected  # noqa: NPY002 - as above


def test_unused_features_of_members_have_no_importance() -> None:
    """Unchanged and changed rows get the same draws, so their difference holds no noise of the draws."""
    rows = np.random.default_rng(0).normal(size=(400, 2))
    subject = uq.explain(global_noise, rows, rows[:, 0], stochastic="members", n_members=5)
    table = uq.importance(subject, ["nll"], n_repeats=5).result.estimates.set_index("feature")["estimate"]
    assert table["x1"] == 0
    assert table["x0"] > 0.1


@pytest.mark.parametrize("model", [seeded_noise, Seeded(), partial(seeded_noise)])
def test_a_seed_is_fixed(model: Any) -> None:
    subject = uq.explain(model, X, stochastic="seed", seed=3)
    first, second = (Engine(subject, {}).baseline.mean() for _ in range(2))
    assert np.array_equal(first, second)
    name = "random_state" if isinstance(model, Seeded) else "seed"
    assert subject.notes == (f"Predictions are random: {name} is fixed to 3.",)
    assert not isinstance(model, Seeded) or model.random_state is None


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            Coin(),
            {"stochastic": "seed"},
            r"stochastic must be 'members' or None for Coin, which has no argument or attr",
        ),
        (Coin(), {"stochastic": "often"}, r"stochastic must be 'members', 'seed' or None; got 'often'"),
        (Coin(), {"n_members": 1}, r"n_members must be an integer >= 2; got 1"),
        (
            LogisticRegression().fit(X, Y),
            {"stochastic": "members"},
            r"got 'members' for two calls without a difference",
        ),
    ],
)
def test_what_does_not_fit_is_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        uq.explain(model, X, **options)


def test_a_seed_that_changes_nothing_is_refused() -> None:
    class Deaf(Coin):
        seed = 1

    with pytest.raises(ModelError, match=r"alike with seed=0, .* Pass stochastic='members'"):
        uq.explain(Deaf(), X, stochastic="seed")


def test_counts_have_a_mixture_whose_mean_is_between_its_members() -> None:
    def counts(X: Any) -> Poisson:
        return Poisson(1 + np.random.uniform(size=len(X)))  # noqa: NPY002 - what is tested

    subject = uq.explain(counts, X, stochastic="members")
    q = subject.adapter.predict(subject.model, X)
    assert isinstance(q, Mixture)
    assert ((q.mean() > 1) & (q.mean() < 2)).all()
    assert (q.epistemic() > 0).all()


def test_classes_and_numbers_have_no_mixture() -> None:
    with pytest.raises(UnsupportedError, match="all of classes or all of numbers; got categorical and normal"):
        mixture([Categorical([[0.5, 0.5]]), Normal([0.0], 1.0)])


def test_mixtures_of_mixtures_keep_all_members() -> None:
    q = mixture([NormalMixture([[0.0, 1.0]], [[1.0, 1.0]], [3, 1]), NormalMixture([[2.0]], [[1.0]])])
    assert isinstance(q, NormalMixture)
    assert q.means.tolist() == [[0.0, 1.0, 2.0]]
    assert q.weights == pytest.approx([0.375, 0.125, 0.5])
    p = mixture([Categorical([[0.2, 0.8]], ["a", "b"]), Categorical([[0.6, 0.4]], ["a", "b"])])
    assert isinstance(p, CategoricalMixture)
    assert p.probabilities == pytest.approx(np.array([[0.4, 0.6]]))


def test_a_random_model_is_read_by_an_audit_that_says_so() -> None:
    rows = np.random.default_rng(1).normal(size=(1500, 2))
    subject = uq.explain(Seeded(), rows, (rows[:, 0] > 0).astype(int), stochastic="members")
    run = uq.audit(subject, explainers=["calibration"], checks=["performance"], progress=False).run
    assert run.subject["adapter"] == "classifier"
    assert run.subject["notes"][0].startswith("Predictions are random: 20 calls")
    assert run.findings[0].code == "UQ001"


def test_a_described_audit_says_what_random_predictions_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    pd.DataFrame(X, columns=["a", "b"]).to_csv("rows.csv", index=False)
    (tmp_path / "guesses.py").write_text(
        "import numpy as np\n"
        "from uq_report.distributions import Normal\n"
        "def model():\n"
        "    return lambda X: Normal(X['a'] + np.random.normal(size=len(X)), 1.0)\n"
    )

    def subject(**model: Any) -> Any:
        part = {"source": "guesses:model", **model}
        return files.subject_of(AuditFile.model_validate({"model": part, "data": {"source": "rows.csv"}}))

    with pytest.raises(ModelError, match="Its predictions are random"):
        subject()
    made = subject(stochastic="members", n_members=4)
    assert made.notes == ("Predictions are random: 4 calls are read as members of a mixture.",)


def test_wrappers_whose_calibrated_output_is_not_read_are_named() -> None:
    base = type("Base", (LogisticRegression,), {"__module__": "mapie.classification"})
    model = type("Own", (base,), {})().fit(X, Y)
    subject = uq.explain(model, X, Y)
    unread = "Own of mapie: its calibrated output (conformal intervals or p-values) is not read"
    assert subject.notes == (f"{unread}; what is audited is its predict_proba.",)
    assert unread_output(LogisticRegression()) == ""


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("kind", "first", "second", "expected"),
    [
        ("mean", [1.0, 2.0], [1.0, 2.0], None),
        ("mean", [1.0, 4.0], [1.0, 4.0 + 3.9e-6], None),  # of the largest value, 4
        ("mean", [1.0, 4.0], [1.0 + 4.1e-6, 4.0], (4.1e-6, 1)),
        ("class probabilities", [[0.2, 0.3, 0.5]] * 3, [[0.2, 0.4, 0.4]] + [[0.2, 0.3, 0.5]] * 2, (0.1, 1)),
        ("class probabilities", [[0.1, 0.9]], [[0.1 + 0.9e-6, 0.9 - 0.9e-6]], None),
        ("class probabilities", [[0.1, 0.9]], [[0.1 + 1.1e-6, 0.9 - 1.1e-6]], (1.1e-6, 1)),
        ("variance", [INF, -INF, NAN, 1.0], [INF, -INF, NAN, 1.0], None),
        ("variance", [INF, 1.0, 1.0], [1.0, 1.0, NAN], (INF, 2)),
        ("variance", [INF, INF], [-INF, INF], (INF, 1)),
        ("mean", [0.0, 0.0], [0.0, 1e-300], (1e-300, 1)),
        ("quantiles", [[1.0, 2.0], [1.0, 2.0]], [[1.0, 3.0], [5.0, 2.0]], (4.0, 2)),
    ],
)
def test_two_calls_differ_beyond_the_tolerance(kind: str, first: Any, second: Any, expected: Any) -> None:
    found: Any = first_gap({kind: np.array(first)}, {kind: np.array(second)})
    assert found == (None if expected is None else (pytest.approx(expected[0]), kind, expected[1], len(first)))


def test_another_number_of_values_differs_in_all_rows() -> None:
    found = first_gap({"quantiles": np.zeros((4, 2))}, {"quantiles": np.zeros((4, 3))})
    assert found == (INF, "quantiles: another number of values", 4, 4)


@pytest.mark.parametrize(("n", "asked"), [(ROWS, ROWS), (ROWS + 1, ROWS), (7, 7), (350, ROWS)])
def test_up_to_a_hundred_rows_are_predicted_twice(n: int, asked: int) -> None:
    seen: list[Any] = []

    def spied(rows: Any) -> Normal:
        seen.append(rows[:, 0].tolist())
        return Normal(rows[:, 0], 1.0)

    subject = uq.explain(spied, np.arange(float(n))[:, None])
    seen.clear()
    assert two_calls(subject) is None
    assert [len(rows) for rows in seen] == [asked, asked]
    assert seen[0] == seen[1] == sorted(set(seen[0]))
    assert (seen[0][0], seen[0][-1]) == (0.0, n - 1.0)


def test_what_two_calls_are_compared_by() -> None:
    def read(q: Any) -> dict[str, Any]:
        return head_readings(uq.explain(lambda X: q, np.zeros((1, 1))))

    assert list(read(Categorical([[0.5, 0.5]]))) == ["class probabilities"]
    assert list(read(Normal([0.0], 1.0))) == ["mean", "variance"]
    heavy = read(StudentT(1.0, [0.0], 1.0))["quantiles"]
    np.testing.assert_allclose(heavy[0], stats.t.ppf([0.1, 0.5, 0.9], 1))


@pytest.mark.parametrize(
    ("rows", "n_members", "batch"), [(500, 20, 500), (5000, 20, 5000), (10**6, 20, 125_000), (10**6, 5000, 1000)]
)
def test_calls_of_members_hold_a_bounded_number_of_values(rows: int, n_members: int, batch: int) -> None:
    inner: Any = type("Inner", (), {"name": "inner"})()
    assert Members(inner, n_members, 0, rows).batch_rows(None) == batch


def test_seeds_are_arguments_of_functions_and_attributes_of_objects() -> None:
    assert seed_argument(seeded_noise) == seed_argument(partial(seeded_noise)) == "seed"
    assert seed_argument(Seeded()) == "random_state"
    assert seed_argument(Coin()) == seed_argument(len) == seed_argument(global_noise) == ""
    assert seed_argument(type("Method", (), {"seed": lambda self: 1})()) == ""


def test_mixtures_keep_the_weights_of_their_members() -> None:
    inner = NormalMixture([[0.0, 4.0]], [[1.0, 1.0]], [3.0, 1.0])
    joined = mixture([inner, inner])
    assert joined.mean()[0] == pytest.approx(1.0)
    assert isinstance(joined, NormalMixture)
    assert not joined.points
    points = NormalMixture([[0.0, 4.0]], [[0.0, 0.0]], points=True)
    assert mixture([points, points]).points  # type: ignore[attr-defined]
    assert isinstance(mixture([Poisson([1.0]), Poisson([2.0])]), Mixture)
    with pytest.raises(UnsupportedError, match="all of classes or all of numbers; got"):
        mixture([Categorical([[0.5, 0.5]]), Poisson([1.0])])


def of_batch(size: float) -> Any:
    """Return a model whose mean is moved by `size` times the mean of the batch, or by the place of a row in it."""

    def mean(X: Any) -> Normal:
        return Normal(X[:, 0] + size * X[:, 0].mean(), 0.5)

    return mean


def by_place(X: Any) -> Normal:
    return Normal(X[:, 0] + np.arange(len(X)), 0.5)


@pytest.mark.parametrize("model", [of_batch(0.1), by_place])
def test_a_model_whose_rows_depend_on_their_batch_is_refused(model: Any) -> None:
    with pytest.raises(
        ModelError, match=r"must predict a row alike whatever rows stand beside it .* by model\.eval\(\)"
    ):
        uq.explain(model, X)


def test_what_another_shape_rounds_is_allowed() -> None:
    largest = np.abs(X[:100, 0]).max()
    halves = np.abs(X[:100, 0][::-1][:50].mean() - X[:100, 0].mean())
    assert halves > 0
    assert another_batch(uq.explain(of_batch(0.5 * BATCH_TOLERANCE * largest / halves / 10), X)) is None


def test_one_row_has_nothing_beside_it() -> None:
    assert another_batch(uq.explain(of_batch(0.0), X[:1])) is None
