"""Point predictions with a distribution laid over them, from residuals of rows outside the fit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from math import exp
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize

from ...core.model.adapter import Advice, Match, class_names
from ...core.model.subject import Subject
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table, take_rows
from ...core.support.errors import InputError
from ...core.support.numbers import OUTCOME_UNIT, number
from ...core.traits.stored_predictions import FixedRows
from ...core.validation.residuals import Assumption, Residuals
from ...distributions import Normal, Smoothed, StudentT
from ...distributions.families.student_t import log_density_of_t
from ...distributions.tables.quantiles import Quantiles
from .ensemble import EnsembleAdapter
from .outputs import POINTS
from .residual_rows import GIVE_ROWS, Collected, PointPredictions, can_refit, collected, folds, has_bags, predicted
from .sklearn_ import SklearnAdapter, is_a, unwrap

DF_LIMITS = (2.1, 200.0)  # a finite variance, and what is hardly told from a normal
_LIMITS = (-14.0, 5.0)  # of the logarithms of a and b, in units of the mean square
_STARTS = ((0.5, 0.5), (0.05, 0.95), (0.95, 0.05))


class SpreadFit(NamedTuple):
    """A centred Student-t of `df` degrees of freedom and squared scale a + b s², where s² is the members' variance."""

    df: float
    a: float
    b: float

    def square(self, members: FloatArray) -> FloatArray:
        """Return the squared scale of rows whose members have this variance."""
        return np.asarray(self.a + self.b * members)

    def share(self, members: FloatArray) -> FloatArray:
        """Return the members' share b s²/(a + b s²) of the variance of each row.

        Examples
        --------
        >>> SpreadFit(5.0, 1.0, 2.0).share(np.array([0.0, 0.5])).tolist()
        [0.0, 0.5]
        """
        return np.asarray(self.b * members / self.square(members))


def fitted_spread(residual: FloatArray, members: FloatArray) -> SpreadFit:
    """Return the spread of residuals by likelihood, given the variance of the members in each row; both shape (n,).

    First ``(a, b) >= 0`` maximise the normal likelihood of variances a + b s²; b is 0 where that is no better than one
    variance, their mean square. Then degrees of freedom and scale of a centred Student-t of the residuals divided by
    ``√(a + b s²)`` maximise its likelihood.
    """
    mean_square, mean_members = float(np.square(residual).mean()), float(members.mean())
    e = residual / mean_square**0.5
    a, b = _variances(np.square(e), members / mean_members) if mean_members > 0 else (1.0, 0.0)
    df, scale = _tails(e / np.sqrt(a + b * members / (mean_members or 1.0)))
    whole = scale**2 * mean_square
    return SpreadFit(df, whole * a, whole * b / (mean_members or 1.0))


def _variances(squares: FloatArray, members: FloatArray) -> tuple[float, float]:
    """Return (a, b) for squares and variances of mean 1."""

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        a, b = np.exp(logs)
        v = a + b * members
        slope = (1 / v - squares / v**2) / 2
        return float((np.log(v) + squares / v).mean() / 2), np.array([a * slope.mean(), b * (slope * members).mean()])

    found = [
        optimize.minimize(loss, np.log(start), jac=True, method="L-BFGS-B", bounds=[_LIMITS] * 2) for start in _STARTS
    ]
    best = min(found, key=lambda fit: float(fit.fun))
    if not best.fun < 0.5 - 1e-9:  # that of one variance for all
        return 1.0, 0.0
    return exp(best.x[0]), exp(best.x[1])


def _tails(z: FloatArray) -> tuple[float, float]:
    """Return degrees of freedom and scale of a centred Student-t."""

    def loss(logs: FloatArray) -> float:
        df, scale = np.exp(logs)
        return float(logs[1] - log_density_of_t(z / scale, df).mean())

    bounds = [tuple(np.log(DF_LIMITS)), (-10.0, 10.0)]
    found = [optimize.minimize(loss, np.log([df, 1.0]), method="L-BFGS-B", bounds=bounds) for df in (4.0, 100.0)]
    df, scale = np.exp(min(found, key=lambda fit: float(fit.fun)).x)
    return float(df), float(scale)


