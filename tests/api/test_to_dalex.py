"""Our results as dalex's own objects: its tables, its plots beside its own, and a dalex explainer of any measure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.api.interop import dalex_explainer, to_dalex
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, EPISTEMIC, NLL, PREDICTION
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Profile
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.errors import InputError, MissingDependencyError, UnsupportedError
from uq_report.core.traits.interop import mean_measure
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.dalex.explain import DalexExplanations
from uq_report.methods.pfi.explain import PermutationImportance

dalex = pytest.importorskip("dalex", reason="the objects are dalex's")

MEASURES = {m.name: m for m in (PREDICTION, ENTROPY, NLL, EPISTEMIC)}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=30), "job": RNG.choice(["a", "b"], 30), "rate": RNG.normal(size=30)})


def model(rows: Any) -> Distribution:
    score = rows["age"].to_numpy(dtype=float) + (rows["job"] == "a") + 0.3 * rows["rate"].to_numpy(dtype=float)
    p = 1 / (1 + np.exp(-np.asarray(score)))
    return Categorical(np.column_stack([1 - p, p]), classes=["no", "yes"])


Y = np.where(np.random.default_rng(1).random(30) < model(X).mean(), "yes", "no")


def subject(**more: Any) -> Subject:
    return make_subject(model, FunctionAdapter(), X, Y, label="credit", **more)


def engine(s: Subject) -> Engine:
    return Engine(s, MEASURES)


def estimates(keys: pd.DataFrame, **more: Any) -> pd.DataFrame:
    table = keys.assign(std_error=np.nan, lower=np.nan, upper=np.nan, confidence=np.nan, covers="none", **more)
    return table[[*ESTIMATE_COLUMNS, *(name for name in table if name not in ESTIMATE_COLUMNS)]]


def importance(**more: Any) -> Importance:
    frame = pd.DataFrame(
        [
            (measure, feature, repeat, scale * (place - 0.5 + 0.1 * repeat))
            for measure, scale in (("nll", 0.2), ("entropy", 0.1))
            for place, feature in enumerate(X)
            for repeat in range(3)
        ],
        columns=list(Importance.columns),
    )
    means = frame.groupby(["measure", "feature"], sort=False)["value"].mean().rename("estimate").reset_index()
    unpermuted = means["measure"].map({"nll": 0.6, "entropy": 0.5})
    return Importance(
        id="pfi", explainer="pfi", title="PFI", frame=frame, estimates=estimates(means, unpermuted=unpermuted), **more
    )


def profile() -> Profile:
    points = [("age", x, "") for x in (-1.0, 0.0, 1.0)] + [("job", k, level) for k, level in enumerate("ab")]
    frame = pd.DataFrame(
        [
            (measure, feature, "", x, level, np.nan, "", curve, 0.5 + 0.1 * x)
            for measure in ("nll", "entropy")
            for feature, x, level in points
            for curve in (-1, 4)
        ],
        columns=list(Profile.columns),
    )
    own = frame[frame["curve"] == -1].rename(columns={"value": "estimate"})[["measure", "feature", "estimate"]]
    return Profile(id="pdp", explainer="pdp", title="PDP", frame=frame, estimates=estimates(own))


def theirs(measure: str = "entropy") -> Any:
    return dalex_explainer(subject(), engine(subject()), measure)


def test_importance_has_dalex_s_table() -> None:
    made = to_dalex(importance())
    assert list(made) == ["nll", "entropy"]
    table = made["entropy"].result
    assert isinstance(made["entropy"], dalex.model_explanations.VariableImportance)
    assert list(table.columns) == ["variable", "dropout_loss", "label"]
    assert table["variable"].tolist() == ["_full_model_", "age", "job", "rate", "_baseline_"]
    np.testing.assert_allclose(table["dropout_loss"], [0.5, 0.46, 0.56, 0.66, 0.5], atol=1e-12)
    assert set(table["label"]) == {"pfi entropy"}
    np.testing.assert_allclose(made["entropy"].permutation["age"], 0.5 + 0.1 * (np.arange(3) * 0.1 - 0.5), atol=1e-12)


def test_recorded_losses_stand_before_everything_else() -> None:
    made = to_dalex(importance(meta={"full_model": {"nll": 0.7}, "baseline": {"nll": 0.9}}), label="ours")["nll"].result
    assert made["dropout_loss"].iloc[0] == 0.7
    assert made["dropout_loss"].iloc[-1] == 0.9
    assert set(made["label"]) == {"ours nll"}


def bars(figure: Any) -> set[str]:
    return {note.text for note in figure.layout.annotations}


def test_importance_plots_beside_dalex_s_own_both_ways() -> None:
    ours = to_dalex(importance())
    own = theirs().model_parts(loss_function=mean_measure, N=None, B=2, random_state=0)
    for figure in (own.plot(ours["entropy"], show=False), ours["entropy"].plot(own, show=False)):
        assert {"pfi entropy", "credit entropy"} <= bars(figure)
    split = ours["entropy"].plot([ours["nll"], own], split="variable", show=False)
    assert {"age", "job", "rate"} <= bars(split)


def test_drawn_bars_are_the_importances() -> None:
    figure = to_dalex(importance())["entropy"].plot(show=False)
    drawn = dict(zip(figure.data[0].y, figure.data[0].x, strict=True))
    assert drawn == pytest.approx({"age": -0.04, "job": 0.06, "rate": 0.16}, abs=1e-12)


@pytest.mark.parametrize(("kind", "features"), [("numerical", ["age"]), ("categorical", ["job"])])
def test_profiles_plot_beside_dalex_s_own_both_ways(kind: str, features: list[str]) -> None:
    ours = to_dalex(profile(), variable_type=kind)["entropy"]
    assert isinstance(ours, dalex.model_explanations.AggregatedProfiles)
    assert list(ours.result.columns) == ["_vname_", "_label_", "_x_", "_yhat_", "_ids_"]
    assert ours.result["_vname_"].unique().tolist() == features
    own = theirs().model_profile(N=None, variables=features, variable_type=kind, grid_points=5, verbose=False)
    for figure in (own.plot(ours, show=False), ours.plot(own, show=False)):
        assert {trace.name for trace in figure.data} == {"pdp entropy", "credit entropy"}


def test_profile_keeps_average_curves_only() -> None:
    made = to_dalex(profile())["nll"]
    np.testing.assert_allclose(made.result["_x_"], [-1, 0, 1])
    np.testing.assert_allclose(made.result["_yhat_"], [0.4, 0.5, 0.6])
    assert made.mean_prediction == pytest.approx(0.5)


def test_results_of_the_explainers_convert() -> None:
    """PFI stands on the unpermuted mean it records; dalex's own parts come back as dalex made them."""
    s, measures = subject(), ("nll", "entropy")
    own = engine(s)
    pfi = PermutationImportance(measures=measures, n_repeats=3).explain(s, own.bound("pfi"), {})[0]
    assert isinstance(pfi, Importance)
    made = to_dalex(pfi)["nll"].result.set_index("variable")["dropout_loss"]
    assert made["_full_model_"] == pytest.approx(NLL.rows(own.baseline, own.y, None).mean(), abs=1e-12)
    parts, profiles = DalexExplanations(parts=("model_parts", "model_profile"), n_repeats=3).explain(s, own, {})
    again = to_dalex(parts)["prediction"].result.set_index("variable")["dropout_loss"]
    assert again["_baseline_"] == parts.meta["baseline"]["prediction"]
    assert to_dalex(profiles)["entropy"].mean_prediction == pytest.approx(own.baseline.entropy().mean(), abs=1e-12)


