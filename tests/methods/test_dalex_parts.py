"""How dalex's answers become results, from answers made by hand."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from uq_report.core.errors import InputError
from uq_report.core.measures import ENTROPY
from uq_report.core.results import Importance
from uq_report.methods.dalex import parts
from uq_report.methods.dalex.calls import Dalex, GapError, bare_estimates
from uq_report.methods.dalex.explain import DalexExplanations
from uq_report.methods.shared.grids import Grid


def given(n: int, weights: Any = None, clusters: Any = None, **kinds: str) -> Dalex:
    """Return what stands for dalex bound to a subject."""
    subject = SimpleNamespace(n=n, weights=weights, clusters=clusters, kinds=kinds)
    return cast("Dalex", SimpleNamespace(subject=subject, features=tuple(kinds)))


@pytest.mark.parametrize(("n", "ends"), [(19, (0.0, 18.0)), (20, (0.95, 18.05))])
def test_the_spread_is_of_the_extremes_below_20_rounds_and_else_of_quantiles(n: int, ends: tuple[float, float]) -> None:
    frame = pd.DataFrame({"measure": "nll", "feature": "b", "repeat": range(n), "value": np.arange(float(n))})
    frame = pd.concat([frame, frame.assign(feature="a", value=frame["value"] + 1)])
    table = parts._spread(frame, n)
    assert table["feature"].tolist() == ["b", "a"], "in the order of the frame"
    first, second = table.itertuples(index=False)
    assert (first.estimate, second.estimate) == ((n - 1) / 2, (n + 1) / 2)
    assert (first.spread_low, first.spread_high) == pytest.approx(ends)
    assert table["lower"].isna().all()
    assert set(table["covers"]) == {"none"}


def importance(*lines: tuple[str, str, float]) -> Importance:
    table = bare_estimates(pd.DataFrame(lines, columns=["measure", "feature", "value"]))
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id="dalex.model_parts", explainer="dalex", title="", frame=frame, estimates=table)


def test_the_leading_features_are_first_for_some_measure_by_size_then_by_the_mean_rank() -> None:
    dalex = given(9, a="numeric", b="numeric", c="numeric", d="datetime", e="numeric")
    found = importance(
        *(("nll", "a", 0.1), ("nll", "b", -0.9), ("nll", "c", 0.5), ("nll", "d", 2.0)),
        *(("var", "a", 0.3), ("var", "b", 0.1), ("var", "c", 0.2), ("var", "d", 0.05)),
    )
    assert parts.leading_features(found, dalex, 9) == ["a", "b", "c"], "a and b lead once, a is ahead in the columns"
    assert parts.leading_features(found, dalex, 2) == ["a", "b"]
    tied = importance(("nll", "a", 0.1), ("nll", "b", 0.9), ("nll", "c", 0.5), ("var", "c", 0.9), ("var", "b", 0.5))
    assert parts.leading_features(tied, dalex, 3)[:2] == ["b", "c"]
    for none in (None, importance()):
        assert parts.leading_features(none, dalex, 3) == ["a", "b", "c"]
    assert parts.leading_features(None, dalex, 9) == ["a", "b", "c", "e"], "a date has no profile"


def test_a_break_down_is_the_steps_between_the_mean_and_the_prediction() -> None:
    result = pd.DataFrame(
        {
            "variable_name": ["intercept", "b", "a", ""],
            "contribution": [2.0, 0.5, -1.0, 1.5],
            "cumulative": [2.0, 2.5, 1.5, 1.5],
        }
    )
    table = parts._break_down(result)
    assert table[["feature", "value", "position", "base"]].to_numpy().tolist() == [
        ["b", 0.5, 1, 2.0],
        ["a", -1.0, 2, 2.0],
    ]
    assert table[["spread_low", "spread_high"]].isna().all(axis=None)
    assert len(table.columns) == 6
    assert table.index.tolist() == [0, 1]


def test_shapley_values_are_path_0_and_their_spread_the_other_paths() -> None:
    result = pd.DataFrame(
        {
            "variable_name": ["b", "a"] * 4,
            "B": np.repeat([1, 2, 3, 0], 2),
            "contribution": [1.0, 5.0, 3.0, 4.0, 2.0, 9.0, 2.0, 6.0],
        }
    )
    table = parts._shapley(SimpleNamespace(result=result, intercept=0.25)).set_index("feature")
    assert table.index.tolist() == ["b", "a"]
    assert table[["spread_low", "value", "spread_high"]].to_numpy().tolist() == [[1.0, 2.0, 3.0], [4.0, 6.0, 9.0]]
    assert set(table["position"]) == {0}
    assert set(table["base"]) == {0.25}


def profile(values: Sequence[float]) -> pd.DataFrame:
    grid = SimpleNamespace(feature="a", x=np.array([1.0, 3.0]), levels=("", ""))
    result = pd.DataFrame({"_vname_": ["b", *["a"] * len(values)], "_yhat_": [9.0, *values]})
    return parts._profile(ENTROPY, cast("Grid", grid), result)


def test_a_profile_has_a_value_at_every_point_or_is_a_gap() -> None:
    table = profile([0.5, 0.25])
    assert table[["x", "value"]].to_numpy().tolist() == [[1.0, 0.5], [3.0, 0.25]]
    assert table[["feature", "feature_2", "level_2", "curve"]].drop_duplicates().to_numpy().tolist() == [
        ["a", "", "", -1]
    ]
    assert table["x_2"].isna().all()
    with pytest.raises(GapError, match="DALEX's profile has 1 of 2 levels"):
        profile([0.5])
    with pytest.raises(GapError, match="infinite at some points"):
        profile([0.5, np.inf])


def test_notes_say_which_rows_and_what_is_not_read() -> None:
    rows, some = np.arange(5), np.ones(5)
    assert Dalex.notes(given(6), rows) == ("dalex had 5 of 6 rows, drawn once.",)
    assert Dalex.notes(given(5), rows) == ("dalex had all 5 rows.",)
    assert Dalex.notes(given(5, some), rows)[1] == (
        "dalex reads no sample weights: these numbers count every row once."
    )
    assert "no sample weights and no clusters:" in Dalex.notes(given(5, some, some), rows)[1]


@pytest.mark.parametrize(
    ("option", "least"),
    [
        *(("n_local", 0), ("n_repeats", 2), ("max_rows", 1), ("n_background", 1), ("max_profiles", 1)),
        *(("grid_points", 2), ("n_paths", 2)),
    ],
)
def test_counts_are_refused_below_their_least(option: str, least: int) -> None:
    pytest.importorskip("dalex", reason="the explainer dalex needs dalex")
    settings: dict[str, Any] = {option: least}
    assert getattr(DalexExplanations(**settings), option) == least
    with pytest.raises(InputError, match=option):
        DalexExplanations(**(settings | {option: least - 1}))
