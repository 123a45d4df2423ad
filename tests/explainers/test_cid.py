"""Covered information end to end: which estimator, what is refused, and what the gate lets through."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge

from uq_report.adapters.regressor_std import RegressorStdAdapter
from uq_report.core.engine import Engine
from uq_report.core.errors import InputError
from uq_report.core.results import Result
from uq_report.core.subject import Subject, make_subject
from uq_report.explainers.cid import CoveredInformation
from uq_report.explainers.pfi import PermutationImportance
from uq_report.testing import KnownLogistic, KnownTruth, linear_subject, logistic_subject, measures


def run(subject: Subject, n_jobs: int = 1, confidence: float = 0.95, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, measures(), n_jobs=n_jobs, confidence=confidence)
    prior = {"pfi": PermutationImportance(n_repeats=5, train=False).explain(subject, engine.bound("pfi"), {})}
    results = CoveredInformation(**options).explain(subject, engine.bound("cid"), prior)
    return {result.id: result for result in results}


def value(result: Result, feature: str, item: str, column: str = "estimate") -> float:
    table = result.estimates
    return float(table[(table["feature"] == feature) & (table["item"] == item)][column].iloc[0])


def ridge(X: pd.DataFrame, y: Any, **options: Any) -> Subject:
    return make_subject(BayesianRidge().fit(X, y), RegressorStdAdapter(), X, y, **options)


def wide(n: int = 400, pairs: int = 6) -> tuple[pd.DataFrame, Any]:
    """Pairs of features of falling strength; the second of a pair repeats the first more from pair to pair."""
    rng = np.random.default_rng(0)
    columns, y = {}, np.zeros(n)
    for k in range(pairs):
        u, v = rng.normal(size=(2, n))
        r = k / pairs * 0.95
        columns[f"a{k}"], columns[f"b{k}"] = u, r * u + np.sqrt(1 - r**2) * v
        y += (1 - 0.1 * k) * (columns[f"a{k}"] + columns[f"b{k}"])
    return pd.DataFrame(columns), y + rng.normal(size=n)


@pytest.mark.parametrize(
    ("subject", "estimator"),
    [(linear_subject(300), "Gaussian copula"), (logistic_subject(300), "conditional Gaussian")],
)
def test_the_estimator_follows_the_columns(subject: Subject, estimator: str) -> None:
    found = run(subject)["cid"]
    assert found.meta["estimator"] == estimator
    assert found.meta["penalty"] > 0
    assert value(found, "a", "covered information") > 0, "a and b repeat each other"
    independent = value(found, "c", "covered information")
    assert independent <= 3 * value(found, "c", "covered information", "std_error")
    assert value(found, "c", "redundant part") > 0, "the redundant part alone is no cover"


def test_levels_take_the_discrete_field_and_name_what_is_cut() -> None:
    base = logistic_subject(300)
    X = pd.DataFrame(base.X).assign(level=np.random.default_rng(0).choice(list("xyz"), 300))
    model = KnownLogistic((1.0, 1.0, 1.0, 0.0))

    class Numeric(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            return super().predict(model, X[list("abcd")])

    found = run(make_subject(model, Numeric(), X, base.y))["cid"]
    assert found.meta["estimator"] == "discrete field"
    assert any("Cut into 4 cells" in note and "a, b, c, d" in note for note in found.notes)
    with pytest.raises(InputError, match=r"'mixed' must get numeric columns; got level"):
        run(make_subject(model, Numeric(), X, base.y), estimator="mixed")


def test_the_terms_are_the_same_on_any_number_of_cores() -> None:
    one, two = (run(linear_subject(150), n_jobs=n) for n in (1, 2))
    for key in one:
        pd.testing.assert_frame_equal(one[key].estimates, two[key].estimates)


def test_a_wide_linear_case_passes_the_gate_and_raises_the_covered() -> None:
    X, y = wide()
    corrected = run(ridge(X, y), measures=("loss",))["cid.corrected"]
    assert corrected.omissions == ()
    table = corrected.estimates.set_index("feature")
    lifted = table["estimate"] / table["plain"]
    assert lifted["b5"] > lifted["b0"]
    assert lifted["b5"] > 1.2
    told = corrected.meta["maps"]["squared_error"]
    assert set(told["coefficients"]) == {"redundant CI", "MI", "synergistic CI", "synergistic MI"}


def test_corrected_values_and_information_have_the_level_of_the_run() -> None:
    X, y = wide()
    narrow, usual = (run(ridge(X, y), measures=("loss",), confidence=level) for level in (0.8, 0.95))
    for name in ("cid", "cid.corrected"):
        tables = [found[name].estimates.dropna(subset="lower") for found in (narrow, usual)]
        assert [set(table["confidence"]) for table in tables] == [{0.8}, {0.95}]
        widths = [(table["upper"] - table["lower"]).to_numpy() for table in tables]
        assert (widths[0] < widths[1]).all()
    sets = narrow["cid.corrected"].frame.groupby("feature")["value"]
    table = narrow["cid.corrected"].estimates.set_index("feature")
    np.testing.assert_allclose(table["lower"], sets.quantile(0.1)[table.index], rtol=1e-9)
    np.testing.assert_allclose(table["upper"], sets.quantile(0.9)[table.index], rtol=1e-9)


def test_few_features_keep_the_plain_importance_with_the_reason() -> None:
    corrected = run(linear_subject(150))["cid.corrected"]
    assert corrected.frame.empty
    assert all("learnt from 4 features, at least 8 are needed" in gap.reason for gap in corrected.omissions)
    assert len(corrected.meta["maps"]) == len(corrected.omissions)


def test_refitting_scores_models_on_rows_they_have_not_seen() -> None:
    X, y = wide(200, 4)
    results = run(ridge(X, y), refit=True, n_sets=10, measures=("nll",))
    assert any("refitted on 10 random splits" in note for note in results["cid.corrected"].notes)
    with pytest.raises(InputError, match="can be cloned"):
        run(linear_subject(100), refit=True)


def test_a_given_graph_is_used_as_it_is() -> None:
    edges = (("a", "b"), ("a", "y"), ("c", "y"))
    results = run(linear_subject(200), graph=edges)
    drawn = results["cid.graph"].frame
    assert set(zip(drawn["feature"], drawn["item"], strict=True)) == set(edges)
    assert results["cid"].meta["graph"] == "given"
    with pytest.raises(InputError, match="must join features that vary, and 'y'"):
        run(linear_subject(100), graph=(("a", "nobody"),))


def test_half_potentials_are_named() -> None:
    found = run(linear_subject(150), potentials="half")["cid"]
    assert any("not the definition" in note for note in found.notes)


def changed(**columns: Any) -> Subject:
    base = linear_subject(60)
    X = pd.DataFrame(base.X).assign(**columns)

    class Four(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            return super().predict(model, X[list("abcd")])

    return make_subject(base.model, Four(), X, base.y)


def test_a_constant_is_left_out_by_name_and_a_copy_or_a_gap_refused() -> None:
    found = run(changed(flat=1.0))["cid"]
    assert [(gap.feature, gap.reason) for gap in found.omissions] == [
        ("flat", "it is constant, so it has no information")
    ]
    base = pd.DataFrame(linear_subject(60).X)
    with pytest.raises(InputError, match=r"got 'a' and 'twin' with correlation ±1"):
        run(changed(twin=-2 * base["a"]))
    with pytest.raises(InputError, match=r"got 1 in 'gap'"):
        run(changed(gap=np.where(np.arange(60) == 3, np.nan, np.arange(60.0))))


def test_more_features_than_rows_are_refused_where_the_lasso_does_not_converge() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 30)), columns=[f"f{j}" for j in range(30)])
    subject = ridge(X, X["f0"] + rng.normal(size=20))
    with pytest.raises(InputError, match="must make the graphical lasso converge; got cross-validation"):
        run(subject)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"estimator": "magic"}, "cid.estimator must be one of"),
        ({"penalty": -1.0}, "cid.penalty must be a number > 0"),
        ({"bins": 1}, "cid.bins must be an integer >= 2"),
        ({"potentials": "third"}, "cid.potentials"),
        ({"n_sets": 2}, "cid.n_sets"),
    ],
)
def test_bad_options(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CoveredInformation(**option)
