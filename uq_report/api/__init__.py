"""The story in order: explain a model, ask for what drives it, audit it, load the audit again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias, cast, overload

import numpy as np

from .. import runner
from ..core.engine.fast_path_evaluator import Engine, Progress, first_distribution
from ..core.model.adapter import Adapter
from ..core.model.subject import Subject, make_subject
from ..core.predictive import Distribution
from ..core.support.arrays import AnyArray
from ..core.support.errors import InputError
from ..core.traits.block_length import with_long_blocks
from ..core.traits.stochastic import MEMBERS, Stochastic, steady, with_model_notes
from ..core.validation.lifetimes import is_lifetimes
from ..core.validation.residuals import Residuals, Shorthand
from ..evidence import ids, run_folder
from ..evidence.run import Run
from ..runner.settings import Settings, make_settings, refuse, settled
from . import interop
from .calls import check_explained, names, on_subject
from .outputs import AuditRuns
from .progress import reported
from .views import AuditRun, ResultView

Reporting: TypeAlias = bool | Callable[[Progress], None] | None
Earlier: TypeAlias = str | Path | Run | AuditRun
_TRIED_ROWS = 200
_FEW_LABELS = 20  # so many rows may well be of as many classes
_AS_ARGUMENTS = "Pass single ones as arguments: uq.audit(subject, seed=1)."
_SUBJECT = frozenset(signature(make_subject).parameters)
_ENGINE = ("seed", "confidence", "n_jobs", "backend", "scheduler", "batch_rows", "row_budget", "fast_paths", "deny")


def explain(  # noqa: PLR0913 - one call describes the whole subject; all but the model have defaults
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    train: tuple[Any, Any] | None = None,
    groups: Mapping[str, Iterable[str]] | None = None,
    categorical: Iterable[str] | None = None,
    sample_weight: Any = None,
    clusters: Any = None,
    time: Any = None,
    block_size: int | None = None,
    protected: Iterable[str] | Mapping[str, Any] | None = None,
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
    """Bring a fitted model and its rows together, validated once.

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
    protected : feature names, or mapping of str to array of shape (n,), optional
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

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> subject = explain(lambda X: Normal(X[:, 0], 1.0 + X[:, 1] ** 2), np.eye(4)[:, :2])
    >>> subject.features
    ('x0', 'x1')
    """
    explicit = {name: value for name, value in locals().items() if name in _SUBJECT and value is not None}
    check_explained(model, X, y)
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


@on_subject
def importance(
    subject: Subject, measures: Sequence[str] | None = None, *, n_repeats: int = 30, **options: Any
) -> ResultView:
    """Return the permutation importance of every feature and group, for all measures from one pass.

    Parameters
    ----------
    subject : Subject
    measures : sequence of str, optional
        ``"nll"``, ``"entropy"``, ``"loss"``, ``"decomposition"`` (both parts of the uncertainty) ...; by default the
        explainer's own.
    n_repeats : int
        Shuffles of each feature.
    **options
        Further options of the explainer ``pfi``, and of the engine: ``seed``, ``confidence`` (level of the
        intervals), ``n_jobs``, ``backend``, ``scheduler``, ``batch_rows``, ``row_budget``, ``fast_paths``,
        ``progress``.
    """
    return _result(ids.PFI, subject, {"measures": measures, "n_repeats": n_repeats, **options})


@on_subject
def profile(
    subject: Subject,
    features: str | tuple[str, str] | Sequence[str | tuple[str, str]] | None = None,
    measures: Sequence[str] | None = None,
    **options: Any,
) -> ResultView:
    """Return partial dependence and ICE curves of all measures, or a surface for a pair.

    Parameters
    ----------
    subject : Subject
    features : str, pair, or list of these, optional
        As in scikit-learn: ``"age"``, ``("age", "income")`` for a surface, or a list of both. All features by default.
    measures : sequence of str, optional
    **options
        Further options of the explainer ``pdp``, and those of the engine as in `importance`.
    """
    if features is not None:
        if not isinstance(features, Iterable):
            raise InputError(f"profile.features must be a name, a pair or a list of them; got {features!r}.")
        chosen = [features] if isinstance(features, str | tuple) else list(features)
        options["features"] = tuple(entry for entry in chosen if isinstance(entry, str))
        options["pairs"] = tuple(entry for entry in chosen if not isinstance(entry, str))
    return _result(ids.PDP, subject, {"measures": measures, **options})


@on_subject
def attributions(
    subject: Subject, rows: Sequence[int] | None = None, measures: Sequence[str] | None = None, **options: Any
) -> ResultView:
    """Return Shapley values of the prediction, entropy and nll for single rows; ``.to_shap()`` converts them.

    Parameters
    ----------
    subject : Subject
    rows : sequence of int, optional
        Row numbers, and then those alone; by default the most uncertain, the most wrong and the
        typical ones, and a sample for the global importance.
    measures : sequence of str, optional
    **options
        Further options of the explainer ``shap``, and those of the engine as in `importance`.
    """
    chosen = {} if rows is None else {"rows": rows, "n_rows": 0}
    return _result(ids.SHAP, subject, {"measures": measures, **chosen, **options})


@on_subject
def calibration(subject: Subject, **options: Any) -> ResultView:
    """Return how far the predictive distribution can be trusted: scores, reliability, coverage, exact tests."""
    return _result(ids.CALIBRATION, subject, options)


@on_subject
def segments(
    subject: Subject, measures: Sequence[str] | None = None, *, max_leaf_nodes: int = 6, **options: Any
) -> ResultView:
    """Return where the model is uncertain, wrong, and wrong beyond what it says: leaves of small trees, with intervals.

    Half of the independent rows grow a tree for each measure, the other half gives every number. No row is predicted
    beside those of the subject. In an `audit` the result also names the feature whose exchange matters in a segment.

    Parameters
    ----------
    subject : Subject
        With at least 80 independent rows.
    measures : sequence of str, optional
        Of uncertainty or loss, or ``"confidence_gap"`` (nll - entropy); by default one of each kind.
    max_leaf_nodes : int
        Leaves of a tree, at most.
    **options
        Further options of the explainer ``segments``, and those of the engine as in `importance`.

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> subject = explain(lambda X: Normal(X[:, 1], np.where(X[:, 0] > 0, 3.0, 1.0)), X)
    >>> found = segments(subject, ["entropy"]).estimates
    >>> found[["item", "estimate", "difference"]].iloc[1:].round(2).to_numpy().tolist()
    [['x0 above 0', 2.52, 1.1], ['x0 at most 0', 1.42, -1.1]]
    """
    return _result(ids.SEGMENTS, subject, {"measures": measures, "max_leaf_nodes": max_leaf_nodes, **options})


@on_subject
def selective(subject: Subject, **options: Any) -> ResultView:
    """Return what referring the most uncertain observations to a person saves: the risk-coverage curve, with intervals.

    Observations are kept in order of their uncertainty; no model is asked anything beside those of the subject.

    Parameters
    ----------
    subject : Subject
        With outcomes, and at least 20 independent observations.
    **options
        Options of the explainer ``selective``, and those of the engine as in `importance`.

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> subject = explain(lambda X: Normal(0.0 * X[:, 0], np.exp(X[:, 0])), X, np.exp(X[:, 0]) * rng.normal(size=400))
    >>> found = selective(subject).estimates.set_index("item")["estimate"]
    >>> found[["normalised_gain", "loss"]].round(2).tolist()
    [0.5, 1.26]
    """
    return _result(ids.SELECTIVE, subject, options)


@on_subject
def dalex_explainer(subject: Subject, measure: str = "prediction", *, y: Any = None, label: str = "") -> Any:
    """Return a `dalex.Explainer` whose prediction is a measure, so that all of dalex works on it; needs dalex.

    Parameters
    ----------
    subject : Subject
    measure : str
    y : label or number, optional
        For a measure of y, that of the row to explain by ``predict_parts``; see `api.interop`.
    label : str
        Shown in dalex's plots.
    """
    engine = runner.make_engine(subject, runner.load_measures(), make_settings({}), None)
    return interop.dalex_explainer(subject, engine, measure, y, label)


@overload
def audit(
    subject: Subject | Sequence[Subject],
    settings: Settings | None = None,
    *,
    progress: Reporting = None,
    previous: Earlier | None = None,
    **fields: Any,
) -> AuditRun: ...
@overload
def audit(
    subject: Mapping[str, Subject],
    settings: Settings | None = None,
    *,
    progress: Reporting = None,
    previous: None = None,
    **fields: Any,
) -> AuditRuns: ...
@on_subject
def audit(
    subject: Subject | Sequence[Subject] | Mapping[str, Subject],
    settings: Settings | None = None,
    *,
    progress: Reporting = None,
    previous: Earlier | None = None,
    **fields: Any,
) -> AuditRun | AuditRuns:
    """Run every explainer and check that applies, and return the audit.

    Parameters
    ----------
    subject : Subject, two of them, or mapping of str to Subject
        Two subjects, champion and challenger on the same rows, are audited side by side: the run holds
        both audits and the differences, with paired intervals. A mapping, as from `explain_outputs`, gives
        an audit of each, and a page over them.
    settings : Settings, optional
    progress : bool or callable, optional
        Bars on a terminal by default; False for none; a callable gets every `Progress`.
    previous : path, AuditRun or Run, optional
        The last audit of this model: the run then says what changed, with intervals of the differences.
    **fields
        Fields of `Settings`: ``explainers=["pfi"]``, ``options={"pfi": {"n_repeats": 10}}``, ``seed``,
        ``confidence``, ``n_jobs``, ``as_of``, ``deny``, ``about={"title": ...}`` ...; they win over `settings`.
    """
    watch = runner.TimeBudget()
    if isinstance(subject, Mapping):
        return _audits(subject, settings, progress, previous, fields)
    if not isinstance(settings, Settings | None):
        raise InputError(f"audit.settings must be Settings; got a {type(settings).__name__}. {_AS_ARGUMENTS}")
    base = {} if settings is None else settings.model_dump(exclude_unset=True) | {"as_of": settings.as_of}
    merged = _settings(base | fields)
    last = None if previous is None else _run(previous)
    with reported(progress) as callback:
        if isinstance(subject, Subject):
            audited = runner.run(subject, merged, callback, last, watch)
        else:
            audited = runner.side_by_side(subject[0], subject[1], merged, callback, last, watch)
    return AuditRun(audited.run, audited.clock)


def _audits(
    subjects: Mapping[str, Subject],
    settings: Settings | None,
    progress: Reporting,
    previous: object,
    fields: Mapping[str, Any],
) -> AuditRuns:
    """Return the audit of each subject."""
    if not subjects or previous is not None:
        must = "an earlier run of one subject" if subjects else "at least one"
        what, got = ("previous", "a mapping of subjects") if subjects else ("subject", "an empty mapping")
        raise InputError(f"audit.{what} must be {must}; got {got}. Audit them one by one.")
    return AuditRuns({name: audit(each, settings, progress=progress, **fields) for name, each in subjects.items()})


def _settings(fields: Mapping[str, Any]) -> Settings:
    """Return validated settings; mistakes in them are reported together with those in the options of plugins."""
    settings, mistakes = settled(Settings, {key: value for key, value in fields.items() if value is not None}, "audit")
    if mistakes and settings is not None:
        mistakes += runner.option_mistakes(settings)
    refuse(mistakes)
    return cast("Settings", settings)


def compare(previous: Earlier, run: Earlier) -> AuditRun:
    """Return the audit `run` with its changes since `previous`, whatever it was compared with before.

    If the two are of unrelated models (another task, no feature or class in common), ``run.changes.unrelated`` says
    so, and nothing is compared.
    """
    before, now = _run(previous), _run(run)
    clock = run.clock if isinstance(run, AuditRun) else {}
    return AuditRun(replace(now, changes=runner.changes(before, now)), clock)


def _run(source: Earlier) -> Run:
    if isinstance(source, AuditRun | Run):
        return source.run if isinstance(source, AuditRun) else source
    if not isinstance(source, str | Path):
        raise InputError(f"An earlier audit must be a run, its folder or run.json; got a {type(source).__name__}.")
    return run_folder.read(source)[0]


def load(path: str | Path) -> AuditRun:
    """Return a saved audit, from its run.json or its folder; the model is not needed."""
    if not isinstance(path, str | Path):
        raise InputError(f"load.path must be a run.json, or a folder with one; got a {type(path).__name__}.")
    return AuditRun(*run_folder.read(path))


def _result(name: str, subject: Subject, options: Mapping[str, Any]) -> ResultView:
    """Run one explainer; options that belong to the engine go there, and None means the default."""
    present = {key: value for key, value in options.items() if value is not None}
    settings = make_settings({key: present.pop(key) for key in _ENGINE if key in present}, "options")
    with reported(present.pop("progress", None)) as callback:
        return ResultView(runner.single(subject, name, present, settings, callback), deny=settings.deny)


def _assumed(arguments: Mapping[str, Any], residuals: str | Residuals, deny: Sequence[str]) -> Subject:
    """Return the subject with a distribution from residuals; an adapter would read another one."""
    adapter = arguments.get("adapter")
    if adapter is not None:
        raise InputError(f"explain.adapter must be None where residuals are asked for; got {adapter!r}. Keep one.")
    chosen = runner.choose_adapter(arguments["model"], runner.RESIDUALS, deny)[0]
    return runner.lay_over(make_subject(**{**arguments, "adapter": chosen}), residuals, deny)


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