LEAST = 60  # residuals from which a scale is modelled
# few and small steps of small trees: of a constant scale they make next to nothing
_TREES = {"max_iter": 60, "learning_rate": 0.05, "max_leaf_nodes": 4, "min_samples_leaf": 20, "early_stopping": False}


@dataclass(frozen=True, eq=False)
class ModelledScale:
    """The mean absolute residual of a row, by its features and its prediction; each row alone, to the last bit."""

    trees: Any
    encoder: Any

    def __call__(self, X: Table, mean: FloatArray) -> FloatArray:
        """Return the scale of each row, greater than 0, shape (n,)."""
        return np.asarray(self.trees.predict(_numbers(self.encoder, X, mean)))


def modelled(rows: Collected, asked: Residuals) -> tuple[ModelledScale, FloatArray]:
    """Return the scale fitted to all residuals, and that of each residual row fitted to the other folds.

    The Poisson deviance of the absolute residuals is least at their mean, allows 0, and keeps the scale positive.
    """
    size, n = np.abs(rows.residual), len(rows.residual)
    least = max(LEAST, asked.n_splits)
    if n < least:
        raise InputError(f"residuals.scale must be 'constant' for fewer than {least} residuals; got {n}. {GIVE_ROWS}")
    own = np.empty(n)
    for fold in folds(n, asked):
        rest = np.setdiff1d(np.arange(n), fold)
        model = _fitted(take_rows(rows.X, rest), rows.predicted.mean[rest], size[rest])
        own[fold] = model(take_rows(rows.X, fold), rows.predicted.mean[fold])
    return _fitted(rows.X, rows.predicted.mean, size), own


def _fitted(X: Table, mean: FloatArray, size: FloatArray) -> ModelledScale:
    boosting = import_module("sklearn.ensemble").HistGradientBoostingRegressor(loss="poisson", **_TREES)
    encoder = import_module("sklearn.preprocessing").OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    if _others(X):
        encoder.fit(_labels(X))
    return ModelledScale(boosting.fit(_numbers(encoder, X, mean), size), encoder)


def _numbers(encoder: Any, X: Table, mean: FloatArray) -> FloatArray:
    """Return the rows as numbers, the prediction first; other columns as the order of their levels."""
    if not isinstance(X, pd.DataFrame):
        return np.column_stack([mean, X]).astype(float)
    plain = [
        X.iloc[:, place].to_numpy(float, na_value=np.nan)
        for place, dtype in enumerate(X.dtypes)
        if pd.api.types.is_numeric_dtype(dtype)
    ]
    levels = [encoder.transform(_labels(X))] if _others(X) else []
    return np.column_stack([mean, *plain, *levels])


def _others(X: Table) -> list[int]:
    """Return the positions of the columns that are no numbers."""
    dtypes = X.dtypes if isinstance(X, pd.DataFrame) else ()
    return [place for place, dtype in enumerate(dtypes) if not pd.api.types.is_numeric_dtype(dtype)]


def _labels(X: Any) -> Any:
    return X.iloc[:, _others(X)].astype(str).to_numpy(dtype=object)


MOST_CENTRES = 200
ENOUGH = 500  # residuals from which a Student-t is steady; simulated, with 150 it is off in up to 35% of audits
BIASED = 3.0  # standard errors from which a mean residual is mentioned
# levels of the conformal form, rounded outwards to residuals
LEVELS = (0.025, 0.05, 0.1, 0.175, 0.25, 0.375, 0.5, 0.625, 0.75, 0.825, 0.9, 0.95, 0.975)

_TRAINED = 'uq.explain(model, X, y, train=(X_train, y_train), residuals="{}")'

# objectives without a link
_SUMS = {"lightgbm.LGBMRegressor": ("None", "regression", "regression_l1", "huber", "quantile")}

Scale = Callable[[Table, FloatArray], FloatArray]
Around = Callable[[PointPredictions, FloatArray], Distribution]  # predictions and the scale of rows


