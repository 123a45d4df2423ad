"""Results as objects of other libraries: dalex's importances, profiles and explainers, and `shap.Explanation`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..core.engine.fast_path_evaluator import Engine
from ..core.model.measures import PREDICTION, Measure
from ..core.model.results import Attribution, Importance, Profile, Result
from ..core.model.subject import Subject
from ..core.support.arrays import AnyArray, FloatArray
from ..core.support.errors import InputError, MissingDependencyError, UnsupportedError, check_choice, nearest, words_of
from ..core.traits.interop import from_frame, mean_measure, numeric_target, to_frame
from ..document.plots.frames import choose
from ..document.plots.style import Figure
from ..evidence import columns as col, ids
from ..evidence.importance import WithLosses
from ..evidence.profiles import DalexProfile
from ..evidence.rows import Attributions

FULL, BASELINE = "_full_model_", "_baseline_"
SHAP_PLOTS = ("bar", "beeswarm", "waterfall", "scatter", "heatmap", "violin", "decision", "force")
VARIABLE = ("variable_importance", "ratio", "difference", "shap_wrapper")  # dalex's default: the first of them
VARIABLE_TYPES = ("numerical", "categorical")


def to_dalex(
    result: Result, label: str = "", variable_type: str = "numerical", row: int | None = None
) -> dict[str, Any]:
    """Return one dalex object per measure, to plot alone or beside dalex's own.

    Parameters
    ----------
    result : Importance, Profile or Attribution
        They become `dalex.model_explanations.VariableImportance` and `AggregatedProfiles`, and
        `dalex.predict_explanations.Shap` of one row.
    label : str
        What stands before the measure's name in dalex's labels; the result's id by default. Labels
        must differ between objects of one plot.
    variable_type : {"numerical", "categorical"}
        Which features of a Profile: dalex draws one kind at a time.
    row : int, optional
        Of an Attribution; the first explained one by default.

    Returns
    -------
    dict of str to object
        Keyed by measure.

    Notes
    -----
    dalex draws an importance from the full model's value: where the result does not record it, that
    is 0. Its ``_baseline_`` is the loss with y shuffled; where a measure's mean does not read y it
    equals the full model's value, as in dalex itself.
    """
    dalex = _library("to_dalex", ids.DALEX)
    prefix = label or result.id
    if isinstance(result, Importance):
        kind = dalex.model_explanations.VariableImportance
        return {name: _importance(kind, result, name, f"{prefix} {name}") for name in _measures(result)}
    if isinstance(result, Profile):
        check_choice("to_dalex.variable_type", variable_type, VARIABLE_TYPES)
        profiles = dalex.model_explanations.AggregatedProfiles
        return {name: _profile(profiles, result, name, f"{prefix} {name}", variable_type) for name in _measures(result)}
    if isinstance(result, Attribution):
        kind, one = dalex.predict_explanations.Shap, choose(result, "row", row, result.frame[col.ROW])
        return {name: _shap(kind, result, name, int(one), f"{prefix} {name}") for name in _measures(result)}
    known = "an Importance, a Profile or an Attribution"
    raise InputError(f"to_dalex.result must be {known}; got {result.id!r}, a {result.kind}.")


def dalex_explainer(subject: Subject, engine: Engine, measure: str, y: Any = None, label: str = "") -> Any:
    """Return a `dalex.Explainer` whose prediction is a measure, so that all of dalex works on entropy too.

    Parameters
    ----------
    subject : Subject
    engine : Engine
        Calls the model and counts its rows.
    measure : str
    y : label or number, optional
        For a measure of y, one value for every row: that of the row explained by ``predict_parts`` or
        ``predict_profile``, since background rows would bring their own. Without it each row's own y
        is found by the frame's row index, as ``model_parts`` and ``model_profile`` need.
    label : str
        Shown in dalex's plots; the subject's label and the measure by default.

    Notes
    -----
    dalex's own losses compare with y, which only the prediction stands for. The ``model_parts`` of any other measure
    uses its mean over all rows by default, and ``model_performance`` and ``model_diagnostics`` are refused.
    ``oscillations(row)`` is the mean size by which each profile through a row leaves the row's own value.
    """
    dalex = _library("dalex_explainer", ids.DALEX)
    selected, omitted = engine.select([measure])
    if not selected:
        raise UnsupportedError(
            f"dalex_explainer.measure must be one that applies here; got {omitted[0].measure!r}: {omitted[0].reason}."
        )
    target = numeric_target(engine)
    classes = selected[0].name == "prediction" and "proba" in engine.baseline.supports
    model = MeasureModel(subject, engine, selected[0], None if y is None else engine.baseline.encode([y])[0])
    return _explainer_class(dalex.Explainer, selected[0])(
        model,
        to_frame(subject),
        np.zeros(subject.n) if target is None else target,
        lambda chosen, X: chosen.predict(X),
        label=label or f"{subject.label} {selected[0].name}",
        verbose=False,
        precalculate=False,
        model_type="classification" if classes else "regression",
    )


def _explainer_class(base: Any, measure: Measure) -> Any:
    """Return dalex's class of explainers with what holds for a measure."""

    class MeasureExplainer(base):  # type: ignore[misc]  # a class of an optional library
        """An explainer of dalex whose prediction is a measure."""

        def oscillations(self, new_observation: Any) -> pd.DataFrame:
            """Return the mean size by which each profile through an observation leaves its own value, largest first."""
            profiles = self.predict_profile(new_observation, verbose=False).result
            own = self.predict(new_observation)[0]
            size = (profiles["_yhat_"] - own).abs().groupby(profiles["_vname_"]).mean()
            ordered: pd.Series[float] = size.sort_values(ascending=False).rename_axis("variable")
            return ordered.reset_index(name="oscillation")

        if measure.name != PREDICTION.name:

            def model_parts(self, loss_function: Any = None, type: Any = VARIABLE, N: Any = None, **more: Any) -> Any:
                """Return dalex's importance; the loss is the measure's mean by default."""
                return super().model_parts(loss_function or mean_measure, type, N, **more)

            def model_performance(self, *_: Any, **__: Any) -> Any:
                """Refuse to compare a measure with y."""
                raise InputError(
                    f"dalex_explainer.measure must be 'prediction' to be compared with y; got {measure.name!r}. Use "
                    "uq.calibration, or dalex_explainer(subject)."
                )

            model_diagnostics = model_performance

    return MeasureExplainer


