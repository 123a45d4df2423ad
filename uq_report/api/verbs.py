"""The verbs: what an explainer says of a subject, one observation, and a subject as dalex sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import pandas as pd

from .. import runner
from ..core.explainer import Explainer
from ..core.model.measures import Measure
from ..core.model.subject import Subject
from ..core.support.errors import InputError, check_choice, meant
from ..document.plots.profile import CURVES
from ..evidence import ids
from ..runner import plugins as registry
from ..runner.cases import case_facts, source_of
from ..runner.options import options_of
from ..runner.prepare import measures_in, passed
from ..runner.settings import make_settings
from . import interop
from .arguments import names
from .calls import on_subject
from .showing import reported
from .single_case import Case
from .views import ResultView

if TYPE_CHECKING:
    from . import option_types as types

__all__ = [
    "adjusted_importance", "agreement", "attributions", "calibration", "case", "covered_information", "dalex_explainer",
    "drift", "effects", "groups", "importance", "interactions", "profile", "redundancy", "segments", "selective",
    "sensitivity",
]  # fmt: skip

Named: TypeAlias = str | Measure
Measures: TypeAlias = Named | Sequence[Named] | None
Pair: TypeAlias = tuple[str, str]
Names: TypeAlias = str | Sequence[str] | None
Features: TypeAlias = str | Pair | Sequence[str | Pair] | None
Chosen: TypeAlias = str | type | Explainer | Sequence[Any] | None
_ENGINE = ("seed", "confidence", "n_jobs", "backend", "scheduler", "batch_rows", "row_budget", "fast_paths", "deny")
_STRENGTHS = (ids.H_STATISTIC, ids.PDP_INTERACTION, ids.RSENS_INTERACTION, ids.SHAP_INTERACTION)
_PAIRS = {ids.explainer_of(strength): strength for strength in _STRENGTHS}


@on_subject
def importance(
    subject: Subject,
    /,
    measures: Measures = None,
    *,
    n_repeats: int = 30,
    method: Literal["marginal", "conditional"] = "marginal",
    permutations: Any = None,
    **options: Unpack[types.ImportanceOptions],
) -> ResultView:
    """Return the permutation importance of every feature and group, for all measures from one pass.

    Every verb below is called on a subject, or on a model with its data: ``importance(model, X, y)``, and then takes
    the arguments of `explain` as well. One name or a list of names will do everywhere, and a `Measure` of your own in
    place of a name. Of several subjects, in a list or by name, there is one view each, and one figure of all.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    measures : str, Measure, or sequence of these, optional
        ``"nll"``, ``"entropy"``, ``"loss"``, ``"decomposition"`` (both parts of the uncertainty) ...; by default the
        explainer's own.
    n_repeats : int
        Shuffles of each feature.
    method : {"marginal", "conditional"}
        Permute among all observations, or, for losses, within subgroups that are alike in the other features: the
        leaves of a tree (Molnar et al. 2023). The conditional importance has no interval.
    permutations : int, or array of shape (n,) or (m, n), optional
        Draw so many permutations, or use these positions of donors. The view then has the change of each observation
        (``view.result.rows``) and the values before and after (``view.plot(kind="before_after")``), and no interval.
    **options
        Further options of the explainer ``pfi`` (see ``uq.options("pfi")``), and of the engine: ``seed``,
        ``confidence`` (level of the intervals), ``n_jobs``, ``backend``, ``scheduler``, ``batch_rows``, ``row_budget``,
        ``fast_paths``, ``deny``, ``progress``.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/permutation_importance.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> view = importance(lambda X: Normal(X[:, 0], np.exp(X[:, 1])), X, measures="entropy", n_repeats=3)
    >>> view.estimates["feature"][view.estimates["estimate"].abs().argmin()]
    'x0'
    """
    if permutations is None and method == "marginal":
        return _result(ids.PFI, subject, {"measures": measures, "n_repeats": n_repeats, **options})
    features, settings = options.pop("features", None), make_settings(options, "options")
    objects: list[tuple[str, Any]] = []
    asked = names("importance.measures", measures_in(measures or ("loss", "nll"), objects))
    known = {**runner.load_measures(settings.deny), **{measure.name: measure for _, measure in objects}}
    engine = runner.make_engine(subject, known, settings, None)
    number = n_repeats if permutations is None else permutations
    chosen = None if features is None else names("importance.features", features)
    return ResultView(runner.permuted(engine, asked, chosen, method, number), subject=subject)


@on_subject
def profile(
    subject: Subject,
    /,
    features: Features = None,
    measures: Measures = None,
    *,
    kind: Literal["both", "average", "individual"] = "both",
    **options: Unpack[types.ProfileOptions],
) -> ResultView:
    """Return partial dependence and ICE curves of all measures, or a surface for a pair.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    features : str, int, pair, or list of these, optional
        As in scikit-learn: ``"age"``, ``("age", "income")`` for a surface, or a list of both. All features by default.
    measures : str, Measure, or sequence of these, optional
    kind : {"both", "average", "individual"}
        What the figure shows: the average, the curve of each observation (ICE), or both.
    **options
        Further options of the explainer ``pdp``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/profiles.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> view = profile(linear_subject(60), "a", "prediction", grid_resolution=3)
    >>> view.estimates[["x", "estimate"]].round(2).to_numpy().tolist()
    [[-2.33, -2.56], [-0.08, -0.31], [1.82, 1.58]]
    """
    check_choice("profile.kind", kind, CURVES)
    asked = {**_features_and_pairs("profile", features, subject), "measures": measures, **options}
    return _result(ids.PDP, subject, asked, choice={"curves": kind})


@on_subject
def effects(
    subject: Subject, /, features: Features = None, measures: Measures = None, **options: Unpack[types.EffectsOptions]
) -> ResultView:
    """Return accumulated local effects (ALE) of all measures, which need no unlikely combinations of features.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    features : str, pair, or list of these, optional
        As in `profile`.
    measures : str, Measure, or sequence of these, optional
    **options
        Further options of the explainer ``ale``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/ale.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> view = effects(linear_subject(60), "a", "prediction", n_bins=3)
    >>> view.estimates[["x", "estimate"]].round(2).to_numpy().tolist()
    [[-2.33, -2.19], [-0.47, -0.34], [0.33, 0.46], [1.82, 1.95]]
    """
    asked = _features_and_pairs("effects", features, subject)
    return _result(ids.ALE, subject, {**asked, "measures": measures, **options})


@on_subject
def interactions(
    subject: Subject,
    /,
    method: Literal["h_statistic", "pdp", "rsens", "shap"] = "h_statistic",
    *,
    features: str | int | Pair | Sequence[str | int | Pair] | None = None,
    **options: Unpack[types.InteractionsOptions],
) -> ResultView:
    """Return the interaction strength of pairs of features.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    method : {"h_statistic", "pdp", "rsens", "shap"}
        Friedman's H² of any measure; how much the spread of the partial dependence along one feature differs between
        the values of the other (Greenwell et al. 2018), of any measure; the second-order sensitivity of the predictive
        distribution (R-sens₂); or the mean size of Shapley interactions of any measure.
    features : str, pair, or list of these, optional
        All by default; single pairs of partial dependence.
    **options
        ``measures``, and further options of the explainer; those of the engine as in `importance`. Partial dependence
        has 10 points a feature unless ``grid_resolution`` says otherwise.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/h_statistic.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report import explain
    >>> from uq_report.distributions import Normal
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> product = explain(lambda X: Normal(X[:, 0] * X[:, 1], np.ones(len(X))), X)
    >>> interactions(product, "pdp", measures="prediction").estimates["estimate"].round(2).tolist()
    [0.89]
    """
    check_choice("interactions.method", method, _PAIRS)
    more: dict[str, Any] = {} if features is None else {"features": features}
    if method == ids.SHAP:
        more |= {"interactions": True, "n_local": 0}
    if method == ids.PDP:
        asked = _features_and_pairs("interactions", features or list(subject.features), subject)
        pairs = (*asked["pairs"], *combinations(asked["features"], 2))
        more = {"features": (), "pairs": pairs, "grid_resolution": 10, "max_ice": 0}
    return _result(method, subject, more | options)[_PAIRS[method]]


@on_subject
def sensitivity(subject: Subject, /, features: Names = None, **options: Unpack[types.SensitivityOptions]) -> ResultView:
    """Return the uncertainty-aware sensitivity (R-sens) of the predictive distribution to every feature.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    features : str or sequence of str, optional
    **options
        Further options of the explainer ``rsens``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/rsens.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> view = sensitivity(linear_subject(60), max_rows=20, interactions=False)
    >>> view.estimates.set_index("feature")["estimate"].round(2).to_dict()
    {'a': 0.99, 'b': 1.0, 'c': 0.95, 'd': 0.0}
    """
    return _result(ids.RSENS, subject, {"features": features, **options})


@on_subject
def attributions(
    subject: Subject,
    /,
    rows: int | Sequence[int] | None = None,
    measures: Measures = None,
    **options: Unpack[types.AttributionsOptions],
) -> ResultView:
    """Return Shapley values of the prediction, entropy and nll for single rows; ``.to_shap()`` converts them.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    rows : int or sequence of int, optional
        Row numbers, and then those alone; by default the most uncertain, the most wrong and the
        typical ones, and a sample for the global importance.
    measures : str, Measure, or sequence of these, optional
    **options
        Further options of the explainer ``shap``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/shapley.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> view = attributions(linear_subject(60), 0, "prediction")
    >>> view.estimates.set_index("feature")["estimate"].round(2).to_dict()
    {'a': 0.17, 'b': 0.02, 'c': 0.88, 'd': 0.0}
    """
    if isinstance(rows, pd.DataFrame | pd.Series):
        raise InputError(
            f"attributions.rows must be row numbers of the subject; got a {type(rows).__name__}. Pass numbers, "
            "rows=[0, 3], or call uq.case(subject, row) on a new observation."
        )
    chosen = {} if rows is None else {"rows": rows, "n_rows": 0}
    return _result(ids.SHAP, subject, {"measures": measures, **chosen, **options})


@on_subject
def covered_information(
    subject: Subject, /, measures: Measures = None, **options: Unpack[types.CoveredInformationOptions]
) -> ResultView:
    """Return the information about y that each feature shares with the others (Pereira et al.).

    Parameters
    ----------
    subject : Subject, or a model with X and y
    measures : str, Measure, or sequence of these, optional
        Losses whose permutation importance is corrected.
    **options
        Further options of the explainer ``cid``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/covered_information.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> table = covered_information(linear_subject(200), n_sets=10).estimates
    >>> table[table["item"] == "covered share"].set_index("feature")["estimate"].round(2).to_dict()
    {'a': 0.69, 'b': 0.56, 'c': 0.0, 'd': 1.0}
    """
    return _result(ids.CID, subject, {"measures": measures, **options})


@on_subject
def adjusted_importance(
    subject: Subject, /, *, n_repeats: int = 10, **options: Unpack[types.AdjustedImportanceOptions]
) -> ResultView:
    """Return the permutation importance of each feature when its partner features are permuted with it.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    n_repeats : int
        Shuffles of each set.
    **options
        Those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/adjusted_importance.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> table = adjusted_importance(linear_subject(200), n_repeats=3).estimates
    >>> table[table["measure"] == "nll"].set_index("feature")["partners"].to_dict()
    {'a': 'b', 'b': 'a', 'c': '', 'd': ''}
    """
    return _result(ids.COVER, subject, {"n_repeats": n_repeats, **options})


@on_subject
def redundancy(subject: Subject, /, **options: Unpack[types.RedundancyOptions]) -> ResultView:
    """Return how well each feature is predicted by all others: its out-of-sample R².

    Parameters
    ----------
    subject : Subject, or a model with X and y
    **options
        Options of the explainer ``redundancy``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/redundancy.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> redundancy(linear_subject(60)).summary()["feature"].iloc[0] in ("a", "b")  # their correlation is 0.8
    True
    """
    return _result(ids.REDUNDANCY, subject, options)


@on_subject
def calibration(subject: Subject, /, **options: Unpack[types.CalibrationOptions]) -> ResultView:
    """Return how far the predictive distribution agrees with outcomes: scores, reliability, coverage, exact tests.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    **options
        Options of the explainer ``calibration``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/calibration.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> table = calibration(linear_subject(60), n_draws=99).estimates.set_index("item")
    >>> table.loc[["crps", "crps_skill"], "estimate"].round(2).to_dict()
    {'crps': 0.55, 'crps_skill': 0.79}
    """
    return _result(ids.CALIBRATION, subject, options)


@on_subject
def segments(
    subject: Subject, /, measures: Measures = None, *, max_leaf_nodes: int = 6, **options: Unpack[types.SegmentsOptions]
) -> ResultView:
    """Return where the model is uncertain, wrong, or over-confident: leaves of small trees, with intervals.

    Half of the independent rows grow a tree for each measure, the other half gives every number. No row is predicted
    beside those of the subject. In an `audit` the result also names the feature whose exchange matters in a segment.

    Parameters
    ----------
    subject : Subject, or a model with X and y
        With at least 80 independent rows.
    measures : str, Measure, or sequence of these, optional
        Of uncertainty or loss, or ``"confidence_gap"`` (nll - entropy); by default one of each kind.
    max_leaf_nodes : int
        Leaves of a tree, at most.
    **options
        Further options of the explainer ``segments``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/segments.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> found = segments(lambda X: Normal(X[:, 1], np.where(X[:, 0] > 0, 3.0, 1.0)), X, measures="entropy").estimates
    >>> found[["item", "estimate", "difference"]].iloc[1:].round(2).to_numpy().tolist()
    [['x0 above 0', 2.52, 1.1], ['x0 at most 0', 1.42, -1.1]]
    """
    return _result(ids.SEGMENTS, subject, {"measures": measures, "max_leaf_nodes": max_leaf_nodes, **options})


@on_subject
def selective(subject: Subject, /, **options: Unpack[types.SelectiveOptions]) -> ResultView:
    """Return what referring the most uncertain observations to a person saves: the risk-coverage curve, with intervals.

    Observations are kept in order of their uncertainty; no model is asked anything beside those of the subject.

    Parameters
    ----------
    subject : Subject, or a model with X and y
        With outcomes, and at least 20 independent observations.
    **options
        Options of the explainer ``selective``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/selective.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report import explain
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
def groups(subject: Subject, /, **options: Unpack[types.GroupsOptions]) -> ResultView:
    """Return predictions, outcomes, losses and uncertainty by group of each protected attribute, and its proxies.

    Parameters
    ----------
    subject : Subject, or a model with X, y and ``protected=``
    **options
        Options of the explainer ``groups``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/groups.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report import explain
    >>> from uq_report.testing import linear_subject
    >>> whole = linear_subject(60)
    >>> sides = {"side": np.repeat(["left", "right"], 30)}
    >>> view = groups(explain(whole.model.distribution, whole.X, whole.y, protected=sides), n_draws=99, n_min=5)
    >>> sorted(set(view.frame["item"]))
    ['all observations', 'left', 'right']
    """
    return _result(ids.GROUPS, subject, options)


