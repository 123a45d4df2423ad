"""Profiles by hand: which rows keep a curve, slopes half-way, surfaces, and the counts beside them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal
from uq_report.methods.pdp.explain import N_BINS, PartialDependence, bin_edges
from uq_report.testing import KnownTruth, measures


class Product(KnownTruth):
    """Predicts the product of the columns a and b."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(np.asarray(X["a"] * X["b"], dtype=float), np.ones(len(X)))


class TwoClasses(KnownTruth):
    """Predicts the column a as the probability of yes."""

    def predict(self, model: Any, X: Any) -> Any:
        p = np.asarray(X["a"], dtype=float)
        return Categorical(np.column_stack([1 - p, p]), classes=("no", "yes"))


FRAME: dict[str, Any] = {"a": [4.0, 0.0, 1.0, 2.0, 8.0], "b": [1.0, 2.0, 3.0, 2.0, 1.0], "c": list("uvuvu")}


def subject(frame: Any = None, adapter: Any = None, **options: Any) -> Subject:
    return make_subject(None, adapter or Product(), pd.DataFrame(frame or FRAME), **options)


def explained(made: Subject, **options: Any) -> dict[str, Result]:
    engine = Engine(made, measures()).bound("pdp")
    options = {"measures": ("prediction",)} | options
    return {r.id: r for r in PartialDependence(**options).explain(made, engine, {})}


def table(result: Result, feature: str) -> pd.DataFrame:
    return result.estimates[result.estimates["feature"] == feature]


RANKS = "at equally spaced ranks of the prediction. Averages use all observations."


@pytest.mark.parametrize(
    ("most", "rows", "note"),
    [
        (2, [1, 4], f"ICE curves of 2 of 5 observations, {RANKS}"),
        (3, [1, 3, 4], f"ICE curves of 3 of 5 observations, {RANKS}"),
        (5, [0, 1, 2, 3, 4], "ICE curves of all 5 observations."),
    ],
)
def test_rows_at_equal_ranks_of_the_prediction_keep_a_curve(most: int, rows: list[int], note: str) -> None:
    """Predictions are 4, 0, 3, 3.5 and 8, so rows 1, 2, 3, 0 and 4 in order."""
    frame = FRAME | {"a": [4.0, 0.0, 1.0, 1.75, 8.0]}
    result = explained(subject(frame), max_ice=most)["pdp"]
    assert result.notes == (note, "Intervals are pointwise and cover new test samples for the fixed model.")
    assert sorted(set(result.frame["curve"]) - {-1}) == rows


def test_sixty_rows_keep_a_curve() -> None:
    result = explained(subject({"a": np.arange(61.0), "b": np.ones(61)}), features=("b",))["pdp"]
    assert result.notes[0].startswith("ICE curves of 60 of 61 observations")


def test_without_a_curve_no_row_has_a_class_to_show() -> None:
    frame = {"a": [0.5, 0.9], "none": [np.nan, np.nan]}
    results = explained(subject(frame, TwoClasses(), y=["no", "yes"]), features=("none",), measures=("entropy",))
    assert results["pdp.own"].meta["row_class"] == {}


def test_rows_with_a_curve_are_shown_with_their_class() -> None:
    a = [0.5, 0.9, 0.7, 0.2]
    made = subject({"a": a, "b": a}, TwoClasses(), y=["no", "yes", "no", "yes"])
    results = explained(made, max_ice=2, measures=("entropy",))
    assert results["pdp.own"].meta["row_class"] == {"1": "yes", "3": "yes"}
    counts = results["pdp.distribution"].frame
    assert counts.groupby(["feature", "item"])["value"].sum().to_dict() == {
        (feature, item): 2 for feature in "ab" for item in ("no", "yes")
    }
    assert results["pdp.distribution"].title == "Distribution of the features by class"


def test_a_slope_stands_half_way_and_its_surface_is_of_values() -> None:
    results = explained(subject(), mode="derivative", features=("a", "c"), pairs=(("a", "b"),))
    slopes = table(results["pdp"], "a")
    assert slopes["x"].tolist() == [0.5, 1.5, 3.0, 6.0]
    np.testing.assert_allclose(slopes["estimate"], 1.8)  # the mean of b
    why = "a slope needs a numeric feature with two values or more"
    assert [(o.measure, o.feature, o.reason) for o in results["pdp"].omissions] == [("", "c", why)]
    surface = results["pdp.surface"].estimates
    np.testing.assert_allclose(surface["estimate"], surface["x"] * surface["x_2"])
    assert len(surface) == 5 * 3
    assert set(results) == {"pdp", "pdp.surface", "pdp.interaction", "pdp.distribution"}


class Both(KnownTruth):
    """Predicts the product of the columns a and b, and a multiple of their sum, with a spread that is additive."""

    def __init__(self, main: float, product: float = 1.0) -> None:
        self.main, self.product = main, product

    def predict(self, model: Any, X: Any) -> Any:
        mean = self.product * X["a"] * X["b"] + self.main * (X["a"] + X["b"])
        return Normal(np.asarray(mean, dtype=float), np.exp(np.asarray(X["a"] + X["b"] ** 2, dtype=float)))


A, B = np.array([-2.0, -1.0, 0.0, 2.0, 4.0]), np.array([-3.0, 0.0, 1.0])