@dataclass(eq=False)
class MeasureModel:
    """A measure as if it were a prediction: what `dalex_explainer` gives dalex as the model.

    `y` is one encoded value for every row, or None to find each row's own by the row index.
    """

    subject: Subject
    engine: Engine
    measure: Measure
    y: Any = None

    def predict(self, X: Any) -> FloatArray:
        """Return the measure of each row, shape (n,); of an array only where the model was audited on arrays."""
        if isinstance(X, pd.DataFrame):
            table, index = from_frame(self.subject, X), X.index
        elif isinstance(self.subject.X, pd.DataFrame):
            raise InputError(f"dalex_explainer.predict must get a DataFrame; got {type(X).__name__}. Pass a frame.")
        else:
            table, index = X, None
        target = self._target(len(X), index) if self.measure.needs_y else None
        rows: FloatArray = self.engine.measure_rows(table, [self.measure], target)[0]
        return rows

    def _target(self, size: int, index: pd.Index[Any] | None) -> AnyArray:
        """Return the fixed y, or each row's own."""
        if self.y is not None:
            return np.full(size, self.y)
        n = self.subject.n
        if self.engine.y is None or index is None or not index.isin(range(n)).all():
            raise InputError(
                f"dalex_explainer.predict must know y for {self.measure.name}; got rows whose index is not among "
                f"0 to {n - 1}. Keep the index of explainer.data, or fix y: dalex_explainer(..., y=...)."
            )
        own: AnyArray = self.engine.y[index.to_numpy(dtype=int)]
        return own


def _library(who: str, name: str) -> Any:
    """Import an optional library."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tqdm, which shap imports, about widgets of notebooks
            return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(who, name) from error


def _measures(result: Result) -> list[str]:
    """Return the measures that have values, in the result's order."""
    names = [str(name) for name in dict.fromkeys(result.frame[col.MEASURE])]
    if not names:
        raise InputError(f"to_dalex.result must have values; got an empty {result.id!r}.")
    return names