@on_subject
def drift(subject: Subject, /, **options: Unpack[types.DriftOptions]) -> ResultView:
    """Return how the observations differ from the training observations, and the share outside the training domain.

    Parameters
    ----------
    subject : Subject, or a model with X, y and ``train=``
    **options
        Options of the explainer ``support``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/support.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> view = drift(linear_subject(60, train=True), n_repeats=3)
    >>> view.result.id
    'support.shift'
    """
    view = _result(ids.SUPPORT, subject, options)
    return view[ids.SUPPORT_SHIFT] if ids.SUPPORT_SHIFT in view.ids else view


@on_subject
def agreement(subject: Subject, /, explainers: Chosen = None, **options: Unpack[types.AgreementOptions]) -> ResultView:
    """Return the rankings of the features by several explainers side by side, with intervals on the ranks.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    explainers : str, explainer, or sequence of these, optional
        Those compared; by default permutation importance, R-sens, Shapley values and local effects.
    **options
        Options of the explainer ``agreement``, and those of the engine as in `importance`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/agreement.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> table = agreement(linear_subject(60), ["pfi", "ale"], n_draws=100).estimates
    >>> table[table["measure"] == "nll"].set_index("feature")["estimate"].to_dict()
    {'a': 3.0, 'b': 2.0, 'c': 1.0, 'd': 4.0}
    """
    compared = passed(registry.EXPLAINERS, explainers).names or (ids.PFI, ids.RSENS, ids.SHAP, ids.ALE)
    return _result(ids.AGREEMENT, subject, options, before=compared)


