"""What permutation importance cannot compute, refuses, or must say beside its numbers."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import uq_report as uq
from uq_report import testing
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical
from uq_report.evidence import ids
from uq_report.methods.pfi.explain import PermutationImportance

from .pfi_cases import explained, line, repeats, rows, subject, three_features

LOGISTIC = testing.logistic_subject(60)


# ---------------------------------------------------------------------- what cannot be computed


def step(X: FloatArray) -> Categorical:
    """Probability 0 or 1 where a > 1, so that the wrong class has none."""
    p = np.where(X[:, 0] > 1, 1.0, 1 / (1 + np.exp(-X[:, 1])))
    return Categorical(np.column_stack([1 - p, p]))


def test_infinite_values_leave_out_measure_and_feature_with_counts() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] > 1, 1, rng.integers(0, 2, 50))
    result = explained(subject(step, X, y), n_repeats=5)
    assert ("nll", "a") not in set(
        zip(result["pfi"].estimates["measure"], result["pfi"].estimates["feature"], strict=True)
    )
    omission = next(o for o in result["pfi"].omissions if (o.measure, o.feature) == ("nll", "a"))
    assert "of 50 observations" in omission.reason
    assert "with an upper bound" in omission.reason
    for measure, feature in (("nll", "b"), ("entropy", "a"), ("brier", "a")):
        assert np.isfinite(line(result["pfi"], measure, feature)["std_error"])
    assert result["pfi"].rows is not None
    assert np.isnan(result["pfi"].rows.of("nll", "a")).all()
    assert result["pfi.reading"].estimates["feature"].tolist() == ["b"]


def test_a_measure_infinite_before_any_shuffle_is_left_out_once() -> None:
    X = np.random.default_rng(2).normal(size=(50, 2))
    result = explained(subject(step, X, np.zeros(50, dtype=int)), n_repeats=5)
    reasons = [o for o in result["pfi"].omissions if o.measure == "nll"]
    assert [o.feature for o in reasons] == [""]
    assert f"infinite for {int((X[:, 0] > 1).sum())} of 50 observations" in reasons[0].reason
    assert "pfi.reading" not in result
    clipped = explained(subject(step, X, np.zeros(50, dtype=int)), measures=("nll", "nll_clipped", "entropy"))
    assert set(clipped["pfi.reading"].estimates["measure"]) == {"nll_clipped"}


def test_without_y_the_entropy_is_still_explained() -> None:
    result = explained(subject(three_features, rows(30)[0]))["pfi"]
    assert set(result.estimates["measure"]) == {"entropy"}
    assert {o.measure for o in result.omissions} == {"brier", "nll"}
    assert all("needs outcomes" in o.reason for o in result.omissions)


def test_nothing_to_evaluate_is_refused_with_every_reason() -> None:
    with pytest.raises(UnsupportedError, match="no measure can be evaluated: nll: it needs outcomes"):
        explained(subject(three_features, rows(30)[0]), measures=("nll",))


@pytest.mark.parametrize("n_repeats", [1, 2])
def test_one_or_two_shuffles_give_no_interval(n_repeats: int) -> None:
    result = explained(LOGISTIC, n_repeats=n_repeats)
    assert result["pfi"].estimates["std_error"].isna().all()
    assert result["pfi"].rows is None
    assert set(result["pfi"].estimates["verdict"]) == {"undetermined"}
    assert any("at least 3 are needed" in note for note in result["pfi"].notes)
    assert set(result["pfi.reading"].estimates["item"]) == {"inconclusive"}
    assert result["pfi.drivers"].estimates["std_error"].isna().tolist() == [False, True, True, True]
    assert set(result["pfi.uncertainty"].estimates["verdict"]) == {"undetermined", "about 0"}


def test_two_rows_are_too_few() -> None:
    with pytest.raises(InputError, match=r"at least 3 rows for pfi; got 2"):
        explained(subject(three_features, *rows(2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_repeats": 0}, r"pfi.n_repeats must be an integer >= 1; got 0"),
        ({"n_repeats": True}, r"pfi.n_repeats must be an integer >= 1; got True"),
        ({"measures": "nll"}, r"pfi.measures must be a sequence of names; got 'nll'"),
        ({"measures": ()}, r"pfi.measures must be a sequence of names; got \(\)"),
        ({"features": "age"}, r"pfi.features must be a sequence of names; got 'age'"),
        ({"margin": -0.1}, r"pfi.margin must be a number > 0 .*; got -0.1"),
        ({"margin": {"nll": 0.0}}, r"pfi.margin must be a number > 0 .*; got 0.0"),
        ({"margin": {"entrpy": 0.1}}, r"got 'entrpy'. Did you mean 'entropy'\?"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PermutationImportance(**options)


def test_an_unknown_feature_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'z'"):
        explained(LOGISTIC, features=("z",))


# ---------------------------------------------------------------------- margins, p-values, spread


def test_margins_are_nats_or_a_share_of_the_unpermuted_mean_unless_given() -> None:
    result = explained(LOGISTIC, n_repeats=3)["pfi"]
    assert line(result, "nll", "a")["margin"] == line(result, "entropy", "a")["margin"] == 0.01
    assert line(result, "brier", "a")["margin"] == pytest.approx(0.01 * line(result, "brier", "a")["unpermuted"])
    own = explained(LOGISTIC, n_repeats=3, margin={"loss": 0.2, "nll": 0.3})["pfi"]
    assert [line(own, m, "a")["margin"] for m in ("brier", "nll", "entropy")] == [0.2, 0.3, 0.01]
    assert set(explained(LOGISTIC, n_repeats=3, margin=0.5)["pfi"].estimates["margin"]) == {0.5}


def test_a_wide_margin_makes_a_sure_effect_about_zero_but_not_zero() -> None:
    said = line(explained(LOGISTIC, exact=True, margin=5.0)["pfi"], "nll", "a")
    assert said["lower"] > 0
    assert (said["verdict"], said["remark"]) == ("about 0", "but not 0")


def test_spread_and_p_value_are_those_of_the_repeats() -> None:
    for n_repeats, levels in ((19, (0, 1)), (20, (0.05, 0.95))):
        result = explained(LOGISTIC, n_repeats=n_repeats)["pfi"]
        values, said = repeats(result, "nll", "b"), line(result, "nll", "b")
        assert said[["spread_low", "spread_high"]].tolist() == np.quantile(values, levels).tolist()
        assert said["p_value"] == (1 + (values <= 0).sum()) / (n_repeats + 1)
        assert ("5%" in result.meta["spread"]) == (n_repeats == 20)
        assert not any("cannot reach" in note for note in result.notes)


def test_too_few_shuffles_cannot_reach_the_level_and_say_so() -> None:
    notes = explained(LOGISTIC, n_repeats=18)["pfi"].notes
    assert any("cannot reach the level 0.05: it needs 19, or 79" in note for note in notes)


def test_the_variance_stands_in_for_an_entropy_that_members_without_spread_do_not_have() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = X[:, 0] + rng.normal(size=160)
    model = RandomForestRegressor(10, random_state=0).fit(X[:100], y[:100])
    result = uq.importance(uq.explain(model, X[100:], y[100:]), n_repeats=3)[ids.PFI].result
    whole = ("squared_error", "variance")
    assert tuple(dict.fromkeys(result.estimates["measure"])) == (*whole, "aleatoric_variance", "epistemic_variance")
    reasons = [gap.reason for gap in result.omissions if gap.measure == "entropy"]
    assert "The variance of the predictive distribution is used instead" in reasons[0]


@pytest.mark.parametrize("margin", [0.0, -1.0, float("inf"), {"nll": float("inf")}])
def test_a_margin_is_finite_and_above_0(margin: Any) -> None:
    with pytest.raises(InputError, match=r"pfi\.margin must be a number > 0 in the measure's unit"):
        PermutationImportance(measures=("nll",), margin=margin)