def _importance(kind: Any, result: Importance, measure: str, label: str) -> Any:
    """Return a VariableImportance whose drop-out losses are the full model's value plus the importance."""
    full = _full_model(result, measure)
    baseline = float(WithLosses.from_result(result).baseline.get(measure, full))
    own = result.frame[result.frame[col.MEASURE] == measure]
    table = result.estimates[result.estimates[col.MEASURE] == measure].sort_values(col.ESTIMATE, kind="stable")
    importance = kind(N=None, B=max(1, own[col.REPEAT].nunique()))
    importance.result = pd.DataFrame(
        {
            "variable": [FULL, *table[col.FEATURE], BASELINE],
            "dropout_loss": [full, *(table[col.ESTIMATE] + full), baseline],
            "label": label,
        }
    )
    rounds = own.pivot_table(index=col.REPEAT, columns=col.FEATURE, values=col.VALUE, sort=False) + full
    rounds = rounds.assign(**{FULL: full, BASELINE: baseline})
    importance.permutation = rounds.reset_index(drop=True).rename_axis(None, axis=1)
    importance.variables = {name: name for name in table[col.FEATURE]}
    return importance


def _full_model(result: Importance, measure: str) -> float:
    """Return the measure's mean before any shuffle, where the result records it, else 0."""
    recorded = WithLosses.from_result(result).full_model.get(measure)
    if recorded is None and col.UNPERMUTED in result.estimates.columns:
        recorded = result.estimates.loc[result.estimates[col.MEASURE] == measure, col.UNPERMUTED].iloc[0]
    return 0.0 if recorded is None or not np.isfinite(recorded) else float(recorded)


def _profile(kind: Any, result: Profile, measure: str, label: str, variable_type: str) -> Any:
    """Return an AggregatedProfiles of the average curves of single features of one kind."""
    frame = result.frame
    single = (frame[col.MEASURE] == measure) & (frame[col.CURVE] == -1) & (frame[col.FEATURE_2] == "")
    numeric = frame[col.LEVEL] == ""
    own = frame[single & (numeric if variable_type == "numerical" else ~numeric)]
    if own.empty:
        raise InputError(
            f"to_dalex.variable_type must be a kind of feature that {result.id!r} has average curves of for {measure}; "
            f"got {variable_type!r}."
        )
    profiles = kind(variable_type=variable_type, variables=list(dict.fromkeys(own[col.FEATURE])))
    profiles.result = pd.DataFrame(
        {
            "_vname_": own[col.FEATURE].to_numpy(),
            "_label_": label,
            "_x_": own[col.X if variable_type == "numerical" else col.LEVEL].to_numpy(),
            "_yhat_": own[col.VALUE].to_numpy(),
            "_ids_": 0,
        }
    )
    profiles.mean_prediction = float(DalexProfile.from_result(result).mean.get(measure, own[col.VALUE].mean()))
    return profiles


def _shap(kind: Any, result: Attribution, measure: str, row: int, label: str) -> Any:
    """Return dalex's Shap of one row, with all values as the average over orders."""
    own = result.frame[(result.frame[col.MEASURE] == measure) & (result.frame[col.ROW] == row)]
    values = Attributions.from_result(result).values_of(row)
    known = [values.get(name, "") for name in own[col.FEATURE]]
    told = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in known]
    shap = kind()
    shap.result = pd.DataFrame(
        {
            "variable": [f"{name} = {value}" for name, value in zip(own[col.FEATURE], told, strict=True)],
            "contribution": own[col.VALUE].to_numpy(),
            "variable_name": own[col.FEATURE].to_numpy(),
            "variable_value": told,
            "sign": np.sign(own[col.VALUE]).to_numpy(),
            "label": label,
            "B": 0,
        }
    ).sort_values("contribution", key=abs, ascending=False, ignore_index=True)
    shap.intercept = float(own[col.BASE].iloc[0])
    shap.prediction = shap.intercept + float(own[col.VALUE].sum())
    return shap


