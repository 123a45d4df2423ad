"""A fitted model and its data become a subject, validated once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from .. import runner
from ..core.engine.fast_path_evaluator import Engine, first_distribution
from ..core.model.adapter import Adapter
from ..core.model.subject import Subject, make_subject
from ..core.predictive import Distribution
from ..core.support.arrays import AnyArray
from ..core.support.calls import known_arguments
from ..core.support.errors import InputError
from ..core.traits.block_length import with_long_blocks
from ..core.traits.stochastic import MEMBERS, Stochastic, steady, with_model_notes
from ..core.validation.lifetimes import is_lifetimes
from ..core.validation.residuals import Residuals, Shorthand
from .arguments import check_explained, check_order, names

_TRIED_ROWS = 200
_FEW_LABELS = 20  # so many rows may well be of as many classes
_SUBJECT = frozenset(signature(make_subject).parameters)


@known_arguments
def explain(  # noqa: PLR0913 - one call describes the whole subject; all but the model have defaults
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    data: Any = None,
    train: tuple[Any, Any] | None = None,
    groups: Mapping[str, Iterable[str]] | None = None,
    categorical: Iterable[str] | None = None,
    sample_weight: Any = None,
    clusters: Any = None,
    time: Any = None,
    block_size: int | None = None,
    protected: Iterable[str] | Mapping[str, Any] | pd.Series[Any] | pd.DataFrame | None = None,
    label: str | None = None,
    adapter: str | Adapter | None = None,
    residuals: Shorthand | Residuals | None = None,
    positive_class: Any = None,
    output: str | int | None = None,
    max_rows: int | None = None,
    stochastic: Stochastic | None = None,
    n_members: int = MEMBERS,
    seed: int = 0,
    deny: Iterable[str] = (),
) -> Subject:
    """Return the subject of an audit: a fitted model and its data, validated once.

    Parameters
    ----------
    model : object
        A fitted classifier with ``predict_proba``, a regressor with ``return_std``, a forest or
        bagging ensemble, a function from rows to a distribution, or a `dalex.Explainer`, which
        brings its own rows (arguments given here win over its own). Also a dictionary of quantile models by level,
        a list of models, the members of an ensemble, and predictions of the rows: a distribution, or ArviZ's draws.
    X : DataFrame or array of shape (n, d)
        The rows to audit, best ones the model was not fitted on.
    y : array of shape (n,), optional
        Without it entropy and variance are explained; losses and nll are listed as not run. Times that may be
        censored are given with their events: a pair ``(times, events)`` with True or 1 where the event was seen, a
        frame of these two columns, or scikit-survival's structured array. Of a model that predicts several outputs
        all of them, shape (n, outputs).
    data : DataFrame or array, optional
        The same as `X`, by its name in dalex.
    train : pair (X_train, y_train), optional
        For train against test, and for reference rows.
    groups : mapping of str to feature names, optional
        Features that are explained together as well.
    categorical : names, optional
        Numeric columns that are codes.
    sample_weight : array of shape (n,), optional
    clusters : array of shape (n,), or name of a column of X, optional
        Rows of one cluster are dependent (the same customer, the same patient).
    time : array of shape (n,), or name of a column of X, optional
        Numbers, dates or text by ISO 8601: rows depend on each other in order of time. Intervals are then over blocks
        of successive rows, and permutations move whole blocks.
    block_size : int, optional
        Rows of a block, with `time`; by default n^(1/3), or more as the autocorrelation of losses, uncertainties and
        features asks for, up to n/20. See `uq_report.core.traits.block_length`.
    protected : feature names, or Series, frame or mapping of str to array of shape (n,), optional
        Attributes by which performance and uncertainty are distinguished, features of the model or not.
    label : str, optional
        The model's name in the report.
    adapter : str or Adapter, optional
        Decides how predictions are read, where the closest match should not.
    residuals : {"normal", "empirical", "conformal", "oob"} or Residuals, optional
        For a regressor without an uncertainty of its own: the assumption that is laid over its predictions, from
        residuals of rows outside the fit; the report says so on its first page. See `Residuals`.
    positive_class : label, optional
        The class whose probability is "the prediction".
    output : str or int, optional
        The output to audit of a model that predicts several, by its column of y or its position; see
        `explain_outputs` for all.
    max_rows : int, optional
        At most so many rows, drawn with `seed`.
    stochastic : {"members", "seed"}, optional
        What is made of a model whose predictions are random, which is refused by default: two calls on up to
        100 rows must agree within 1e-6 of the largest value. ``"members"`` reads every prediction as the mixture
        of `n_members` calls, so that the randomness is epistemic; ``"seed"`` fixes the model's own argument or
        attribute ``random_state`` or ``seed`` to `seed`. With ``"members"`` the dropout of a torch module is on.
    n_members : int
        Calls per prediction with ``stochastic="members"``.
    seed : int
        Of the rows drawn, and of what `stochastic` draws.
    deny : names, optional
        Plugins or distributions that must not be imported; see `Settings`.

    Returns
    -------
    Subject

    Raises
    ------
    UQReportError
        With the argument or column, what is allowed, and the remedy.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/models.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> subject = explain(lambda X: Normal(X[:, 0], 1.0 + X[:, 1] ** 2), np.eye(4)[:, :2])
    >>> subject.features
    ('x0', 'x1')
    """
    if data is not None and X is not None:
        raise InputError("explain.data must be left out where X is given; got both. Keep one of them.")
    X = data if X is None else X
    if getattr(model, "__name__", "") == "predict_proba" and hasattr(getattr(model, "__self__", None), "classes_"):
        model = model.__self__  # the method of a classifier, as shap takes it
    explicit = {name: value for name, value in locals().items() if name in _SUBJECT and value is not None}
    check_explained(model, X, y)
    check_order("explain.y", X, y)
    check_order("explain.protected", X, protected)
    if isinstance(train, tuple | list) and len(train) == 2:
        check_order("explain.train", *train)
    denied = names("explain.deny", deny)
    unpacked = runner.unpack(model, denied) or {"model": model}
    arguments = {**unpacked, **explicit, "model": unpacked["model"]}
    if arguments.get("X") is None:
        raise InputError("explain.X must be the rows to audit; got None. Pass a DataFrame or an array.")
    arguments, note = runner.pick_output({**arguments, "residuals": residuals}, output, denied)
    residuals = arguments.pop("residuals")
    if residuals is None:
        arguments["adapter"], reason = runner.choose_adapter(arguments["model"], arguments.get("adapter"), denied)
        subject = replace(make_subject(**arguments), adapter_reason=reason)
    else:
        subject = _assumed(arguments, residuals, denied)
    subject = replace(subject, notes=(*subject.notes, *([note] if note else [])))
    few = _try(subject)
    subject = steady(subject, stochastic, n_members, seed)
    rows = Engine(subject, {})  # predicts them all once, if remarks on them or blocks of time need that
    return with_long_blocks(with_model_notes(subject, few, rows), rows)


@known_arguments
def explain_outputs(
    model: Any, X: Any, Y: Any = None, *, label: str | None = None, **arguments: Any
) -> dict[str, Subject]:
    """Bring each output of a model that predicts several together with its rows: a subject by name.

    Parameters
    ----------
    model : object
    X : DataFrame or array of shape (n, d)
    Y : DataFrame or array of shape (n, outputs), optional
        Names the outputs; those of an array, or of a model without Y, are called by their position.
    label : str, optional
        The model's name in the reports, before that of the output.
    **arguments
        Of `explain`, the same for all outputs; ``train=(X_train, Y_train)``.

    Returns
    -------
    dict of str to Subject
        `audit` takes it: one report each, and a page over them.

    Raises
    ------
    InputError
        If the model has one output; or as `explain`, for any of them.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/models.html

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.multioutput import MultiOutputRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    >>> list(explain_outputs(MultiOutputRegressor(BayesianRidge()).fit(X, Y), X, Y))
    ['0', '1']
    """
    check_explained(model, X, Y)
    deny = names("explain_outputs.deny", arguments.pop("deny", ()))
    outputs = runner.named_outputs({"model": model, "y": Y, "train": arguments.get("train")}, deny)
    if not outputs:
        raise InputError(
            f"explain_outputs.model must predict several outputs; got one of {type(model).__name__}. Use uq.explain."
        )
    doubled = sorted({name for name in outputs if outputs.count(name) > 1})
    if doubled:
        raise InputError(f"explain_outputs.Y must have unique column names; got {doubled} more than once. Rename them.")
    return {
        name: explain(
            model, X, Y, output=position, label=None if label is None else f"{label}: {name}", deny=deny, **arguments
        )
        for position, name in enumerate(outputs)
    }


def _assumed(arguments: Mapping[str, Any], residuals: str | Residuals, deny: Sequence[str]) -> Subject:
    """Return the subject with a distribution from residuals; an adapter would read another one."""
    if (given := arguments.get("adapter")) is not None:
        raise InputError(f"explain.adapter must be None where residuals are asked for; got {given!r}. Keep one.")
    adapter, _ = runner.choose_adapter(arguments["model"], runner.RESIDUALS, deny)
    return runner.lay_over(make_subject(**{**arguments, "adapter": adapter}), residuals, deny)


def _try(subject: Subject) -> Distribution:
    """Predict the first rows and encode all of y, so that a model or target of another kind is refused at once."""
    dist = first_distribution(subject, _TRIED_ROWS)
    targets = {"y": subject.y, "train y": None if subject.train is None else subject.train[1]}
    for name, values in targets.items():
        if is_lifetimes(values) and not dist.censored:
            raise InputError(
                f"explain.{name} must be values of a {dist.family} distribution; got times that may be censored. "
                "Audit a model that knows of censoring (lifelines, scikit-survival), or pass the values alone."
            )
        if values is not None:
            try:
                _check_labels(dist, dist.encode(values), name)
            except InputError as error:
                raise InputError(f"explain.{name}: {error}") from error
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"explain.{name} must hold values of a {dist.family} distribution; got {values.dtype}: {error}."
                ) from error
    return dist


def _check_labels(dist: Distribution, encoded: AnyArray, name: str) -> None:
    """Refuse as many classes as rows, each on one row: identifiers or numbers, and nothing to be learned of them."""
    rows, classes = len(encoded), getattr(dist, "classes", ())
    if "proba" in dist.supports and rows > _FEW_LABELS and rows == len(classes) == len(np.unique(encoded)):
        raise InputError(
            f"explain.{name} must repeat its labels; got {rows} different ones in {rows} rows. Audit a regressor if "
            "they are numbers; leave out a model of identifiers."
        )