@pytest.mark.parametrize("main", [0.0, 1.0, 100.0])
def test_the_interaction_of_a_product_is_its_closed_form(main: float) -> None:
    """Along a the spread of ab + c(a + b) at b is |b + c| sd(a); with large effects it is sd(a) sd(b)."""
    frame = {"a": np.repeat(A, 3), "b": np.tile(B, 5), "c": 1.0}
    pairs = (("a", "b"), ("a", "c"))
    found = explained(subject(frame, Both(main)), pairs=pairs, measures=("prediction", "entropy"))["pdp.interaction"]
    sd_a, sd_b = A.std(ddof=1), B.std(ddof=1)
    expected = (sd_a * np.abs(B + main).std(ddof=1) + sd_b * np.abs(A + main).std(ddof=1)) / 2
    assert main < 100 or expected == pytest.approx(sd_a * sd_b)
    lines = found.estimates.set_index(["measure", "feature", "feature_2"])["estimate"].to_dict()
    assert lines == {("prediction", "a", "b"): pytest.approx(expected), ("entropy", "a", "b"): 0.0}
    assert found.frame["value"].tolist() == found.estimates["estimate"].tolist()
    assert set(found.estimates["covers"]) == {"none"}


def test_an_additive_surface_has_no_interaction() -> None:
    found = explained(subject(None, Both(0.1, product=0.0)), pairs=(("a", "b"),))["pdp.interaction"]
    assert found.estimates["estimate"].tolist() == [0.0]


def test_centred_curves_and_surfaces_begin_at_zero_and_so_do_the_own_values() -> None:
    results = explained(subject(), mode="centred", features=("a",), pairs=(("a", "b"),))
    curve, surface = table(results["pdp"], "a"), results["pdp.surface"].estimates
    np.testing.assert_allclose(curve["estimate"], 1.8 * curve["x"])
    np.testing.assert_allclose(surface["estimate"], surface["x"] * surface["x_2"])  # 0 at the first point
    own = results["pdp.own"].frame
    assert own["x"].tolist() == FRAME["a"]
    np.testing.assert_allclose(own["value"], np.multiply(FRAME["a"], FRAME["b"]))
    assert own["item"].tolist() == list("01234")


def test_rows_are_counted_by_bins_of_a_number_and_by_levels() -> None:
    found = explained(subject())["pdp.distribution"]
    counts = found.frame[found.frame["feature"] == "c"]
    assert counts[["item", "x", "value"]].to_numpy().tolist() == [["all", 0.0, 3.0], ["all", 1.0, 2.0]]
    number = found.frame[found.frame["feature"] == "a"]
    assert number["x"].tolist() == pytest.approx(np.arange(0.2, 8, 0.4).tolist())
    assert number["value"].to_numpy().nonzero()[0].tolist() == [0, 2, 5, 10, 19]
    assert found.meta["edges"]["a"] == pytest.approx(np.arange(0, 8.2, 0.4).tolist())
    assert set(found.meta["edges"]) == {"a", "b"}
    assert found.title == "Distribution of the features"


def test_equal_numbers_have_bins_around_them_and_the_narrowest_bins_stay() -> None:
    assert bin_edges(np.array([3.0, 3.0]))[[0, -1]].tolist() == [2.5, 3.5]
    step = np.spacing(1.5)
    narrow = np.array([1.5, 1.5 + N_BINS * step])
    assert bin_edges(narrow)[[0, -1]].tolist() == narrow.tolist()
    closer = bin_edges(np.array([1.5, 1.5 + step]))
    assert closer[[0, -1]].tolist() == [1.5 - N_BINS * step, 1.5 + (N_BINS + 1) * step]


def test_what_it_will_cost() -> None:
    made = subject()
    engine = Engine(made, measures()).bound("pdp")
    asked = PartialDependence(grid_resolution=7, pairs=(("a", "b"), ("a", "c")))
    assert asked.cost(made, engine) == 5 * (3 * 7 + 2 * 49)
    assert PartialDependence(features=("a",)).cost(made, engine) == 5 * 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid_resolution": 1}, "grid_resolution must be an integer >= 2; got 1"),
        ({"max_ice": -1}, "max_ice must be an integer >= 0; got -1"),
        ({"max_levels": 0}, "max_levels must be an integer >= 1; got 0"),
        ({"percentiles": (0.5, 0.5)}, "percentiles must be two increasing numbers"),
        ({"percentiles": (-0.1, 0.5)}, "percentiles must be two increasing numbers"),
        ({"percentiles": (0.5, 1.1)}, "percentiles must be two increasing numbers"),
    ],
)
def test_options_are_refused_beyond_their_limits(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"pdp\.{words}"):
        PartialDependence(**options)
    PartialDependence(grid_resolution=2, max_ice=0, max_levels=1, percentiles=(0.0, 1.0))


def test_points_of_ones_own_are_sorted_once_and_in_the_type_of_the_column() -> None:
    made = subject()
    result = explained(made, features=("a", "c"), custom_values={"a": [3, 1, 3], "c": ["v", "u"]})["pdp"]
    assert table(result, "a")["x"].tolist() == [1, 3]
    assert table(result, "c")["level"].tolist() == ["v", "u"]
    assert result.options["custom_values"] == {"a": [3, 1, 3], "c": ["v", "u"]}
    for wrong in ([], [None, 1.0], ["red"]):
        with pytest.raises(InputError, match=r"pdp\.custom_values\['a'\] must hold at least one value, none missing"):
            explained(made, custom_values={"a": wrong})
    whole = subject({"a": [1, 2, 3], "b": [1, 2, 3]})
    with pytest.raises(InputError, match=r"none missing, that a column of type int64 can hold; got \[1, 2\.5\]"):
        explained(whole, custom_values={"a": [1, 2.5]})