@dataclass(frozen=True, eq=False)
class Noise:
    """What the residuals say: the scale of a row, and the distribution around its prediction.

    `members` says that it depends on the variance of an ensemble's members.
    """

    scale: Scale
    around: Around
    members: bool = False


class Form(NamedTuple):
    """A form fitted to standardised residuals: the distribution around predictions, and its mean square.

    `remarks` are what a reader must know of it; `fit` is that of a Student-t.
    """

    around: Around
    size: float
    remarks: tuple[str, ...] = ()
    fit: SpreadFit | None = None


@dataclass(frozen=True)
class ResidualsAdapter(SklearnAdapter):
    """Regressors without an uncertainty of their own, by ``uq.explain(..., residuals="normal")``.

    Anything with ``predict(X)``, or a function of the rows, that gives one number per row. It matches no model by
    itself: an assumption has to be asked for. A Student-t follows the spread of the members of forests, bagging and
    voting as far as the residuals do.

    Examples
    --------
    >>> from uq_report.api.explaining import explain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] + rng.normal(size=100)
    >>> subject = explain(lambda X: X[:, 0], X[:50], y[:50], residuals=Residuals(rows=(X[50:], y[50:])))
    >>> subject.adapter.predict(subject.model, X[:2]).variance().round(2)
    array([1.05, 1.05])
    """

    noise: Noise | None = None

    name: ClassVar[str] = "residuals"

    def matches(self, model: Any) -> Match | None:
        """Match nothing."""
        return None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distribution laid over each row's prediction."""
        noise = self.noise
        if noise is None:
            raise InputError("adapter must be left out for residuals; got 'residuals'. Pass residuals='normal' alone.")
        q = predicted(model, X, members=noise.members)
        return noise.around(q, noise.scale(X, q.mean))

    def score(self, model: Any, X: Any) -> FloatArray | None:
        """Return the score of a model, or the prediction of boosted trees, where nothing else makes the spread."""
        if self.noise is None or self.noise.members or self.noise.scale is not _constant:
            return None
        own = super().score(model, X)
        return predicted(model, X, members=False).mean[:, None] if own is None and _is_identity(model) else own

    def from_score(self, model: Any, scores: FloatArray) -> Distribution:
        """Return the distribution laid over what these scores predict."""
        noise = self.noise
        if noise is None or not _is_identity(model):
            return super().from_score(model, scores)
        mean = scores[:, 0]
        return noise.around(PointPredictions(mean, np.zeros(len(mean))), noise.scale(scores, mean))

    def batch_rows(self, model: Any) -> int | None:
        """Return what the model itself gets."""
        members = self.noise is not None and self.noise.members
        return EnsembleAdapter().batch_rows(model) if members else super().batch_rows(model)

    def advise(self, model: Any) -> Advice | None:
        """Return how a regressor that predicts points gets a distribution from rows that the fit did not use.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> ResidualsAdapter().advise(LinearRegression()).code
        'uq.explain(model, X, y, train=(X_train, y_train), residuals="normal")'
        """
        points = callable(getattr(model, "predict", None)) and not is_a(model, ("ClusterMixin", "OutlierMixin"))
        if isinstance(model, type) or not points or _decides(model):
            return None
        word = "oob" if has_bags(model) else "normal" if can_refit(model) else ""
        return Advice(2, "predicts points", _TRAINED.format(word) if word else POINTS)

    def laid_over(self, subject: Subject, asked: Residuals, replaces: str = "") -> Subject:
        """Return the subject with this adapter fitted to residuals, the assumption and what a reader must know of it.

        Parameters
        ----------
        subject : Subject
        asked : Residuals
        replaces : str
            The adapter whose distribution is not used; empty for a model without one.
        """
        model = subject.model
        _refuse_unfit(subject)
        members = asked.form == "student_t" and EnsembleAdapter().matches(model) is not None
        rows = collected(subject, asked, members=members)
        noise, form, spread = _noise(rows, asked)
        share = None if form.fit is None or not members else float(form.fit.share(rows.predicted.variance).mean())
        assumption = Assumption(
            form=asked.form,
            source=rows.source,
            scale=asked.scale,
            n=len(rows.residual),
            n_splits=asked.n_splits if rows.source == "cross_validation" else None,
            seed=asked.seed,
            mean=float(rows.residual.mean()),
            spread=spread,
            df=None if form.fit is None else form.fit.df,
            members_share=share,
            replaces=replaces,
        )
        return replace(
            subject,
            adapter=ResidualsAdapter(noise=noise),
            adapter_reason=f"residuals={asked.form!r} was asked for",
            assumption=assumption,
            notes=(*subject.notes, *rows.notes, *form.remarks, *_unknown(subject, rows), *_bias(assumption)),
        )