def to_shap(result: Attribution, measure: str) -> Any:
    """Return one measure's attributions as a `shap.Explanation` that every function of `shap.plots` takes.

    Parameters
    ----------
    result : Attribution
        One value for each feature and row; a result of the explainer ``shap``, live or from a saved run.
    measure : str

    Returns
    -------
    shap.Explanation
        ``values`` (rows, features), ``base_values`` (rows,), ``data`` (rows, features) in numbers, where
        levels stand as their position among the sorted ones, and ``display_data`` as they are.
        ``error_std`` holds the Monte-Carlo standard errors; shap's plots do not draw them.
    """
    shap = _library("to_shap", ids.SHAP)
    own = result.frame[result.frame[col.MEASURE] == measure]
    if own.empty:
        raise InputError(
            f"to_shap.measure must be one that {result.id!r} has values of; got {measure!r}. "
            f"{nearest(measure, result.frame[col.MEASURE].unique())}"
        )
    features = [str(name) for name in dict.fromkeys(result.frame[col.FEATURE])]
    rows = [int(row) for row in dict.fromkeys(own[col.ROW])]
    values = own.pivot_table(index=col.ROW, columns=col.FEATURE, values=col.VALUE).reindex(index=rows, columns=features)
    if values.isna().any(axis=None):
        raise InputError(
            f"to_shap.result must have one value for each feature and row; got {result.id!r} with gaps. "
            "Break-down with interactions has no such table."
        )
    table = _recorded(result, rows, features)
    numbers = None if table is None else np.column_stack([_numbers(table[name].tolist()) for name in features])
    plain = table is None or all(map(_is_numeric, table.to_numpy(dtype=object).T))
    return shap.Explanation(
        values.to_numpy(),
        base_values=own.groupby(col.ROW, sort=False)[col.BASE].first().to_numpy(),
        data=numbers,
        display_data=None if plain or table is None else table.to_numpy(dtype=object),
        instance_names=[str(row) for row in rows],
        feature_names=features,
        error_std=_errors(result, measure, values),
    )


def shap_figure(explanation: Any, kind: str, *, row: int | None = None, **choice: Any) -> Figure:
    """Return the figure that a plot of shap makes; `row` is the observation of a plot of one, the first by default."""
    plots, plt = _library("plot", ids.SHAP).plots, import_module("matplotlib.pyplot")
    names = list(explanation.instance_names)
    name = names[0] if row is None else str(row)
    check_choice("plot.row", name, names)
    one = explanation[names.index(name)]
    shown = one if kind in ("waterfall", "force") else explanation
    given: tuple[Any, ...] = (shown,)
    if kind == "decision":
        given, choice = (shown.base_values[0], shown.values), {"feature_names": explanation.feature_names, **choice}
    empty = figure = plt.figure()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of shap about matplotlib
            more = {"matplotlib": True} if kind == "force" else {}
            getattr(plots, kind)(*given, show=False, **more, **choice)
            figure = plt.gcf()
            figure.tight_layout()
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"plot.kind must fit the values; shap.plots.{kind} failed: {words_of(error)}.") from error
    finally:
        plt.close(empty)
        plt.close(figure)
    return figure


def _recorded(result: Attribution, rows: Sequence[int], features: Sequence[str]) -> pd.DataFrame | None:
    """Return the feature values that the result keeps for its rows, or None if it keeps none."""
    view = Attributions.from_result(result)
    values = [view.values_of(row) for row in rows]
    if not all(set(features) <= set(own) for own in values):
        return None
    return pd.DataFrame({name: pd.Series([own[name] for own in values], dtype=object) for name in features})


def _is_numeric(column: Iterable[Any]) -> bool:
    """Say whether every value is a number or missing; truth values are levels."""
    return all(
        pd.isna(value) or (isinstance(value, Real) and not isinstance(value, bool | np.bool_)) for value in column
    )


def _numbers(column: Sequence[Any]) -> FloatArray:
    """Return a column as numbers: itself, or each level's position among the sorted ones; missing is NaN."""
    values = pd.Series(column, dtype=object)
    if not _is_numeric(column):
        codes, _ = pd.factorize(values.map(str, na_action="ignore"), sort=True)
        return np.where(codes < 0, np.nan, codes)
    return values.where(values.notna(), np.nan).to_numpy(dtype=float)


def _errors(result: Attribution, measure: str, values: pd.DataFrame) -> FloatArray | None:
    """Return the standard errors in the layout of `values`, or None where there are none."""
    table = result.estimates[result.estimates[col.MEASURE] == measure]
    if col.ROW not in table.columns or table[col.STD_ERROR].isna().any():
        return None
    errors = table.pivot_table(index=col.ROW, columns=col.FEATURE, values=col.STD_ERROR)
    return errors.reindex(index=values.index, columns=values.columns).to_numpy()
