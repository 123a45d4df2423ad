"""Which features lead: by hand, by ties and by measures in turn; and that methods pay for those only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.model.results import ESTIMATE_COLUMNS, Importance
from uq_report.core.model.subject import Subject
from uq_report.distributions import Normal
from uq_report.evidence.profiles import Pdp
from uq_report.methods.cid import estimate
from uq_report.methods.shared.choice import LED, leading

D = LED + 2


def pfi(**sizes: dict[str, float]) -> dict[str, tuple[Importance, ...]]:
    """Return permutation importance as a run before has it, by measure and feature."""
    lines = [
        (measure, feature, value, *[np.nan] * 4, "") for measure, of in sizes.items() for feature, value in of.items()
    ]
    frame = pd.DataFrame(columns=list(Importance.columns))
    estimates = pd.DataFrame(lines, columns=list(ESTIMATE_COLUMNS))
    return {"pfi": (Importance(id="pfi", explainer="pfi", title="PFI", frame=frame, estimates=estimates),)}


def subject(d: int, n: int = 40) -> Subject:
    """Return a normal whose mean is that of the last feature and whose spread that of the one before."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, -1] + np.exp(X[:, -2] / 2) * rng.normal(size=n)
    return uq.explain(lambda rows: Normal(rows[:, -1], np.exp(rows[:, -2] / 2)), X, y)


def test_measures_take_turns_and_size_counts() -> None:
    prior = pfi(nll={"a": 0.1, "b": -3.0, "c": 0.2, "d": 0.0}, entropy={"a": 0.0, "b": 2.0, "c": 0.1, "d": 1.0})
    features = ("a", "b", "c", "d")
    for most, chosen in ((1, ("b",)), (2, ("b", "c")), (3, ("b", "c", "d")), (4, features), (9, features)):
        names, rule = leading(features, prior, most)
        assert names == chosen
        words = f"the {most} of 4 features with the largest permutation importance, each measure in turn"
        assert rule == (words if most < 4 else "")


def test_twenty_features_lead() -> None:
    names = tuple(f"x{k}" for k in range(21))
    assert leading(names, {}) == (names[:20], "the first 20 of 21 features")
    assert leading(names[:20], {}) == (names[:20], "")


def test_without_importance_the_first_features_lead() -> None:
    for prior in ({}, pfi(nll={})):
        assert leading(("b", "a", "c"), prior, 2) == (("b", "a"), "the first 2 of 3 features")
    assert leading(("a", "b", "c"), pfi(nll={"c": 1.0}), 2)[0] == ("a", "c")


@pytest.mark.parametrize("d", [LED, D])
def test_profiles_keep_single_rows_of_leading_features_and_the_average_of_all(d: int) -> None:
    run = uq.audit(subject(d), explainers=("pfi", "pdp"), options={"pfi": {"n_repeats": 3}}).run
    view = Pdp.find(run)
    assert view is not None
    frame, names = view.result.frame, set(run.result("pfi").frame["feature"])
    assert set(frame.loc[frame["curve"] == -1, "feature"]) == names
    curved = set(frame.loc[frame["curve"] >= 0, "feature"])
    assert len(curved) == LED
    assert {f"x{d - 1}", f"x{d - 2}"} <= curved
    words = f"Only the {LED} of {d} features with the largest permutation importance, each measure in turn have them."
    assert (words in " ".join(view.result.notes)) == (d > LED)


def test_profiles_that_are_asked_for_keep_them_all() -> None:
    names = tuple(f"x{j}" for j in range(D))
    frame = uq.profile(subject(D), list(names))["pdp"].frame
    assert set(frame.loc[frame["curve"] >= 0, "feature"]) == set(names)


def test_dalex_shuffles_those_that_lead() -> None:
    pytest.importorskip("dalex")
    chosen = {"pfi": {"n_repeats": 3}, "dalex": {"parts": ("model_parts",), "n_repeats": 2}}
    result = uq.audit(subject(D), explainers=("pfi", "dalex"), options=chosen).run.result("dalex.model_parts")
    assert result.estimates["feature"].nunique() == LED
    assert {f"x{D - 1}", f"x{D - 2}"} <= set(result.estimates["feature"])
    assert any(note.startswith(f"DALEX permuted the {LED} of {D} features with the largest") for note in result.notes)


def test_the_lasso_is_left_out_above_a_number_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, graph in ((6, "lasso, penalty by 5-fold cross-validation"), (5, "all pairs, covariance shrunk by")):
        monkeypatch.setattr(estimate, "MOST_FOLDED", most)
        result = uq.audit(subject(6), explainers=("pfi", "cid"), options={"pfi": {"n_repeats": 3}}).run.result("cid")
        assert result.meta["graph"].startswith(graph)
        words = "a lasso whose penalty is cross-validated, for 6 features: its cost grows with the third power"
        assert (words in " ".join(result.notes)) == (most == 5)
