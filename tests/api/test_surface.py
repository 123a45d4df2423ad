"""The Python surface: what people type works, and what cannot work is answered with what is meant."""

import inspect
import pydoc
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import uq_report as uq
from uq_report.api.several import AuditRuns
from uq_report.api.showing import show_page
from uq_report.api.views import row_labels
from uq_report.core.explainer import BuiltInExplainer
from uq_report.core.model.measures import ENTROPY, Measure
from uq_report.core.support.errors import FOREIGN_NAMES, InputError, ModelError, UnsupportedError
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import Run
from uq_report.methods.pfi.explain import PermutationImportance

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
Y = (X["a"] + 0.5 * rng.normal(size=90) > 0).astype(int)
GROUP = np.where(np.arange(90) < 30, "left", "right")
MODEL = LogisticRegression().fit(X, Y)
SUBJECT = uq.explain(MODEL, X, Y, train=(X, Y), protected={"side": GROUP})
VIEW = uq.importance(SUBJECT, n_repeats=3)
PROFILE = uq.profile(SUBJECT, "a", grid_resolution=4, max_ice=90)
RUN = uq.audit(SUBJECT, explainers="pfi", checks="leak", options={"pfi": {"n_repeats": 3}}, progress=False)
FEW: dict[str, dict[str, Any]] = {
    "adjusted_importance": {"n_repeats": 3},
    "agreement": {"explainers": "pfi", "n_draws": 100},
    "attributions": {"rows": 0, "measures": "entropy"},
    "calibration": {"n_draws": 99},
    "covered_information": {"n_sets": 10},
    "drift": {"n_repeats": 3},
    "effects": {"features": "a", "measures": "entropy"},
    "groups": {"n_draws": 99, "n_min": 5},
    "importance": {"n_repeats": 3, "measures": "entropy"},
    "interactions": {"measures": "entropy", "max_rows": 10},
    "profile": {"features": "a", "measures": "entropy", "grid_resolution": 3},
    "redundancy": {"n_splits": 2},
    "segments": {"measures": "entropy"},
    "sensitivity": {"features": ["a", "b"], "max_rows": 10},
}
WHOLE: dict[str, Any] = {"train": (X, Y), "protected": {"side": GROUP}, "progress": False}


def typed(thing: Any) -> Any:
    """Return a thing whose attributes a type checker does not know."""
    return thing


def verb(name: str) -> Callable[..., Any]:
    return getattr(uq, name)


@pytest.mark.parametrize("name", FEW)
def test_every_verb_takes_a_subject_or_a_model_and_draws(name: str) -> None:
    by_subject = verb(name)(SUBJECT, progress=False, **FEW[name])
    by_model = verb(name)(MODEL, X, Y, **WHOLE, **FEW[name])
    pd.testing.assert_frame_equal(by_subject.estimates, by_model.estimates)
    assert isinstance(by_subject.plot(), Figure)
    assert by_subject._repr_html_().startswith("<p><strong>")


def test_an_audit_takes_a_model_with_its_data_and_facts() -> None:
    asked: dict[str, Any] = {"explainers": "pfi", "options": {"pfi": {"n_repeats": 3}}, "progress": False}
    run = uq.audit(MODEL, X, Y, label="mine", train=(X, Y), seed=3, **asked)
    assert (run.run.subject["label"], run.run.settings["seed"]) == ("mine", 3)
    assert "pfi.train" in run.keys()  # noqa: SIM118 - a method of its own, as of a mapping
    by_name = uq.audit(MODEL, X=X, y=Y, **asked)
    by_data = uq.audit(MODEL, data=X, y=Y, **asked)
    assert by_name["pfi"].estimates.equals(by_data["pfi"].estimates)


def test_the_second_order_of_r_sens_is_an_interaction() -> None:
    assert uq.interactions(SUBJECT, "rsens", max_rows=10).result.id == "rsens.interaction"
    with pytest.raises(
        InputError, match=r"method must be one of \['h_statistic', 'pdp', 'rsens', 'shap'\]; got 'rsen'"
    ):
        uq.interactions(SUBJECT, "rsen")