def _is_identity(model: Any) -> bool:
    """Say whether a model is known to predict the sum of its trees."""
    name, objective = class_names(model)[0], str(getattr(model, "objective", None))
    return objective in _SUMS.get(name, ())


def _decides(model: Any) -> bool:
    """Say whether a model predicts classes: CatBoost's regressors hold none, skpro's give distributions as proba."""
    classes = getattr(unwrap(model)[1], "classes_", None)
    if classes is not None:
        return len(classes) > 0
    return callable(getattr(model, "predict_proba", None)) and "skpro.BaseProbaRegressor" not in class_names(model)


def _refuse_unfit(subject: Subject) -> None:
    model = subject.model
    if isinstance(model, type):
        raise InputError(f"model must be a fitted model; got the class {model.__name__} itself. Fit an object of it.")
    given = isinstance(model, FixedRows)
    if given or _decides(model):
        what = "stored predictions" if given else f"{type(model).__name__}, which predicts classes"
        raise InputError(f"explain.residuals must be for a regressor; got {what}. Leave residuals out.")
    if not (callable(model) or callable(getattr(model, "predict", None))):
        raise InputError(f"model must have predict, or be a function of the rows; got {type(model).__name__}.")


def _noise(rows: Collected, asked: Residuals) -> tuple[Noise, Form, float]:
    """Return the noise, the form that was fitted, and the root mean square of the noise on the residual rows."""
    if asked.scale == "modelled":
        scale, own = modelled(rows, asked)
        of_rows: Scale = scale
        sizes = np.square(scale(rows.X, rows.predicted.mean))
    else:
        own, sizes = np.ones(len(rows.residual)), np.ones(len(rows.residual))
        of_rows = _constant
    form = _FORMS[asked.form](rows.residual / own, rows.predicted.variance / np.square(own))
    members = form.fit is not None and form.fit.b > 0
    return Noise(of_rows, form.around, members), form, float(np.sqrt(form.size * sizes.mean()))


def _constant(_: Table, mean: FloatArray) -> FloatArray:
    return np.ones(len(mean))


def _normal(z: FloatArray, _: FloatArray) -> Form:
    """Return N(f, s² E[z²]): the mean residual is not taken off."""
    std = float(np.sqrt(np.square(z).mean()))
    return Form(lambda q, scale: Normal(q.mean, std * scale), std**2)


def _student_t(z: FloatArray, members: FloatArray) -> Form:
    """Return a Student-t around f whose squared scale is a + b times the variance of the members."""
    fit = fitted_spread(z, members)

    def around(q: PointPredictions, scale: FloatArray) -> Distribution:
        return StudentT(fit.df, q.mean, scale * np.sqrt(fit.square(q.variance / np.square(scale))))

    few = f"Degrees of freedom and spread rest on {len(z)} residuals; with fewer than {ENOUGH} they are rough."
    return Form(around, float(np.square(z).mean()), (few,) if len(z) < ENOUGH else (), fit)


