"""Where residuals are taken: held-out rows, out-of-bag rows or folds, none of them an audited row."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from ...core.model.subject import Subject
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
from ...core.support.errors import FOREIGN, InputError, ModelError, UQReportError, words_of
from ...core.traits.interop import global_random_state_restored
from ...core.validation import inputs
from ...core.validation.multioutput import Output
from ...core.validation.residuals import Residuals, Source
from ...distributions import NormalMixture
from .ensemble import EnsembleAdapter, members as members_of, moments
from .outputs import refuse_rows
from .several_outputs import Augmented
from .sklearn_ import in_order, is_a, transform, unwrap

COINCIDENCES = 0.01  # share of a table's rows that may be residual rows too, by equal values


def collected(subject: Subject, asked: Residuals, *, members: bool) -> Collected:
    """Return the residuals from the source that is asked for, or the best there is.

    Raises
    ------
    InputError
        If there is no such source, its rows are audited rows too, or fewer than 20 residuals are left.
    """
    take = _trained if asked.rows is None else _held_out
    rows = take(subject, asked, members=members)
    if len(rows.residual) < LEAST:
        raise InputError(f"residuals must be of at least {LEAST} rows; got {len(rows.residual)}. {GIVE_ROWS}")
    if not rows.residual.any():
        raise InputError(f"residuals must not all be 0; got 0 in all {len(rows.residual)} rows. {GIVE_ROWS}")
    return rows


def _held_out(subject: Subject, asked: Residuals, *, members: bool) -> Collected:
    what = "residuals.rows"
    X, y = _pair(inputs.training(asked.rows, subject.X, subject.features, subject.model, what), what)
    _refuse_shared((subject.X, subject.y), X, y, what, "audited")
    if subject.train is not None:
        _refuse_shared(subject.train, X, y, what, "training")
    given = predicted(subject.model, X, members=members)
    return Collected("held_out", X, y - given.mean, given)


def _trained(subject: Subject, asked: Residuals, *, members: bool) -> Collected:
    model, (X, y) = subject.model, _pair(subject.train, "explain.train")
    _refuse_shared((subject.X, subject.y), X, y, "explain.train", "audited")
    bagged = has_bags(model)
    if asked.source == "oob" and not bagged:
        raise InputError(
            "residuals.source must be 'oob' only for a fitted scikit-learn forest or bagging with bootstrap; got "
            f"{type(unwrap(model)[1]).__name__}. Pass residuals='normal', which takes cross-validation."
        )
    if bagged and asked.source != "cross_validation":
        return out_of_bag(model, X, y, members=members)
    return refitted(model, X, y, asked, members=members)


def _pair(given: tuple[Table, AnyArray | None] | None, what: str) -> tuple[Table, FloatArray]:
    """Return rows and their outcomes as numbers; refuse where there are none."""
    if given is None or given[1] is None:
        got = "None" if given is None else "no y"
        raise InputError(
            f"{what} must be a pair (X, y) for residuals to be taken from; got {got}. Pass train=(X_train, y_train), "
            "or rows outside the fit: residuals=uq.Residuals(rows=(X_calibration, y_calibration))."
        )
    try:
        return given[0], np.asarray(given[1], dtype=float)
    except (TypeError, ValueError) as error:
        got = str(np.asarray(given[1]).dtype)
        raise InputError(f"explain.residuals must be None for a target that is no number; got {got}.") from error


def _refuse_shared(ours: tuple[Table, AnyArray | None], X: Table, y: FloatArray, what: str, kind: str) -> None:
    """Refuse residual rows of which too many are rows of another table, by equal features and outcomes.

    Rows of few distinct values may be equal by chance: allowed is 1% of the table's rows, or the share of them that
    have an equal in the table itself, but never that both tables are the same.
    """
    known = ours[1] is not None
    codes, others = _codes(*ours), _codes(X, y if known else None)
    shared, doubled = np.isin(codes, others), pd.Series(codes).duplicated(keep=False).to_numpy()
    same = np.array_equal(np.sort(codes), np.sort(others))
    if same or shared.mean() > max(COINCIDENCES, doubled.mean()):
        rows = np.flatnonzero(shared)
        listed = ", ".join(map(str, rows[:5])) + (" ..." if len(rows) > 5 else "")
        raise InputError(
            f"{what} must hold none of the {kind} rows where residuals are taken from it; got {len(rows)} of the "
            f"{len(codes)} {kind} rows: rows {listed}. {GIVE_ROWS}"
        )


def _codes(X: Table, y: AnyArray | None) -> AnyArray:
    """Return a number per row that equal rows share."""
    frame = pd.DataFrame(X).copy(deep=False)
    frame.columns = pd.RangeIndex(frame.shape[1])
    for place, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, place]
        numeric = pd.api.types.is_numeric_dtype(dtype)
        values = column.to_numpy(float, na_value=np.nan) + 0.0 if numeric else column.astype(str).to_numpy()
        frame.isetitem(place, values)
    if y is not None:
        frame[frame.shape[1]] = np.asarray(y, dtype=float) + 0.0
    return np.asarray(pd.util.hash_pandas_object(frame, index=False))


LEAST = 20  # residuals from which a spread is taken
GIVE_ROWS = "Give rows of your own: residuals=uq.Residuals(rows=(X_calibration, y_calibration))."
_STREAM = 0x12E5  # of the folds


class PointPredictions(NamedTuple):
    """Predictions of rows, and the variance of an ensemble's members in each; 0 where members are not used."""

    mean: FloatArray
    variance: FloatArray