def test_partial_dependence_gives_interactions_of_features_or_of_pairs() -> None:
    every = uq.interactions(SUBJECT, "pdp", measures="prediction", grid_resolution=3)
    assert every.result.id == "pdp.interaction"
    assert every.estimates[["feature", "feature_2"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert isinstance(every.plot(), Figure)
    options: dict[str, Any] = {"measures": "prediction", "grid_resolution": 3}
    several: list[Any] = [("a", "c"), [("a", "c")], ["a", "c"], [0, 2]]
    for asked in several:
        one = uq.interactions(SUBJECT, "pdp", features=asked, **options)
        assert one.estimates["estimate"].tolist() == every.estimates["estimate"].tolist()[1:2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: verb("explain")(MODEL, X_test=X), "explain.X_test must be a known argument; got 'X_test'. Did you"),
        (lambda: verb("explain")(MODEL, X, y_test=Y), "Did you mean 'y'?"),
        (lambda: verb("explain")(MODEL, X, Y, postive_class=1), "Did you mean 'positive_class'?"),
        (lambda: verb("importance")(MODEL, X_test=X), "importance.X_test must be a known argument; got"),
        (lambda: verb("importance")(SUBJECT, n_permutations=3), "Did you mean 'n_repeats'?"),
        (lambda: verb("importance")(SUBJECT, scoring="nll"), "Did you mean 'measures'?"),
        (lambda: verb("importance")(SUBJECT, progess=False), "Did you mean 'progress'?"),
        (lambda: verb("importance")(SUBJECT, "nll", "entropy"), "got a call with too many positional arguments."),
        (lambda: verb("case")(SUBJECT), "got a call with missing a required argument: 'row'."),
        (lambda: verb("case")(SUBJECT, 3, thresold=1), "Did you mean 'threshold'?"),
        (lambda: verb("explain")(MODEL, X, Y, X, Y), "explain(model, X, y, *, data, train, groups"),
        (lambda: verb("explain")(MODEL, X, Y.iloc[::-1]), "explain.y must be in the order of its rows"),
        (lambda: verb("explain")(MODEL, X, Y, train=(X, Y.iloc[::-1])), "explain.train must be in the order"),
        (lambda: verb("explain")(X, Y, MODEL), "explain.model must come before its rows"),
        (lambda: verb("explain")(MODEL, X, Y, predict_function=len), "Did you mean 'model'?"),
        (lambda: verb("explain")(lambda X: MODEL.predict_proba(X) + 0.0, X, Y), "return uq.dist.Categorical("),
        (lambda: verb("audit")(SUBJECT, explainers="importance"), "got 'importance'. Did you mean 'pfi'?"),
        (lambda: verb("audit")(SUBJECT, explainers="all"), "got 'all'. Leave it out for all."),
        (lambda: RUN["permutation_importance"], "Did you mean 'pfi'?"),
        (lambda: verb("explain")(MODEL, X, Y, protected=X["a"].iloc[::-1]), "explain.protected must be in the order"),
        (lambda: verb("explain")(MODEL.predict_proba(X), X, Y), "Pass stored predictions as uq.dist.Categorical("),
        (lambda: verb("audit")(SUBJECT, title="mine"), "Pass about={'title': ...}."),
        (lambda: verb("audit")(SUBJECT, policy=["nll <= 1"]), "Pass options={'checks.policy': {'require': [...]}}."),
        (lambda: RUN["drivers"], "Did you mean 'pfi.drivers'?"),
        (lambda: typed(RUN).write("out", format="html"), "Did you mean 'formats'?"),
        (verb("explain"), "got a call with missing a required argument: 'model'."),
        (lambda: verb("audit")(SUBJECT, random_state=3), "Did you mean 'seed'?"),
        (lambda: verb("audit")(MODEL, X, Y, X_train=X), "Did you mean 'train'?"),
        (lambda: verb("audit")(SUBJECT, X, Y), "audit.X must be left out where a subject is given: it has its own."),
        (lambda: verb("audit")(SUBJECT, label="b"), "Call uq.audit(uq.explain(model, X, y, label=...))."),
        (lambda: verb("audit")(SUBJECT, explainers="pfy"), "got 'pfy'. Did you mean 'pfi'?"),
        (lambda: verb("audit")(SUBJECT, explainers=[3]), "explainers must be names or objects of the contract; got"),
        (lambda: VIEW.plot(measure="entrop"), "Did you mean 'entropy'?"),
        (lambda: VIEW.plot(metric="entropy"), "Choices: measure (brier, nll, entropy); top; by; swarm; truncate."),
        (lambda: VIEW.plot(colour_by="a"), "plot.colour_by must be a choice of the figure of 'pfi'"),
        (lambda: VIEW.plot(kind="bars"), "plot.kind must be one of ['pfi', 'delta', 'claims'"),
        (lambda: VIEW.plot(by="d"), "plot.by must be a feature or protected attribute; got 'd'."),
        (lambda: VIEW["nlll"], "got 'nlll'. Did you mean 'nll'?"),
        (lambda: RUN["shap"], "run['shap'] must be a result of the run; shap did not run: not chosen in the settings."),
        (lambda: RUN.save("x.docx"), "save.path must end in .html"),
        (lambda: VIEW.save("x.bmp"), "save.path must end in .svg, .png, .pdf; got 'x.bmp'."),
        (lambda: verb("audit")(SUBJECT, pfi={"n_repeats": 3}), "Pass options={'pfi': {...}}."),
        (lambda: uq.plugins("explainer"), "Did you mean 'explainers'?"),
        (lambda: uq.options("pfy"), "Did you mean 'pfi'?"),
        (lambda: uq.scorer("nlll"), "Did you mean 'nll'?"),
        (lambda: uq.scorer("prediction")(MODEL, X, Y), "must be a loss or an uncertainty; got"),
        (lambda: typed(uq.Settings)(sed=1), "Settings.sed must be a known setting; got 'sed'. Did you mean 'seed'?"),
        (lambda: uq.Settings(seed=-1), "Settings.seed must be greater than or equal to 0; got -1."),
        (lambda: typed(uq.Settings)(3), "Settings must be given by name; got 3."),
        (lambda: RUN.findings["UQ10"], "The name of a row or column must be known; got 'UQ10'."),
        (lambda: RUN.findings[9], "The number of a row must be below"),
        (lambda: RUN.findings.filter(code="UQ101"), "Write table[table['code'] == 'UQ101']."),
        (lambda: RUN.results["pdp"], "The name must be one of ['pfi'"),
        (lambda: verb("audit")(SUBJECT, n_repeats=3), "Pass options={'cover': {'n_repeats': ...}}; cover, "),
        (lambda: verb("attributions")(SUBJECT, rows=X.iloc[:1]), "or call uq.case(subject, row) on a new observation."),
    ],
)  # fmt: skip
def test_what_is_typed_otherwise_is_answered_with_what_is_meant(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(uq.UQReportError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_attribute_of_another_library_is_answered() -> None:
    runs = AuditRuns(a=RUN)
    for thing, name, meant in (
        (SUBJECT, "predict_proba", "Did you mean 'model'?"),
        (SUBJECT, "feature_names", "Did you mean 'features'?"),
        (RUN, "to_frame", "Did you mean 'summary'?"),
        (RUN, "importance", "Use brackets: ['pfi']."),
        (VIEW, "entropy", "Use brackets: ['entropy']."),
        (runs, "summary", "Use brackets: ['a'].summary."),
    ):
        kind = type(thing).__name__
        with pytest.raises(AttributeError, match=re.escape(f"{kind!r} object has no attribute {name!r}. {meant}")):
            getattr(thing, name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_table_does_whatever_a_frame_does() -> None:
    table = uq.options("pfi")
    frame, done = table.to_frame(), 0
    for name in (
        name
        for name in dir(frame)
        if name[0] != "_" and name not in ("plot", "hist", "boxplot", "info", "to_clipboard", "sample")
    ):
        try:
            expected = getattr(frame, name)()
        except Exception:  # noqa: BLE001 - needs arguments, or numbers
            continue
        done += 1
        found = getattr(table, name)()
        if isinstance(expected, pd.DataFrame | pd.Series):
            assert expected.equals(found), name
        elif isinstance(expected, str):
            assert expected == found, name
    assert done > 60
    assert repr(table) == repr(frame)


def test_tables_and_results_are_read_by_row_by_name_and_as_frames() -> None:
    plugins = uq.plugins("checks")
    assert list(plugins) == plugins.columns.tolist()
    with pytest.raises(AttributeError, match=r"gives its columns, 'group' here\. For its rows write: .*itertuples"):
        [row.name for row in plugins]
    with pytest.raises(InputError, match=r"gives its columns, 'group' here\. For its rows write: .*itertuples"):
        [row["name"] for row in plugins]
    assert plugins[0]["name"] == plugins[-len(plugins)]["name"] == plugins["name"].iloc[0]
    assert "leak" in plugins
    assert "name" in plugins
    assert "lek" not in plugins
    assert plugins["leak"]["group"].tolist() == ["checks"]
    assert plugins[plugins["name"] == "leak"].equals(plugins["leak"])
    assert type(plugins.to_frame()) is pd.DataFrame
    assert len(RUN) == len(RUN.results) == len(RUN.keys())
    assert AuditRuns(a=RUN, b=RUN).findings["code"].tolist() == 2 * RUN.findings["code"].tolist()
    assert RUN.results[0].estimates.equals(RUN.results["pfi"].estimates)
    assert len(SUBJECT) == 90


def test_protected_attributes_are_a_column_or_a_frame() -> None:
    side = pd.Series(GROUP, index=X.index, name="side")
    for given in (side, side.to_frame(), {"side": GROUP}):
        assert uq.explain(MODEL, X, Y, protected=given).protected["side"].tolist() == GROUP.tolist()


def test_a_method_of_a_classifier_is_the_classifier() -> None:
    assert uq.explain(MODEL.predict_proba, X, Y).model is MODEL


def test_models_by_name_are_explained_on_the_same_data(tmp_path: Path) -> None:
    models = {"one": MODEL, "two": LogisticRegression(C=0.01).fit(X, Y)}
    views = uq.importance(models, X, Y, n_repeats=3)
    assert views["two"].estimates.equals(uq.importance(models["two"], X, Y, n_repeats=3).estimates)
    runs = uq.audit(models, X, Y, explainers="calibration", checks=(), progress=False)
    assert list(runs) == ["one", "two"]
    assert typed(runs["one"]).write(tmp_path / "out", formats="markdown").joinpath("report.md").is_file()
    assert runs.write(tmp_path / "all", formats="markdown").joinpath("two/report.md").is_file()


def test_outcomes_of_the_same_order_or_another_index_are_taken_by_position() -> None:
    for y in (Y, Y.reset_index(drop=True), Y.set_axis(range(500, 590)), Y.iloc[::-1].to_numpy()):
        assert uq.explain(MODEL, X, y).n == 90


def test_foreign_names_lead_to_names_that_exist() -> None:
    known = {
        *inspect.signature(uq.explain).parameters,
        *inspect.signature(uq.audit).parameters,
        *uq.Settings.model_fields,
    }
    known |= {"measures", "measure", "features", "feature", "rows", "row", "n_repeats", "grid_resolution", "n_rows"}
    known |= {"colour_by", "by", "mean", "loc", "std", "scale", "rate", "Normal", "individual", "beeswarm", "top"}
    known |= {*uq.options("pdp")["option"], *dir(uq.case(SUBJECT, 3))}
    known |= {
        *uq.plugins("measures")["name"],
        *uq.plugins("explainers")["name"],
        *dir(uq),
        *dir(VIEW),
        *dir(RUN),
        *dir(SUBJECT),
    }
    assert {ours for names in FOREIGN_NAMES.values() for ours in names} <= known
    assert not FOREIGN_NAMES.keys() & {"measures", "features", "X", "y"}


def test_one_name_is_a_list_of_one() -> None:
    for names in ("entropy", ["entropy"], ("entropy",)):
        assert uq.importance(SUBJECT, names, n_repeats=3).measures == ("entropy",)
    assert uq.attributions(SUBJECT, 3, "entropy").frame["row"].unique().tolist() == [3]
    assert uq.explain(MODEL, X, Y, deny="dalex").n == 90
    by_position = uq.importance(SUBJECT, "entropy", features=typed([0, 2]), n_repeats=3).estimates["feature"]
    assert set(by_position) == {"a", "c"}


def test_a_pair_is_drawn_as_a_surface() -> None:
    view = uq.profile(SUBJECT, ("a", "b"), ["entropy", "prediction"], grid_resolution=3)
    assert view.result.id == "pdp.surface"
    figure = view.plot(measure="prediction")
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("a", "b")
    by_position = uq.profile(SUBJECT, (0, 1), ["entropy", "prediction"], grid_resolution=3)
    assert by_position.frame.equals(view.frame)


def test_empty_results_say_why() -> None:
    view = uq.profile(SUBJECT, ("a", "b"), "entropy", grid_resolution=3)["pdp"]
    with pytest.raises(
        InputError, match=r"pdp\.feature must have values to draw; got an empty result: nothing was asked"
    ):
        view.plot()


def test_centered_is_centred() -> None:
    options: dict[str, Any] = {"measures": "entropy", "grid_resolution": 3}
    one, other = (uq.profile(SUBJECT, "a", mode=mode, **options) for mode in ("centered", "centred"))
    pd.testing.assert_frame_equal(one.frame, other.frame)


def test_parts_of_a_view_are_found_by_measure_and_by_id() -> None:
    assert set(VIEW["nll"].estimates["measure"]) == {"nll"}
    assert VIEW["nll"].frame["measure"].unique().tolist() == ["nll"]
    assert VIEW["train"].result.id == VIEW["pfi.train"].result.id == "pfi.train"
    assert isinstance(VIEW.plot("claims"), Figure)
    assert set(VIEW["a"].estimates["feature"]) == {"a"}
    assert PROFILE["a"].frame.equals(PROFILE.frame)
    pairs = uq.interactions(SUBJECT, max_rows=10, measures="entropy")["b"].estimates
    assert {frozenset(pair) for pair in pairs[["feature", "feature_2"]].to_numpy()} == {
        frozenset({"a", "b"}), frozenset({"b", "c"}), frozenset({"b", ""})
    }  # fmt: skip


def test_curves_are_coloured_and_averaged_by_any_feature() -> None:
    labels = row_labels(SUBJECT, "b")
    assert len(labels.order) == 3
    assert sorted(pd.Series(labels.of_row).value_counts()) == [30, 30, 30]
    texts = {text.get_text() for text in PROFILE.plot(measure="entropy", colour_by="b").legends[0].texts}
    assert {f"b: {label}".replace("-", "−") for label in labels.order} <= texts
    figure = PROFILE.plot(measure="entropy", by="side")
    frame = PROFILE.frame.query("measure == 'entropy' and curve >= 0 and curve < 30")
    average = frame.groupby("x")["value"].mean().to_numpy()
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    assert any(np.size(y) == len(average) and np.allclose(y, average) for y in lines)


def test_importance_by_group_is_the_mean_over_its_rows() -> None:
    figure = VIEW.plot(measure="nll", by="side")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["left (n = 30)", "right (n = 60)"]
    rows = VIEW.result.rows
    assert rows is not None
    mean = rows.of("nll", "a")[:30].mean()
    dots = np.concatenate([np.atleast_1d(line.get_xdata()) for line in figure.axes[0].lines])
    assert np.isclose(dots, mean).any()
    loaded = replace(VIEW.result)
    with pytest.raises(UnsupportedError, match=r"plot\.by must have the rows; a saved run has none"):
        type(VIEW)([loaded]).plot(by="side")


def test_thirds_levels_and_missing_values_are_labels() -> None:
    frame = X.assign(b=np.where(np.arange(90) < 9, np.nan, X["b"]), c=pd.Categorical(np.arange(90) % 8))
    subject = uq.explain(lambda rows: uq.dist.Normal(rows["a"], 1.0), frame)
    assert row_labels(subject, "b").order[-1] == "missing"
    assert set(row_labels(subject, "c").order) == {*(str(k) for k in range(6)), "other levels"}


def test_a_run_is_read_by_name_and_saved_by_suffix(tmp_path: Path) -> None:
    assert RUN.recommendation in repr(RUN)
    assert RUN["pfi"].result.id == "pfi"
    assert RUN.keys()[0] == "pfi"
    assert RUN.save(tmp_path / "r.html").read_bytes() == RUN.render("html")
    assert RUN.save(tmp_path / "r.md").read_text().startswith("#")
    assert (RUN.save(f"{tmp_path}/all/", template="brief") / "run.json").exists()
    assert RUN.compare(tmp_path / "all").changes is not None
    assert VIEW.save(tmp_path / "f.svg", measure="nll").read_text().startswith("<svg")
    assert pd.read_csv(VIEW.save(tmp_path / "t.csv")).shape == VIEW.estimates.shape


def test_reports_and_figures_are_shown_in_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    RUN.show()
    VIEW.show(measure="nll")
    show_page(b"<p>x</p>")
    assert [Path(address).suffix for address in opened] == [".html", ".svg", ".html"]
    for address in opened:
        Path(address.removeprefix("file://")).unlink()


MARGIN = Measure(
    "margin", lambda dist, y, base: abs(dist.mean() - 0.5), "probability", "uncertainty", frozenset({"mean"}),
    direction="smaller",
)  # fmt: skip


@dataclass(frozen=True)
class Mine(BuiltInExplainer):
    """An explainer of a notebook."""

    n: int = 1

    name: ClassVar[str] = "mine"
    section: ClassVar[str] = "prediction.mine"

    def explain(self, subject: Any, engine: Any, prior: Any) -> Any:
        results = PermutationImportance(n_repeats=self.n, measures=("entropy",), train=False).explain(
            subject, engine, prior
        )
        return [replace(results[0], id="mine", explainer="mine", options={"n": self.n})]


class Strict:
    """A check of a notebook."""

    name: ClassVar[str] = "strict"
    title: ClassVar[str] = "Strict"
    api_version: ClassVar[int] = 1
    rules: ClassVar[tuple[Any, ...]] = ()

    def check(self, run: Run) -> Outcome:
        return Outcome(check=self.name, state="passed")


def test_measures_explainers_and_checks_are_passed_as_objects() -> None:
    assert uq.importance(SUBJECT, MARGIN, n_repeats=3).measures == ("margin",)
    options = {"pfi": {"n_repeats": 3, "measures": [MARGIN, ENTROPY]}}
    run = uq.audit(SUBJECT, explainers=["pfi", Mine(n=3)], checks=Strict, options=options, progress=False)
    assert run["pfi"].measures == ("margin", "entropy")
    assert run["mine"].measures == ("entropy",)
    assert run.run.settings["options"]["mine"] == {"n": 3}
    assert [(o.check, o.state) for o in run.run.outcomes if o.check == "strict"] == [("strict", "passed")]
    (record,) = (record for record in run.run.plugins if record.name == "mine")
    assert record.distribution == "this session"
    assert b"mine" in run.render("html")
    assert "mine" not in uq.plugins("explainers")["name"].tolist()
    own = uq.audit(SUBJECT, explainers=PermutationImportance(n_repeats=3, measures=("entropy",)), progress=False)
    assert own["pfi"].measures == ("entropy",)


def test_a_measure_that_fails_is_named() -> None:
    odd = replace(MARGIN, name="odd", rows=lambda dist, y, base: dist.nothing)
    with pytest.raises(ModelError, match=r"measure 'odd' must return a number per row .*it failed on a categorical"):
        uq.importance(SUBJECT, odd, n_repeats=3)


def test_scores_are_those_of_the_measures() -> None:
    p = MODEL.predict_proba(X)
    assert uq.scorer("nll")(MODEL, X, Y) == pytest.approx(np.log(p[np.arange(90), Y]).mean(), rel=1e-12)
    assert uq.scorer("entropy")(MODEL, X) == pytest.approx((p * np.log(p)).sum(axis=1).mean(), rel=1e-12)
    assert uq.scorer(MARGIN)(MODEL, X) == pytest.approx(abs(p[:, 1] - 0.5).mean(), rel=1e-12)
    assert uq.scorer("one_minus_auc")(MODEL, X, Y) < 0
    assert (cross_val_score(MODEL, X, Y, scoring=uq.scorer("brier"), cv=3) < 0).all()


def test_what_is_installed_is_listed() -> None:
    table = uq.plugins("measures")
    assert {"nll", "entropy"} <= set(table["name"])
    assert uq.plugins()["group"].nunique() == 9
    assert uq.options("pfi").set_index("option").loc["n_repeats", "default"] == "30"
    assert "severity" in uq.options("checks.policy")["option"].tolist()


def test_distributions_are_in_dist_and_sub_packages_shadow_no_verb() -> None:
    from uq_report import distributions

    assert uq.dist is distributions
    assert not {"Normal", "Categorical"} & set(dir(uq))
    hints = {
        "Normal": "uq.dist.Normal", "report": "save('report.html')", "render": "save('report.pdf')",
        "compare": "run.compare(previous)", "imprtance": "Did you mean 'importance'?",
    }  # fmt: skip
    import uq_report.render.html
    import uq_report.report  # noqa: F401 - bound to the package, were it any other name

    for name, hint in hints.items():
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as caught:
            getattr(uq, name)
        assert hint in str(caught.value)


def test_help_is_a_page() -> None:
    page = pydoc.plain(pydoc.render_doc(uq))
    assert len(page.splitlines()) < 110
    for name in (*FEW, "audit", "explain", "plugins", "options", "scorer", "dist", "save"):
        assert name in page
    assert "features" in str(inspect.signature(uq.profile))
    assert str(inspect.signature(uq.importance)).startswith("(subject_or_model, /, X=None, y=None, *, measures")


class Dots:
    """A figure of a notebook."""

    name: ClassVar[str] = "importance"
    api_version: ClassVar[int] = 1

    def draw(self, result: Any, *, title: str = "") -> Figure:
        figure = Figure()
        figure.suptitle(title)
        return figure


@pytest.mark.parametrize("figure", [Dots, Dots()])
def test_figures_are_passed_as_objects(figure: Any) -> None:
    drawn = VIEW.plot(figure=figure, title="mine")
    assert drawn.get_suptitle() == "mine"
    assert "image/png" in drawn._repr_mimebundle_()[0]  # type: ignore[attr-defined]
    with pytest.raises(
        InputError, match=r"plot\.measure must be a choice of the figure of 'pfi'; it is not\. Choices: title"
    ):
        VIEW.plot(figure=figure, measure="nll")