def _empirical(z: FloatArray, _: FloatArray) -> Form:
    """Return f + s Z with a normal kernel on the residuals, of Silverman's bandwidth (1986, eq. 3.31).

    The centres are pulled towards their mean, so that the kernel adds no variance (Silverman 1986, section 6.4.2);
    of more than 200 residuals they are the quantiles at the middles of 200 equal shares.
    """
    std, middle = float(z.std()), float(np.subtract(*np.quantile(z, [0.75, 0.25]))) / 1.34
    bandwidth = 0.9 * (min(std, middle) or std) * len(z) ** -0.2
    if bandwidth == 0:
        raise InputError(
            f"residuals must differ for the empirical form; got {z[0]:g} in all {len(z)} rows. Use 'normal'."
        )
    centres = z if len(z) <= MOST_CENTRES else np.quantile(z, (np.arange(MOST_CENTRES) + 0.5) / MOST_CENTRES)
    factor = np.sqrt(max(0.0, std**2 - bandwidth**2)) / centres.std()
    shape = Smoothed([0.0], 1.0, z.mean() + factor * (centres - centres.mean()), bandwidth, len(z))
    remark = (
        f"The residuals are smoothed by a normal kernel, {number(bandwidth / std)} of their standard deviation wide, "
        "which keeps their mean and variance; beyond the largest ones the tails are those of the kernel, and "
        "calibration judges no more than their probability."
    )
    return Form(lambda q, scale: shape.moved(q.mean, scale), float(shape.variance()[0]), (remark,))


def _conformal(z: FloatArray, _: FloatArray) -> Form:
    """Return f + s z_(k) as the quantiles at k / (m + 1), at the levels of `LEVELS` rounded outwards."""
    m, p = len(z), np.array(LEVELS)
    k = np.where(p < 0.5, np.floor(p * (m + 1)), np.ceil(p * (m + 1)))
    ranks = np.unique(np.clip(k, 1, m)).astype(np.int64)
    values, at = np.sort(z)[ranks - 1], ranks / (m + 1)

    def around(q: PointPredictions, scale: FloatArray) -> Distribution:
        return Quantiles(at, q.mean[:, None] + scale[:, None] * values, ties="joined")

    size = float(Quantiles(at, values[None], ties="joined").variance()[0])
    remark = (
        f"The conformal distribution has {len(ranks)} levels; between them the density is constant, and beyond "
        f"{number(100 * at[0])} and {number(100 * at[-1])}% its tails are exponential, as far out on average as those "
        "of a logistic distribution. Calibration judges the probabilities of the levels alone."
    )
    return Form(around, size, (remark,))


_FORMS = {"normal": _normal, "student_t": _student_t, "empirical": _empirical, "conformal": _conformal}


CENTRED = ("normal", "student_t")
_SHARED = {
    "held_out": "",
    "cross_validation": ". If they depend on each other as those of the test sample do, similar observations may "
    "fall into different folds, and the assumed spread is too small: pass rows of other clusters, "
    "residuals=uq.Residuals(rows=(X, y))",
    "oob": ". If they depend on each other as those of the test sample do, trees were fitted to observations like "
    "those out of their bags, and the assumed spread is too small: pass rows of other clusters, "
    "residuals=uq.Residuals(rows=(X, y))",
}


def _unknown(subject: Subject, rows: Collected) -> tuple[str, ...]:
    """Say which facts of the audited rows are not known of the rows that residuals are from."""
    every = f"All {len(rows.residual)} residuals count equally"
    weights = f"{every}: sample weights are known of the test sample only."
    clusters = f"{every}, as of independent observations: dependence is known in the test sample only"
    remarks = ((subject.weights, weights), (subject.clusters, f"{clusters}{_SHARED[rows.source]}."))
    return tuple(remark for known, remark in remarks if known is not None)


def _bias(assumption: Assumption) -> tuple[str, ...]:
    """Say that predictions are off on average, where that is more than chance, and what was made of it."""
    mean, variance = assumption.mean, assumption.spread**2
    if assumption.n * mean**2 <= BIASED**2 * max(variance - mean**2, 0.0):
        return ()
    what = "it counts in the spread" if assumption.form in CENTRED else "the distribution has it"
    side = "low" if mean > 0 else "high"
    size = f"{number(abs(mean))} {OUTCOME_UNIT}"
    return (f"Predictions are too {side} on average, by {size}: {what}, and is not corrected.",)
