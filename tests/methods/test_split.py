"""The aleatoric and the epistemic part of the uncertainty add up to the whole in every explainer that is linear.

In nats: H(mean of the members) = mean H(member) + mutual information. Of points: the law of total variance. A mean of
changes, a curve, an accumulated sum and a Shapley value are linear in the measure, so their parts add up too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.explainer import BuiltInExplainer
from uq_report.core.model import measures
from uq_report.core.model.measures import PARTS, Measure, split_of
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import UnsupportedError
from uq_report.evidence import ids
from uq_report.methods.ale.explain import AccumulatedLocalEffects
from uq_report.methods.pdp.explain import PartialDependence
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shap.explain import ShapleyValues

EXACT = 1e-12
NATS, VARIANCES = PARTS


def rows(n: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(n)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, (X["a"] + 0.5 * X["b"] ** 2 + 0.3 * rng.normal(size=n)).to_numpy()


@cache
def subject(kind: str) -> Subject:
    """A forest of classes, an ensemble of densities, or a forest of points, on rows that it has not seen."""
    (X, y), (X_new, y_new) = rows(120), rows(25)
    if kind == "classes":
        model: Any = RandomForestClassifier(6, min_samples_leaf=4, random_state=0).fit(X, y > 0.5)
        return uq.explain(model, X_new, y_new > 0.5)
    if kind == "densities":
        return uq.explain(BaggingRegressor(BayesianRidge(), 3, random_state=0).fit(X, y), X_new, y_new)
    return uq.explain(RandomForestRegressor(6, random_state=0).fit(X, y), X_new, y_new)


EXPLAINERS: dict[str, BuiltInExplainer] = {
    "pfi": PermutationImportance(n_repeats=4),
    "pdp": PartialDependence(grid_resolution=4),
    "ale": AccumulatedLocalEffects(n_bins=4),
    "shap": ShapleyValues(n_rows=0, n_background=5),
}


def engine_of(s: Subject) -> Engine:
    return Engine(s, {m.name: m for m in vars(measures).values() if isinstance(m, Measure)})


def result_of(explainer: Any, s: Subject) -> Result:
    """The first result of an explainer."""
    first: Result = explainer.explain(s, engine_of(s).bound(explainer.name), {})[0]
    return first


def importances(s: Subject, **options: Any) -> Result:
    return result_of(PermutationImportance(**{"n_repeats": 4, **options}), s)


def parts(result: Result, names: tuple[str, ...]) -> tuple[pd.Series[float], ...]:
    """The values of a result's frame by everything but the measure: of the whole and of both parts."""
    frame = result.frame[result.frame["measure"].isin(names)]
    keys = [c for c in frame.columns if c not in ("measure", "value", "base")]
    wide = frame.set_index(["measure", *keys])["value"]
    return tuple(wide.loc[name] for name in names)


@pytest.mark.parametrize("explainer", ["pfi", "pdp", "ale", "shap"])
@pytest.mark.parametrize(("kind", "names"), [("classes", NATS), ("densities", NATS), ("points", VARIANCES)])
def test_parts_add_up_in_every_linear_explainer_by_default(explainer: str, kind: str, names: tuple[str, ...]) -> None:
    s = subject(kind)
    whole, aleatoric, epistemic = parts(result_of(EXPLAINERS[explainer], s), names)
    assert len(whole) >= 4
    assert whole.index.equals(aleatoric.index)
    assert whole.index.equals(epistemic.index)
    scale = max(1.0, float(whole.abs().max()))
    np.testing.assert_allclose(aleatoric.to_numpy() + epistemic.to_numpy(), whole, rtol=0, atol=EXACT * scale)
    assert float(epistemic.abs().max()) > 1e-4


@pytest.mark.parametrize("task", ["classes", "densities", "points"])
def test_members_that_are_alike_have_no_epistemic_importance(task: str) -> None:
    X, y = rows(60)
    if task == "classes":
        voters = [(str(k), LogisticRegression()) for k in range(3)]
        model: Any = VotingClassifier(voters, voting="soft").fit(X, y > 0.5)
        s = uq.explain(model, X[:30], y[:30] > 0.5)
    else:
        base = BayesianRidge() if task == "densities" else LinearRegression()
        s = uq.explain(VotingRegressor([(str(k), base) for k in range(3)]).fit(X, y), X[:30], y[:30])
    name = split_of(s.adapter.predict(s.model, s.X))[-1]
    lines = importances(s).estimates
    epistemic = lines[lines["measure"] == name]
    assert len(epistemic) == 3
    assert (epistemic["estimate"].abs() <= 1e-7).all()
    assert set(epistemic["verdict"]) == {"about 0"}


def test_points_are_epistemic_throughout() -> None:
    lines = importances(subject("points")).estimates.set_index(["measure", "feature"])
    assert lines["exact_zero"].loc["aleatoric_variance"].all()
    estimates = lines["estimate"]
    assert (estimates.loc["variance"] == estimates.loc["epistemic_variance"]).all()
    margins = lines["margin"]
    assert margins.loc["epistemic_variance"].iloc[0] == margins.loc["aleatoric_variance"].iloc[0] > 0


def test_one_pass_yields_the_parts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    s = subject("classes")
    counts = []
    for names in (["entropy"], ["entropy", "decomposition"]):
        asked: list[int] = []
        predict = type(s.adapter).predict
        with monkeypatch.context() as patch:
            patch.setattr(type(s.adapter), "predict", lambda *a, p=predict, n=asked: n.append(len(a[2])) or p(*a))
            importances(s, measures=names)
        counts.append(sum(asked))
    assert counts[0] == counts[1] > 0


def test_without_members_nothing_is_added_and_nothing_is_left_out() -> None:
    X, y = rows(40)
    s = uq.explain(BayesianRidge().fit(X, y), X, y)
    result = importances(s)
    assert set(result.estimates["measure"]) == {"squared_error", "nll", "entropy"}
    assert result.omissions == ()
    with pytest.raises(UnsupportedError, match="decomposition: epistemic needs the members of an ensemble"):
        importances(s, measures=("decomposition",))


def test_the_split_can_be_left_out_and_its_margins_be_given() -> None:
    s = subject("classes")
    plain = importances(s, measures=("loss", "entropy"))
    assert set(plain.estimates["measure"]) == {"brier", "entropy"}
    lines = importances(s, margin={"epistemic": 0.5}).estimates
    assert set(lines.loc[lines["measure"] == "epistemic", "margin"]) == {0.5}


def test_measures_that_are_not_registered_are_no_parts() -> None:
    s = subject("classes")
    known = {m: measure for m, measure in engine_of(s).measures.items() if m != "aleatoric"}
    chosen, omitted = Engine(s, known).select(["entropy", "decomposition"])
    assert [measure.name for measure in chosen] == ["entropy"]
    assert omitted == ()


def test_parts_are_ranked_and_corrected_with_their_whole_only() -> None:
    options = {"pfi": {"n_repeats": 3}, "shap": {"n_rows": 10, "n_background": 5}, "cover": {"n_repeats": 3}}
    explainers = ["pfi", "shap", "cid", "cover", "agreement"]
    run = uq.audit(subject("classes"), explainers=explainers, options=options, as_of="2026-01-01", progress=False).run
    measured = {result.id: set(result.estimates["measure"]) for result in run.results if len(result.estimates)}
    assert set(NATS) <= measured[ids.PFI] & measured[ids.SHAP_IMPORTANCE]
    for key in (ids.COVER, ids.AGREEMENT):
        assert "entropy" in measured[key], key
        assert not measured[key] & set(NATS[1:]), key