@on_subject
def case(
    subject: Subject,
    /,
    row: Any,
    *,
    outcome: Any = None,
    measures: Names = None,
    threshold: float | None = None,
    as_of: str = "",
    **options: Any,
) -> Case:
    """Return one observation: prediction and uncertainty, reasons, domain, neighbours, and what would change it.

    Parameters
    ----------
    subject : Subject, or a model with X and y
    row : int, mapping, Series, or DataFrame of one row
        A row number of the subject, or a new observation with a value for each feature.
    outcome : label or number, optional
        Of a new observation.
    measures : str or sequence of str, optional
        Those attributed and drawn; by default the prediction, the uncertainty, and its epistemic part or the nll.
    threshold : float, optional
        Of a predicted number: from it on the decision is another. Classes have the decision rule of the model.
    as_of : str
        Date of the case sheet; today by default.
    **options
        Those of the engine as in `importance`.

    Notes
    -----
    An observation is within the training domain if each value is within the range, or among the levels, of the
    training observations, and Gower's distance to the fifth nearest of them is at most the 95% quantile of their own.
    A change is the replacement of one value by one that a training observation has, within that distance; the
    smallest has the fewest training observations between the two values.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/howto/case.html

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> one = case(lambda X: Normal(X[:, 0], np.exp(X[:, 1])), X, 3, threshold=0.0)
    >>> one.decision == ("at least 0" if X[3, 0] >= 0 else "below 0"), one.changes["feature"][0]
    (True, 'x0')
    """
    _refuse_near("case", options, ("outcome", "measures", "threshold", "as_of"))
    asked = None if measures is None else names("case.measures", measures)
    source = source_of(subject, row, outcome)
    return Case(case_facts(source, make_settings(options, "options"), asked, threshold), as_of)