def test_what_dalex_has_no_object_for_is_refused() -> None:
    frame = pd.DataFrame([("nll", "", "auc", 0.0, 1.0)], columns=list(Diagnostic.columns))
    own = estimates(frame.rename(columns={"value": "estimate"})[["measure", "feature", "estimate"]])
    other = Diagnostic(id="d", explainer="d", title="d", frame=frame, estimates=own)
    with pytest.raises(
        InputError, match=r"to_dalex\.result must be an Importance, a Profile or an Attribution; got 'd'"
    ):
        to_dalex(other)
    with pytest.raises(InputError, match=r"to_dalex\.variable_type must be one of"):
        to_dalex(profile(), variable_type="numeric")
    only = profile()
    numeric = Profile(
        id="pdp", explainer="pdp", title="", frame=only.frame.query("feature == 'age'"), estimates=only.estimates
    )
    with pytest.raises(
        InputError, match="a kind of feature that 'pdp' has average curves of for nll; got 'categorical'"
    ):
        to_dalex(numeric, variable_type="categorical")


def test_empty_result_is_refused() -> None:
    whole = importance()
    empty = Importance(id="pfi", explainer="pfi", title="", frame=whole.frame[:0], estimates=whole.estimates[:0])
    with pytest.raises(InputError, match=r"to_dalex\.result must have values; got an empty 'pfi'"):
        to_dalex(empty)