class Collected(NamedTuple):
    """Rows outside the fit with their residuals and predictions, and what a reader must know of them."""

    source: Source
    X: Table
    residual: FloatArray
    predicted: PointPredictions
    notes: tuple[str, ...] = ()


def point(model: Any, X: Table) -> FloatArray:
    """Return one number per row, shape (n,): what ``predict`` or a function gives; of a distribution its mean."""
    who = getattr(model, "__name__", type(model).__name__)
    try:
        with in_order():
            values = model.predict(X) if callable(getattr(model, "predict", None)) else model(X)
    except UQReportError:
        raise
    except Exception as error:
        raise ModelError(
            f"{who} failed to predict {len(X)} rows for residuals: {words_of(error)}. Pass a function that takes "
            "these rows and returns one number each: uq.explain(lambda X: ..., X, y, residuals=...)."
        ) from error
    values = values.mean() if isinstance(values, Distribution) else values
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} must predict numbers for residuals to be of; got others ({error}).") from error
    numbers = numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers
    if numbers.shape != (len(X),):
        raise InputError(
            f"{who} must predict one number per row, shape ({len(X)},), for residuals to be of; got {numbers.shape}. "
            "A model with several outputs is audited one output at a time."
        )
    refuse_rows(f"{who} must predict a finite number", ~np.isfinite(numbers), "Look at these rows' inputs.")
    return numbers


def predicted(model: Any, X: Table, *, members: bool) -> PointPredictions:
    """Return predictions and, if the members of an ensemble are used, the unbiased variance of theirs."""
    if members:
        mixture = cast("NormalMixture", EnsembleAdapter().predict(model, X))
        rest = 1 - float(np.square(mixture.weights).sum())
        return PointPredictions(mixture.mean(), mixture.epistemic_variance() / (rest or 1.0))
    mean = point(model, X)
    return PointPredictions(mean, np.zeros(len(mean)))


def folds(n: int, asked: Residuals) -> list[IntArray]:
    """Return the row positions of each fold, drawn by the seed."""
    order = np.random.default_rng([asked.seed, _STREAM]).permutation(n)
    return [np.sort(fold) for fold in np.array_split(order, asked.n_splits)]


BOOTSTRAP = ("RandomForestRegressor", "ExtraTreesRegressor", "BaggingRegressor")
_CHECKED = 3  # members whose leaves are counted
_OTHER_ROWS = (
    "explain.train must hold the rows of the fit in their order for out-of-bag residuals; got {}. Pass those rows, or "
    "residuals=uq.Residuals(source='cross_validation')."
)


def has_bags(model: Any) -> bool:
    """Say whether out-of-bag rows of a model can be known."""
    final = unwrap(model)[1]
    return is_a(final, BOOTSTRAP) and bool(getattr(final, "bootstrap", False)) and hasattr(final, "estimators_")


def out_of_bag(model: Any, X: Table, y: FloatArray, *, members: bool) -> Collected:
    """Return residuals of each row from the members that did not see it; of rows outside fewer than two bags, none.

    The members' variance is that of the predictions of those outside, divided by their number less 1.
    """
    steps, forest = unwrap(model)
    rows = transform(steps, X)
    total, squares, times = np.zeros((3, len(y)))
    for k, ((member, its_rows), inside) in enumerate(
        zip(members_of(forest, rows), _samples(forest, len(y)), strict=True)
    ):
        if k < _CHECKED:
            _refuse_other_rows(member, its_rows, inside)
        outside = np.setdiff1d(np.arange(len(y)), inside)
        if len(outside):
            mean = moments(member, its_rows[outside])[0]
            total[outside] += mean
            squares[outside] += np.square(mean)
            times[outside] += 1
    kept = np.flatnonzero(times > 1)
    n = times[kept]
    mean = total[kept] / n
    _refuse_other_predictions(forest, kept, mean)
    spread = np.maximum(squares[kept] / n - np.square(mean), 0.0) * n / (n - 1)
    variance = spread if members else np.zeros(len(kept))
    note = f"{len(y) - len(kept)} training observations are outside fewer than two bags and give no residual."
    notes = (note,) if len(kept) < len(y) else ()
    return Collected("oob", take_rows(X, kept), y[kept] - mean, PointPredictions(mean, variance), notes)


