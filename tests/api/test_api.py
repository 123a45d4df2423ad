"""The public verbs and the views they return."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression

import uq_report as uq
from uq_report.api.views import AuditRun, ResultView
from uq_report.core.engine.fast_path_evaluator import Progress
from uq_report.core.model.subject import Subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.errors import InputError, UnsupportedError, UQReportError
from uq_report.distributions import Normal, Quantiles
from uq_report.testing import linear_subject, logistic_subject

from ..packages import Packages

AS_OF = "2026-01-31"


def frame(n: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def subject() -> Subject:
    X = frame()
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    return uq.explain(LogisticRegression().fit(X, y), X, y, label="<b>logit</b>")


@pytest.fixture(scope="module")
def importance(subject: Subject) -> ResultView:
    return uq.importance(subject, ["nll", "entropy"], n_repeats=5)


def test_public_names_are_resolved_and_listed() -> None:
    assert {"explain", "importance", "profile", "audit", "load"} <= set(dir(uq))
    assert all(callable(getattr(uq, name)) for name in dir(uq) if name not in ("dist", "__version__"))
    with pytest.raises(AttributeError, match="no attribute 'explian'"):
        _ = uq.explian


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "sklearn scipy.stats matplotlib shap dalex weasyprint numpy"
    code = f"import sys, uq_report; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_explain_chooses_the_adapter_and_says_why(subject: Subject) -> None:
    assert (subject.adapter.name, subject.adapter_reason) == ("classifier", "has predict_proba and classes_")
    forest = RandomForestClassifier(3, random_state=0).fit(subject.X, subject.y)
    assert uq.explain(forest, subject.X).adapter.name == "ensemble"
    assert uq.explain(forest, subject.X, adapter="classifier").adapter_reason == "named by the user"


def test_explain_takes_functions_and_regressors() -> None:
    X = frame()
    assert uq.explain(lambda X: Normal(X["a"], 1.0 + 0 * X["a"]), X, X["a"]).adapter.name == "function"
    ridge = BayesianRidge().fit(X, X["a"])
    assert uq.explain(ridge, X, X["a"]).adapter.name == "regressor_std"


def test_a_dalex_explainer_is_taken_as_it_is(subject: Subject) -> None:
    dx = pytest.importorskip("dalex", reason="dalex explainers need dalex")
    explainer = dx.Explainer(subject.model, subject.X, subject.y == "yes", label="mine", verbose=False)
    taken = uq.explain(explainer)
    assert (taken.label, taken.adapter.name, taken.positive_class) == ("mine", "classifier", "yes")
    np.testing.assert_array_equal(np.asarray(taken.y), np.asarray(subject.y))
    over = uq.explain(explainer, label="other", max_rows=10, adapter="classifier")
    assert (over.label, over.n, over.adapter_reason) == ("other", 10, "named by the user")


def test_importance_is_a_view_with_everything(importance: ResultView) -> None:
    assert set(importance.frame["measure"]) == {"nll", "entropy"}
    assert list(importance.frame.columns) == ["measure", "feature", "repeat", "value"]
    assert {"estimate", "lower", "upper", "covers"} <= set(importance.estimates)
    summary = importance.summary()
    by_measure = summary[summary["measure"] == "nll"]["estimate"]
    assert by_measure.is_monotonic_decreasing
    assert importance["pfi.delta"].result.id == "pfi.delta"
    with pytest.raises(InputError, match=r"view id must be one of \['pfi'"):
        importance["pfy"]
    assert isinstance(importance.plot(), Figure)


def test_results_depend_on_the_seed_alone(subject: Subject, importance: ResultView) -> None:
    again = uq.importance(subject, ["entropy", "nll"], n_repeats=5, n_jobs=2, backend="threading", batch_rows=40)
    other = uq.importance(subject, ["nll", "entropy"], n_repeats=5, seed=1)
    key = ["measure", "feature", "repeat"]
    first = importance.frame.sort_values(key)["value"].to_numpy()
    np.testing.assert_allclose(again.frame.sort_values(key)["value"].to_numpy(), first, rtol=0, atol=1e-12)
    assert np.abs(other.frame.sort_values(key)["value"].to_numpy() - first).max() > 0


def test_profile_takes_a_name_a_pair_or_a_list(subject: Subject) -> None:
    options: dict[str, Any] = {"measures": ["entropy"], "grid_resolution": 4}
    assert set(uq.profile(subject, "a", **options).frame["feature"]) == {"a"}
    both = uq.profile(subject, ["b", ("a", "c")], **options)
    assert set(both["pdp"].frame["feature"]) == {"b"}
    assert set(both["pdp.surface"].frame["feature_2"]) == {"c"}
    assert set(uq.profile(subject, ("a", "c"), **options)["pdp.surface"].frame["feature"]) == {"a"}


def test_attributions_add_up_and_become_shap(subject: Subject) -> None:
    view = uq.attributions(subject, rows=[3], measures=["entropy"])
    total = view.frame.groupby("row")["value"].sum() + view.frame.groupby("row")["base"].first()
    p = subject.model.predict_proba(subject.X)[3]
    np.testing.assert_allclose(total.loc[3], -(p * np.log(p)).sum(), atol=1e-9)
    pytest.importorskip("shap", reason="conversion needs shap")
    assert view.to_shap("entropy").values.shape == (1, 3)


def test_conversions_refuse_other_kinds(importance: ResultView) -> None:
    with pytest.raises(UnsupportedError, match=r"to_shap\.result must be an attribution; got 'pfi'"):
        importance.to_shap("nll")
    pytest.importorskip("dalex", reason="conversion needs dalex")
    assert set(importance.to_dalex()) == {"nll", "entropy"}


def test_a_measure_becomes_a_dalex_explainer(subject: Subject) -> None:
    pytest.importorskip("dalex", reason="dalex explainers need dalex")
    explainer = uq.dalex_explainer(subject, "entropy")
    p = subject.model.predict_proba(subject.X)
    np.testing.assert_allclose(explainer.predict(explainer.data), -(p * np.log(p)).sum(axis=1), atol=1e-12)


def test_calibration_gives_scores(subject: Subject) -> None:
    assert "calibration.reliability" in uq.calibration(subject, n_draws=99).ids


def test_wrong_options_name_the_nearest(subject: Subject) -> None:
    with pytest.raises(InputError, match=r"pfi\.n_repeat must be a known option; got 'n_repeat'\. Did you mean 'n_rep"):
        getattr(uq, "importance")(subject, n_repeat=3)  # noqa: B009 - type checkers refuse it as well
    with pytest.raises(InputError, match=r"audit\.explainer must be a known setting.*Did you mean 'explainers'"):
        uq.audit(subject, explainer=["pfi"])
    with pytest.raises(InputError, match=r"got 'entrpy'\. Did you mean 'entropy'"):
        uq.importance(subject, ["entrpy"])


def test_without_y_entropy_works_and_nll_says_why_not() -> None:
    without = uq.explain(linear_subject(30).model, linear_subject(30).X, adapter=linear_subject(30).adapter)
    view = uq.importance(without, ["entropy", "nll"], n_repeats=3)
    assert set(view.frame["measure"]) == {"entropy"}
    assert any("nll left out: it needs outcomes" in note for note in view.notes)
    with pytest.raises((InputError, UnsupportedError), match="nll: it needs outcomes, which were not given"):
        uq.importance(without, ["nll"], n_repeats=3)


@pytest.fixture(scope="module")
def run(subject: Subject) -> AuditRun:
    options = {"pfi": {"n_repeats": 4, "measures": ["entropy"]}}
    return uq.audit(subject, explainers=["pfi"], options=options, as_of=AS_OF, about={"title": "T <i>"}, progress=False)


def test_an_audit_writes_is_loaded_and_renders_the_same_bytes(run: AuditRun, tmp_path: Path) -> None:
    folder = run.write(tmp_path / "out", formats=["html"])
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["SHA256SUMS", "clock.json", "evidence", "report.html", "run.json"]
    loaded = uq.load(folder / "run.json")
    page = (folder / "report.html").read_bytes()
    assert loaded.render("html") == page
    assert run.run.as_of == AS_OF
    assert AS_OF.encode() in page
    assert b"T &lt;i&gt;" in page
    assert loaded.clock == run.clock
    assert list(loaded) == list(run)
    assert loaded["pfi"].summary().equals(run["pfi"].summary())


def test_rendering_needs_no_model_and_unknown_formats_are_told(run: AuditRun) -> None:
    with pytest.raises(UQReportError, match=r"format must be a registered name; got 'htm'\. Did you mean 'html'"):
        run.render("htm")


def test_notebook_tables_escape_outside_text(run: AuditRun, importance: ResultView) -> None:
    page = run._repr_html_()
    assert "&lt;b&gt;logit&lt;/b&gt;" in page
    assert "<b>logit" not in page
    assert "<table" in importance._repr_html_()
    assert "<b>logit</b>" in repr(run), "text for terminals is not HTML"
    missing = len(run.run.not_run)
    assert {part.reason for part in run.run.not_run} == {"not chosen in the settings"}
    for told in (repr(run), page):
        assert f"{missing} methods or checks that did not run." in told
    assert "Not chosen in the settings." in page
    assert "entropy" in repr(importance)


def test_settings_and_keywords_merge_and_keywords_win() -> None:
    settings = uq.Settings(explainers=("pdp",), seed=3, as_of=AS_OF)
    run = uq.audit(linear_subject(20), settings, seed=4, options={"pdp": {"grid_resolution": 3}}, progress=False)
    assert (run.run.settings["seed"], run.run.as_of) == (4, AS_OF)
    assert {r.explainer for r in run.run.results} == {"pdp"}


def test_progress_goes_to_a_callable_and_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    steps: list[Progress] = []
    uq.importance(logistic_subject(20), ["entropy"], n_repeats=3, progress=steps.append)
    assert {step.explainer for step in steps} == {"pfi"}
    uq.importance(logistic_subject(20), ["entropy"], n_repeats=3, progress=True)
    assert capsys.readouterr() == ("", "")


def test_the_subject_is_described_in_json_values(run: AuditRun) -> None:
    subject = run.run.subject
    assert json.loads(json.dumps(subject)) == subject
    assert (subject["task"], subject["classes"], subject["positive_class"]) == ("classification", ["no", "yes"], "yes")
    assert [f["name"] for f in subject["features"]] == ["a", "b", "c"]
    assert len(subject["hashes"]["X"]) == 64
    assert subject["model_parameters"]["C"] == "1.0"


def test_denied_plugins_are_not_imported_by_any_verb(packages: Packages) -> None:
    boom = "raise SystemExit('imported')"
    packages.install("denied_pkg", {f"{group}:boom": "denied_pkg:X" for group in ("adapters", "measures")}, boom)
    subject = uq.explain(lambda X: Normal(X["a"], 1.0 + 0 * X["a"]), frame(20), deny=["denied_pkg"])
    assert set(uq.importance(subject, ["entropy"], n_repeats=3, deny=["boom"]).frame["measure"]) == {"entropy"}
    run = uq.audit(subject, explainers=[], deny=["denied_pkg"], progress=False)
    assert {n.group for n in run.run.not_run if n.name == "boom"} == {"adapters", "measures"}


STEADY = (100, 100, 100, 50, 50)  # twice the same rows, then other batches: backwards, and in halves


@pytest.mark.parametrize(("time", "crossing", "calls"), [
    (True, True, [200, *STEADY, 300]), (True, False, [200, *STEADY, 300]), (False, False, [200, *STEADY]),
])  # fmt: skip
def test_all_rows_are_predicted_once_and_only_where_they_are_needed(
    time: bool, crossing: bool, calls: list[int]
) -> None:
    asked: list[int] = []

    def model(X: Any) -> Distribution:
        asked.append(len(X))
        centre = np.asarray(X)[:, 0]
        return Quantiles([0.1, 0.5, 0.9], centre[:, None] + [1.0, 0.0, 2.0]) if crossing else Normal(centre, 1.0)

    X = np.linspace(0.0, 1.0, 300)[:, None]
    subject = uq.explain(model, X, X[:, 0], time=np.arange(300) if time else None)
    assert asked == calls
    assert any("cross in 300 of 300 rows" in note for note in subject.notes) == crossing
    assert (subject.blocks is not None) == time