@pytest.mark.parametrize("measure", [PREDICTION, ENTROPY, NLL], ids=lambda m: m.name)
def test_explainer_predicts_the_measure(measure: Any) -> None:
    s = subject()
    explainer = dalex_explainer(s, engine(s), measure.name)
    expected = measure.rows(model(X), engine(s).y, None)
    np.testing.assert_allclose(explainer.predict(explainer.data), expected, atol=1e-14)
    assert explainer.label == f"credit {measure.name}"
    np.testing.assert_array_equal(explainer.y, (Y == "yes").astype(float))


def test_local_methods_work_with_a_fixed_y(capfd: Any) -> None:
    s = subject()
    explainer = dalex_explainer(s, engine(s), "nll", y=Y[3])
    down = explainer.predict_parts(X.iloc[[3]], type="break_down")
    target = NLL.rows(model(X.iloc[[3]]), np.array([int(Y[3] == "yes")]), None)[0]
    assert down.result["cumulative"].iloc[-1] == pytest.approx(target, abs=1e-12)
    paths = explainer.predict_profile(X.iloc[[3]], variables=["age"], grid_points=5, verbose=False)
    assert paths.result["_yhat_"].notna().all()
    assert down.plot(show=False).data
    assert capfd.readouterr() == ("", "")


def test_rows_are_counted_by_the_engine() -> None:
    s = subject()
    own = engine(s)
    explainer = dalex_explainer(s, own, "entropy")
    before = own.rows_predicted["engine"]
    explainer.predict(explainer.data)
    assert own.rows_predicted["engine"] == before + 30


def test_unknown_rows_have_no_y() -> None:
    s = subject()
    explainer = dalex_explainer(s, engine(s), "nll")
    with pytest.raises(InputError, match=r"must know y for nll; got rows whose index is not among 0 to 29"):
        explainer.predict(X.set_axis(range(100, 130)))
    with pytest.raises(InputError, match=r"dalex_explainer\.predict must get a DataFrame; got ndarray"):
        explainer.predict(X.to_numpy())


def test_arrays_are_taken_where_the_model_takes_arrays() -> None:
    def linear(rows: Any) -> Distribution:
        assert isinstance(rows, np.ndarray)
        return Normal(rows[:, 0], np.exp(rows[:, 1]))

    data = np.random.default_rng(2).normal(size=(12, 2))
    s = make_subject(linear, FunctionAdapter(), data)
    explainer = dalex_explainer(s, engine(s), "entropy")
    np.testing.assert_allclose(explainer.predict(data), linear(data).entropy(), atol=1e-14)
    np.testing.assert_allclose(explainer.predict(explainer.data), linear(data).entropy(), atol=1e-14)
    assert not explainer.y.any()


def test_a_measure_that_does_not_apply_is_refused() -> None:
    with pytest.raises(
        UnsupportedError, match=r"dalex_explainer\.measure must be one that applies here; got 'epistemic'"
    ):
        theirs("epistemic")


def test_without_dalex_the_extra_is_named(without: Callable[..., None]) -> None:
    without("dalex")
    with pytest.raises(MissingDependencyError, match=r"to_dalex needs dalex.*'uq_report\[dalex\]'"):
        to_dalex(importance())