def _samples(forest: Any, n: int) -> Iterator[IntArray]:
    """Yield the row positions that each member was fitted to; refuse another number of rows."""
    fitted = int(getattr(forest, "_n_samples", n))
    if fitted != n:
        raise InputError(_OTHER_ROWS.format(f"{n} rows for a fit of {fitted}"))
    yield from (np.asarray(inside) for inside in forest.estimators_samples_)


def _refuse_other_rows(member: Any, X: Any, inside: IntArray) -> None:
    """Refuse training rows that do not fall into a tree's leaves as those of its fit did."""
    if not hasattr(member, "tree_"):
        return
    leaf = member.apply(X)
    ends, sizes = member.tree_.children_left < 0, member.tree_.n_node_samples
    # a tree counts rows that were drawn twice once or twice, by how it was given them
    counts = [np.bincount(leaf[rows], minlength=len(sizes)) for rows in (np.unique(inside), inside)]
    if not any(np.array_equal(count[ends], sizes[ends]) for count in counts):
        raise InputError(_OTHER_ROWS.format("rows that fall into other leaves of its trees"))


def _refuse_other_predictions(forest: Any, rows: IntArray, mean: FloatArray) -> None:
    """Refuse training rows whose out-of-bag predictions are not those that the model recorded at its fit."""
    recorded = getattr(forest, "oob_prediction_", None)
    if recorded is not None and not np.allclose(np.asarray(recorded)[rows], mean, rtol=1e-6):
        raise InputError(_OTHER_ROWS.format("out-of-bag predictions other than its oob_prediction_"))


_MUST = "explain.model must be able to be fitted again for cross-validated residuals"


def refitted(model: Any, X: Table, y: FloatArray, asked: Residuals, *, members: bool) -> Collected:
    """Return residuals of rows that the same model did not see when it was fitted to the other folds."""
    blank, n = _blank(model, asked.seed), len(y)
    if n < max(LEAST, asked.n_splits):
        raise InputError(f"explain.train must have at least {max(LEAST, asked.n_splits)} rows for residuals; got {n}.")
    mean, variance = np.empty(n), np.empty(n)
    clone = import_module("sklearn.base").clone
    for fold in folds(n, asked):
        rest = np.setdiff1d(np.arange(n), fold)
        try:
            with global_random_state_restored(), in_order():
                again = clone(blank)
                again.fit(take_rows(X, rest), y[rest])
        except FOREIGN as error:  # a foreign object: whatever its fit raises is passed on with its name
            got = f"{type(model).__name__} ended with {words_of(error)}"
            raise ModelError(f"{_MUST}; {got}. {GIVE_ROWS}") from error
        mean[fold], variance[fold] = predicted(again, take_rows(X, fold), members=members)
    note = f"For the residuals the model was fitted {asked.n_splits} more times, each to all but one fold."
    return Collected("cross_validation", X, y - mean, PointPredictions(mean, variance), (note,))


def can_refit(model: Any) -> bool:
    """Say whether a model and all its parts can be fitted again from their parameters, as scikit-learn's can."""
    return _has_parameters(model) and not _fixed(model)


def _has_parameters(model: Any) -> bool:
    methods = all(callable(getattr(model, name, None)) for name in ("get_params", "fit"))
    return methods and not isinstance(model, type)


def _fixed(model: Any) -> list[str]:
    """Return the parts of a model that are fitted and not changed by another fit."""
    return [name for name, part in {"itself": model, **model.get_params(deep=True)}.items() if _stays(part)]


def _blank(model: Any, seed: int) -> Any:
    """Return the model as it was before its fit, with a seed wherever it has none; refuse what cannot be.

    Of a search the best model is taken, without a new search.
    """
    if is_a(model, ("BaseSearchCV",)) and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if not _has_parameters(model):
        raise InputError(f"{_MUST}; got {type(model).__name__}, which no clone of it can. {GIVE_ROWS}")
    if fixed := _fixed(model):
        raise InputError(
            f"{_MUST}; got {type(model).__name__} with parts that stay as they are ({', '.join(fixed)}) and have seen "
            f"every fold. {GIVE_ROWS}"
        )
    try:
        blank = import_module("sklearn.base").clone(model)
    except (TypeError, RuntimeError) as error:
        raise InputError(f"{_MUST}; {type(model).__name__} cannot be cloned: {error}. {GIVE_ROWS}") from error
    free = [
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    ]
    return blank.set_params(**dict.fromkeys(free, seed)) if free else blank


def _stays(value: Any) -> bool:
    """Say whether a model, or a parameter of one, is fitted and not changed by another fit."""
    fitted = isinstance(value, Output | Augmented) or is_a(value, ("FrozenEstimator",))
    return fitted or (isinstance(value, str) and value == "prefit")
