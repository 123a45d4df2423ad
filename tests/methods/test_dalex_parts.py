"""How dalex's answers become results, from answers made by hand."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, PREDICTION, OneMinusAUC
from uq_report.core.model.results import Importance, bare_estimates
from uq_report.core.support.errors import InputError
from uq_report.core.traits.interop import mean_measure
from uq_report.methods.dalex import parts
from uq_report.methods.dalex.explain import DalexExplanations
from uq_report.methods.dalex.parts import BackgroundMixtures, Dalex, DalexShuffles, GapError, one_minus_auc, rmse
from uq_report.methods.shared.grids import FeatureGrid


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
    table = pd.DataFrame(parts._break_down(result))
    assert table[["feature", "value", "position", "base"]].to_numpy().tolist() == [
        ["b", 0.5, 1, 2.0],
        ["a", -1.0, 2, 2.0],
    ]
    assert table[["spread_low", "spread_high"]].isna().all(axis=None)
    assert len(table.columns) == 6


def test_shapley_values_are_path_0_and_their_spread_the_other_paths() -> None:
    result = pd.DataFrame(
        {
            "variable_name": ["b", "a"] * 4,
            "B": np.repeat([1, 2, 3, 0], 2),
            "contribution": [1.0, 5.0, 3.0, 4.0, 2.0, 9.0, 2.0, 6.0],
        }
    )
    table = pd.DataFrame(parts._shapley(SimpleNamespace(result=result, intercept=0.25))).set_index("feature")
    assert table.index.tolist() == ["b", "a"]
    assert table[["spread_low", "value", "spread_high"]].to_numpy().tolist() == [[1.0, 2.0, 3.0], [4.0, 6.0, 9.0]]
    assert set(table["position"]) == {0}
    assert set(table["base"]) == {0.25}


def profile(values: Sequence[float]) -> pd.DataFrame:
    grid = SimpleNamespace(feature="a", x=np.array([1.0, 3.0]), levels=("", ""))
    result = pd.DataFrame({"_vname_": ["b", *["a"] * len(values)], "_yhat_": [9.0, *values]})
    return pd.DataFrame(parts._profile(ENTROPY, cast("FeatureGrid", grid), result))


def test_a_profile_is_finite_or_a_gap() -> None:
    table = profile([0.5, 0.25])
    assert table[["x", "value"]].to_numpy().tolist() == [[1.0, 0.5], [3.0, 0.25]]
    assert table[["feature", "feature_2", "level_2", "curve"]].drop_duplicates().to_numpy().tolist() == [
        ["a", "", "", -1]
    ]
    assert table["x_2"].isna().all()
    with pytest.raises(GapError, match="infinite at some points"):
        profile([0.5, np.inf])


def test_notes_say_which_rows_and_what_is_not_read() -> None:
    rows, some = np.arange(5), np.ones(5)
    assert Dalex.notes(given(6), rows) == ("Computed on 5 of 6 observations, drawn once.",)
    assert Dalex.notes(given(5), rows) == ("Computed on all 5 observations.",)
    assert Dalex.notes(given(5, some), rows)[1] == ("dalex does not use sample weights: every observation counts once.")
    assert "sample weights or clusters:" in Dalex.notes(given(5, some, some), rows)[1]


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


def stub(
    answers: dict[str, Any], target: Any = None, *, classifies: bool = False, measures: Any = (PREDICTION, ENTROPY)
) -> Dalex:
    """Return what stands for dalex and answers with given tables, by measure."""
    y = None if target is None else np.array(target)
    return cast(
        "Dalex",
        SimpleNamespace(
            subject=SimpleNamespace(n=9, kinds={}),
            engine=SimpleNamespace(y=y, baseline=SimpleNamespace(supports=frozenset(), censored=False)),
            measures=measures,
            features=("a", "b"),
            classifies=classifies,
            own=np.ones((len(measures), 9)),
            cells=SimpleNamespace(table=lambda rows, others: pd.DataFrame()),
            ask=lambda part, label, *_, **__: answers[label],
            fields=lambda part, title, gaps: {
                "id": f"dalex.{part}", "explainer": "dalex", "title": title, "omissions": tuple(gaps)
            },
            notes=lambda rows: ("rows",),
        ),
    )  # fmt: skip


def rounds(**columns: Any) -> pd.DataFrame:
    table = {"_full_model_": [1.0, 1.0], "a": [1.5, 2.5], "b": [1.0, 0.5], "_baseline_": [4.0, 6.0]} | columns
    return pd.DataFrame(table)


def gaps_of(result: Any) -> list[tuple[str, str, str]]:
    return [(gap.measure, gap.feature, gap.reason.partition(". The cause")[0]) for gap in result.omissions]


def importances(monkeypatch: pytest.MonkeyPatch, target: Any = (0.0, 1.0), **answers: Any) -> Any:
    tables = [answers.get(name, rounds()) for name in ("prediction", "entropy")]
    shuffles = SimpleNamespace(rounds=lambda measure, loss: tables[measure])
    monkeypatch.setattr(DalexShuffles, "of", lambda *_: shuffles)
    return parts.model_parts(stub({}, target), np.arange(2), 2, "")


def test_model_parts_are_rises_of_the_loss_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importances(monkeypatch)
    rises = found.frame.set_index(["measure", "feature", "repeat"])["value"]
    assert rises["prediction"].to_dict() == {("a", 0): 0.5, ("a", 1): 1.5, ("b", 0): 0.0, ("b", 1): -0.5}
    assert found.meta == {
        "full_model": {"prediction": 1.0, "entropy": 1.0},
        "baseline": {"prediction": 5.0},
        "losses": {"prediction": "RMSE", "entropy": "mean entropy"},
    }
    assert "Losses: RMSE for prediction, mean entropy for entropy." in found.notes[0]
    assert gaps_of(found) == []


def test_one_infinite_round_leaves_a_feature_out_and_one_of_the_full_model_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importances(
        monkeypatch,
        prediction=rounds(b=[np.inf, 1.0], _baseline_=[np.inf, 1.0]),
        entropy=rounds(_full_model_=[1.0, np.inf]),
    )
    assert set(found.frame["feature"]) == {"a"}
    assert set(found.frame["measure"]) == {"prediction"}
    assert found.meta["baseline"] == {}
    assert gaps_of(found) == [
        ("prediction", "b", "the mean over observations is infinite in 1 of 2 rounds"),
        ("entropy", "", "the mean over observations is infinite before any permutation"),
    ]
    assert gaps_of(importances(monkeypatch, prediction=rounds(a=[np.inf] * 2, b=[0.0, np.inf])))[:2] == [
        ("prediction", "a", "the mean over observations is infinite in 2 of 2 rounds"),
        ("prediction", "b", "the mean over observations is infinite in 1 of 2 rounds"),
    ]


@pytest.mark.parametrize("classifies", [True, False])
def test_the_loss_is_1_less_auc_where_both_classes_are_among_the_rows(classifies: bool) -> None:
    dalex = stub({}, [0.0, 1.0, 1.0], classifies=classifies)
    loss = one_minus_auc if classifies else rmse
    assert parts._loss(dalex, PREDICTION, np.array([0, 1])) is loss
    assert parts._loss(dalex, ENTROPY, np.array([1, 2])) is mean_measure
    if classifies:
        with pytest.raises(GapError, match="the 2 observations used have one only"):
            parts._loss(dalex, PREDICTION, np.array([1, 2]))
    y, p = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.2, 0.9, 0.2, 0.1])
    assert one_minus_auc(y, p) == pytest.approx(OneMinusAUC().value(p, y, np.ones(4))) == pytest.approx(0.125)


def test_losses_stand_where_dalex_had_their_numbers() -> None:
    """Loss 0 is of y as it is beside table 1, loss 1 of y the other way round beside table 0."""
    numbers = pd.DataFrame({"a": [0, 1], "_full_model_": [1, 1]})
    values = np.array([[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [4.0, 6.0]]])
    orders, tables = np.array([[0, 1], [1, 0]]), np.array([1, 0])
    shuffles = DalexShuffles(numbers, orders, tables, values, np.array([1.0, 4.0]))
    found = shuffles.rounds(1, lambda y, p: float((y - 10 * p).sum()))
    assert found.to_dict("list") == {"a": [5.0 - 100, 5.0 - 30], "_full_model_": [5.0 - 30, 5.0 - 30]}
    assert shuffles.rounds(1, lambda y, p: float(y @ p))["a"].tolist() == [4 + 24, 4 + 2]
    assert shuffles._replace(y=None).rounds(1, mean_measure)["a"].tolist() == [5.0, 1.5]


def test_notes_of_single_rows_say_whose_order_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, words in (
        ("break_down", "The position is DALEX's order, from 1: contributions depend on it."),
        ("shap", "Means over 7 random orders; the spread is their minimum and maximum."),
    ):
        monkeypatch.setattr(BackgroundMixtures, "of", lambda *_: None)
        found = parts.predict_parts(given_none(), np.arange(4), {}, "", kind, 7)
        assert found.notes == ("Features not yet set take their values from 4 of 9 observations.", words)
        assert found.title == f"dalex: {kind.replace('_', ' ')} of single observations"


def given_none() -> Dalex:
    dalex: Any = stub({}, measures=())
    dalex.features = ()
    return cast("Dalex", dalex)


@pytest.mark.parametrize("place", [0, 1])
def test_one_infinite_number_of_a_row_leaves_it_out(place: int) -> None:
    steps = {"variable_name": ["intercept", "b", "a", ""], "contribution": [2.0, 0.5, -1.0, 1.5]}
    result = pd.DataFrame(steps | {"cumulative": [2.0, 2.5, 1.5, 1.5]})
    answers = {"entropy": SimpleNamespace(result=result)}
    mixtures: Any = SimpleNamespace(dalex=stub(answers), background=np.arange(4))
    table = pd.DataFrame(parts._attribution(mixtures, ENTROPY, 3, "break_down", 2))
    assert table[["feature", "value", "row"]].to_numpy().tolist() == [["b", 0.5, 3], ["a", -1.0, 3]]
    result.loc[*((1, "contribution"), (0, "cumulative"))[place]] = np.inf
    with pytest.raises(GapError, match="infinite for observation 3"):
        parts._attribution(mixtures, ENTROPY, 3, "break_down", 2)


def test_metrics_that_are_undefined_are_listed() -> None:
    answer = SimpleNamespace(result=pd.DataFrame({"recall": [np.nan], "auc": [0.75], "f1": [np.inf]}))
    for classifies, words in ((True, "at a cutoff of 0.5."), (False, "Metrics of dalex.")):
        found = parts.model_performance(stub({"prediction": answer}, [0.0, 1.0], classifies=classifies), np.arange(2))
        assert found.frame[["item", "value"]].to_numpy().tolist() == [["auc", 0.75]]
        assert [gap[2] for gap in gaps_of(found)] == [
            "DALEX's recall is undefined on this sample", "DALEX's f1 is undefined on this sample"
        ]  # fmt: skip
        assert found.notes[0].endswith(words)
    none = parts.model_performance(stub({}, [0.0, 1.0], measures=(ENTROPY,)), np.arange(2))
    assert [gap[2] for gap in gaps_of(none)] == ["it needs predictions and outcomes"]


def test_grids_reach_from_the_least_to_the_largest_value() -> None:
    subject = testing.linear_subject(30)
    dalex: Any = SimpleNamespace(subject=subject)
    (grid,), gaps = parts._grids(dalex, ["a"], 5)
    values = np.asarray(subject.values("a"), dtype=float)
    assert (grid.x[0], grid.x[-1], len(grid.x)) == (values.min(), values.max(), 5)
    assert gaps == []


class Told(Exception):  # noqa: N818 - no error
    """Ends a call with what was told."""


@pytest.mark.parametrize(("shown", "tables"), [(("model_parts",), 18), (("model_performance",), 0)])
def test_an_audit_foresees_the_tables_of_its_shuffles(
    monkeypatch: pytest.MonkeyPatch, shown: tuple[str, ...], tables: int
) -> None:
    """Three rounds of four features, of the full model and the baseline, whatever is measured."""

    def told(*given: Any) -> Any:
        raise Told(given[-1])

    monkeypatch.setattr("uq_report.methods.dalex.explain.Dalex", told)
    subject = testing.linear_subject(20)
    explainer = DalexExplanations(measures=("prediction", "entropy"), parts=shown, n_repeats=3)
    with pytest.raises(Told) as found:
        explainer.explain(subject, Engine(subject, testing.measures()).bound("dalex"), {})
    assert found.value.args == (tables,)
