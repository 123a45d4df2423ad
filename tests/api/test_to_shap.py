"""Our attributions as shap.Explanation: what it holds, and that shap's plots draw it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.api.interop import to_shap
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY
from uq_report.core.model.results import ESTIMATE_COLUMNS, Attribution
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.errors import InputError, MissingDependencyError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.shap.explain import ShapleyValues

pytestmark = pytest.mark.filterwarnings("ignore:The set_(bad|over|under) function:PendingDeprecationWarning")

ROWS = [2, 5, 9]
DATA = {"age": [31.5, None, 50.0], "job": ["b", "a", None], "flag": [True, False, True]}


def attribution(std_error: float = 0.1, **more: Any) -> Attribution:
    keys = [(m, f, r) for m in ("prediction", "entropy") for r in ROWS for f in DATA]
    values = np.random.default_rng(0).normal(size=len(keys))
    frame = pd.DataFrame(keys, columns=["measure", "feature", "row"]).assign(position=0, base=0.25, value=values)
    table = frame.rename(columns={"value": "estimate"}).assign(
        std_error=std_error, lower=np.nan, upper=np.nan, confidence=np.nan, covers="none"
    )
    meta = {"explained": ROWS, "data": DATA}
    return Attribution(
        id="shap",
        explainer="shap",
        title="Shapley values",
        frame=frame[list(Attribution.columns)],
        estimates=table[[*ESTIMATE_COLUMNS, "row"]],
        **{"meta": meta, **more},
    )


@pytest.fixture
def plt() -> Iterator[Any]:
    """Return pyplot on a canvas without a screen, and close what was drawn."""
    pytest.importorskip("shap", reason="the object is shap's")
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="shap draws with it")
    before = pyplot.get_backend()
    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_explanation_holds_values_base_and_data(plt: Any) -> None:
    result = attribution()
    made = to_shap(result, "entropy")
    own = result.frame[result.frame["measure"] == "entropy"]
    np.testing.assert_array_equal(made.values, own["value"].to_numpy().reshape(3, 3))
    np.testing.assert_array_equal(made.base_values, [0.25] * 3)
    assert made.feature_names == ["age", "job", "flag"]
    np.testing.assert_array_equal(made.data, [[31.5, 1, 1], [np.nan, 0, 0], [50, np.nan, 1]])
    assert made.display_data[0].tolist() == [31.5, "b", True]
    np.testing.assert_array_equal(made.error_std, np.full((3, 3), 0.1))


def test_a_saved_result_gives_the_same(plt: Any) -> None:
    result = attribution()
    saved = attribution(meta=json.loads(json.dumps(result.meta)))
    np.testing.assert_array_equal(to_shap(saved, "entropy").data, to_shap(result, "entropy").data)


def test_values_of_the_explainer_add_up_in_shap_s_object(plt: Any) -> None:
    def model(rows: Any) -> Distribution:
        return Normal(rows["a"] * rows["b"], np.exp(0.2 * rows["b"]))

    X = pd.DataFrame(np.random.default_rng(1).normal(size=(12, 2)), columns=["a", "b"])
    engine = Engine(make_subject(model, FunctionAdapter(), X), {"entropy": ENTROPY})
    result, _ = ShapleyValues(measures=("entropy",)).explain(engine.subject, engine, {})
    assert isinstance(result, Attribution)
    made = to_shap(result, "entropy")
    np.testing.assert_allclose(made.base_values + made.values.sum(axis=1), model(X).entropy(), atol=1e-12)
    np.testing.assert_array_equal(made.data, X)


def test_shap_s_plots_draw_it(plt: Any) -> None:
    import shap

    made = to_shap(attribution(), "entropy")
    shap.plots.bar(made, show=False)
    names = [text.get_text() for text in plt.gca().get_yticklabels()]
    assert {"age", "job", "flag"} <= set(names)
    plt.close("all")
    shap.plots.beeswarm(made, show=False)
    assert len(plt.gca().collections) >= 3
    plt.close("all")
    shap.plots.waterfall(made[0], show=False)
    shown = " ".join(text.get_text() for text in plt.gca().get_yticklabels())
    assert "b = job" in shown
    assert "31.5 = age" in shown


def test_without_data_values_stand_alone(plt: Any) -> None:
    made = to_shap(attribution(meta={}, std_error=np.nan), "prediction")
    assert made.data is None
    assert made.error_std is None


def test_unknown_measure_and_gaps_are_refused(plt: Any) -> None:
    result = attribution()
    with pytest.raises(InputError, match=r"to_shap\.measure must be one that 'shap' has values of; got 'entropi'\."):
        to_shap(result, "entropi")
    gaps = Attribution(id="shap", explainer="shap", title="", frame=result.frame[:-1], estimates=result.estimates)
    with pytest.raises(InputError, match=r"to_shap\.result must have one value for each feature and row"):
        to_shap(gaps, "entropy")


def test_without_shap_the_extra_is_named(without: Callable[..., None]) -> None:
    without("shap")
    with pytest.raises(MissingDependencyError, match=r"to_shap needs shap.*'uq_report\[shap\]'"):
        to_shap(attribution(), "entropy")