@on_subject
def dalex_explainer(subject: Subject, /, measure: str = "prediction", *, y: Any = None, label: str = "") -> Any:
    """Return a `dalex.Explainer` whose prediction is a measure, so that all of dalex works on it; needs dalex.

    Parameters
    ----------
    subject : Subject
    measure : str
    y : label or number, optional
        For a measure of y, that of the row to explain by ``predict_parts``; see `api.interop`.
    label : str
        Shown in dalex's plots.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/methods/dalex.html

    Examples
    --------
    >>> from uq_report.testing import logistic_subject
    >>> explainer = dalex_explainer(logistic_subject(60), "entropy")  # doctest: +SKIP
    >>> explainer.model_parts(random_state=0).result["variable"].iloc[-2]  # doctest: +SKIP
    'a'
    """
    engine = runner.make_engine(subject, runner.load_measures(), make_settings({}), None)
    return interop.dalex_explainer(subject, engine, measure, y, label)


def _features_and_pairs(verb: str, features: Any, subject: Subject) -> dict[str, Any]:
    """Return the options of an explainer for names, positions and pairs of features as scikit-learn writes them."""
    if features is None:
        return {}
    given = [features] if isinstance(features, str | tuple) or not isinstance(features, Iterable) else features
    chosen = _by_name(given, subject)
    if not all(isinstance(entry, Iterable) for entry in chosen):
        raise InputError(f"{verb}.features must be a name, a position, a pair or a list of them; got {features!r}.")
    single = tuple(entry for entry in chosen if isinstance(entry, str))
    pairs = (tuple(_by_name(entry, subject)) for entry in chosen if not isinstance(entry, str))
    return {"features": single, "pairs": tuple(pairs)}


def _by_name(given: Iterable[Any], subject: Subject) -> list[Any]:
    """Return features with names in place of positions."""
    known = dict(enumerate(subject.features))
    return [known.get(int(each), each) if isinstance(each, Integral) else each for each in given]


def _refuse_near(name: str, unknown: Iterable[str], more: Iterable[str] = ()) -> None:
    """Refuse names that are no options, where one of the engine's, or of `more`, is meant."""
    known = (*_ENGINE, "progress", *more)
    for key in unknown:
        if key not in known and (hint := meant(key, known)):
            raise InputError(f"{name}.{key} must be a known option; got {key!r}.{hint}")


def _result(
    name: str,
    subject: Subject,
    options: Mapping[str, Any],
    before: Iterable[str] = (),
    choice: Mapping[str, Any] | None = None,
) -> ResultView:
    """Run one explainer; options that belong to the engine go there, and None means the default."""
    objects: list[tuple[str, Any]] = []
    known = registry.find(registry.EXPLAINERS, names(f"{name}.deny", options.get("deny") or ()))
    _refuse_near(name, options.keys() - options_of(registry.load(registry.named(known, name, "explainer"))))
    present = dict(measures_in({key: value for key, value in options.items() if value is not None}, objects))
    if isinstance(present.get("features"), list | tuple | range):
        present["features"] = tuple(_by_name(present["features"], subject))
    settings = make_settings({key: present.pop(key) for key in _ENGINE if key in present}, "options")
    with registry.offered(objects), reported(present.pop("progress", None)) as callback:
        results = runner.single(subject, name, present, settings, callback, before)
    return ResultView(results, deny=settings.deny, subject=subject, choice=choice)
