"""Audits: run every explainer and check, and load what an audit saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast, overload

from .. import runner
from ..core.engine.fast_path_evaluator import Progress
from ..core.model.subject import Subject
from ..core.support.calls import known_arguments
from ..core.support.errors import InputError
from ..evidence import run_folder
from ..runner import plugins as registry
from ..runner.options import options_of
from ..runner.prepare import measures_in, passed
from ..runner.settings import About, Settings, refuse, settled
from .arguments import names
from .benchmark import benchmark_of
from .calls import on_subject
from .given_shap import given_explainers
from .several import AuditRuns
from .showing import reported
from .verbs import Chosen
from .views import AuditRun, Earlier, earlier_run

Reporting: TypeAlias = bool | Callable[[Progress], None] | None
_AS_ARGUMENTS = "Pass single ones as arguments: uq.audit(subject, seed=1)."


@overload
def audit(
    subjects_or_models: Mapping[str, Any],
    X: Any = None,
    y: Any = None,
    /,
    *,
    explainers: Chosen = None,
    checks: Any = None,
    settings: Settings | None = None,
    progress: Reporting = None,
    previous: None = None,
    benchmark: Any = None,
    **fields: Any,
) -> AuditRuns: ...
@overload
def audit(
    subject_or_model: Any,
    X: Any = None,
    y: Any = None,
    /,
    *,
    explainers: Chosen = None,
    checks: Any = None,
    settings: Settings | None = None,
    progress: Reporting = None,
    previous: Earlier | None = None,
    benchmark: Any = None,
    **fields: Any,
) -> AuditRun: ...
@on_subject
def audit(
    subject: Subject | Sequence[Subject] | Mapping[str, Subject],
    /,
    settings: Settings | None = None,
    *,
    explainers: Chosen = None,
    checks: Any = None,
    progress: Reporting = None,
    previous: Earlier | None = None,
    benchmark: Any = None,
    **fields: Any,
) -> AuditRun | AuditRuns:
    """Run every explainer and check that applies, and return the audit.

    Parameters
    ----------
    subject : Subject, a model with X and y, two subjects, or mapping of str to Subject
        Two subjects, champion and challenger on the same rows, are audited side by side: the run holds
        both audits and the differences, with paired intervals. A mapping, as from `explain_outputs`, gives
        an audit of each, and a page over them.
    settings : Settings, optional
    explainers, checks : str, class, object, or sequence of these, optional
        Those to run; all that are installed by default. Objects of your own run beside installed ones, and so do a
        `shap.Explanation` of the audited rows and a `shap.Explainer`; a measure of
        your own stands in the options: ``options={"pfi": {"measures": ["nll", my_measure]}}``.
    progress : bool or callable, optional
        Bars on a terminal by default; False for none; a callable gets every `Progress`.
    previous : path, AuditRun or Run, optional
        The last audit of this model: the run then says what changed, with intervals of the differences.
    benchmark : {"logistic", "ridge", "poisson", "constant"} or fitted model, optional
        A simple model, fitted to the training rows, beside which the scores stand with paired differences.
    **fields
        Fields of `Settings`: ``options={"pfi": {"n_repeats": 10}}``, ``seed``, ``confidence``, ``n_jobs``, ``as_of``,
        ``deny``, ``about={"title": ...}`` ...; they win over `settings`. Of a model also the arguments of `explain`.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/start/reading.html

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> run = audit(linear_subject(60), explainers=["pfi", "calibration"], progress=False)
    >>> run.keys()[0], run["pfi"].summary()["feature"].iloc[0]
    ('calibration', 'c')
    """
    watch = runner.TimeBudget()
    if not isinstance(settings, Settings | None):
        raise InputError(f"audit.settings must be Settings; got a {type(settings).__name__}. {_AS_ARGUMENTS}")
    if isinstance(subject, Mapping):
        chosen = {"explainers": explainers, "checks": checks, "benchmark": benchmark, **fields}
        return _audits(subject, settings, progress, previous, chosen)
    base = {} if settings is None else settings.model_dump(exclude_unset=True) | {"as_of": settings.as_of}
    asked, objects = _asked(explainers, checks, fields)
    last = None if previous is None else earlier_run(previous)
    asked |= {"benchmark": benchmark} if isinstance(benchmark, str) else {}
    with registry.offered(objects), reported(progress) as callback:
        merged = _settings(base | asked)
        if isinstance(subject, Subject):
            simple = merged.benchmark if benchmark is None else benchmark
            other = None if simple is None else benchmark_of(subject, simple, merged.deny)
            audited = runner.run(subject, merged, callback, last, watch, other)
        elif benchmark is not None or merged.benchmark is not None:
            raise InputError(
                "audit.benchmark must be left out where a challenger is given; got both. Keep one of them."
            )
        else:
            audited = runner.side_by_side(subject[0], subject[1], merged, callback, last, watch)
    return AuditRun(audited.run, audited.clock, subject if isinstance(subject, Subject) else None)


_MOVED = {
    "expectations": "options={'checks.direction': {'monotone': {...}}}",
    "policy": "options={'checks.policy': {'require': [...]}}",
    "fail_on": "it to uq.run, whose exit code it decides: uq.run('audit.toml', {'policy.fail_on': ...})",
    **{key: f"about={{{key!r}: ...}}" for key in About.model_fields},
}


def _asked(explainers: Any, checks: Any, fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Return the settings of an audit with names in place of objects, and the objects."""
    of_explainers = passed(registry.EXPLAINERS, given_explainers(explainers))
    of_checks = passed(registry.CHECKS, checks)
    for key in fields.keys() & {plugin.name for plugin in registry.find(registry.EXPLAINERS)}:
        raise InputError(f"audit.{key} must be given in options; got an argument. Pass options={{{key!r}: {{...}}}}.")
    for key in fields.keys() & _MOVED.keys():
        raise InputError(f"audit.{key} must be given otherwise; got an argument. Pass {_MOVED[key]}.")
    for key in fields.keys() - Settings.model_fields.keys():
        installed = registry.find(registry.EXPLAINERS, names("audit.deny", fields.get("deny") or ()))
        owners = [plugin.name for plugin in installed if key in options_of(registry.load(plugin))]
        if owners:
            call = f"options={{{owners[0]!r}: {{{key!r}: ...}}}}"
            must = f"audit.{key} must be given in options, by explainer; got an argument"
            raise InputError(f"{must}. Pass {call}; {', '.join(owners)} have it.")
    objects = [*of_explainers.objects, *of_checks.objects]
    asked = {**fields, "explainers": of_explainers.names, "checks": of_checks.names}
    given = measures_in(fields.get("options") or {}, objects)
    own = {**of_explainers.options, **of_checks.options}
    if isinstance(given, Mapping) and (given or own):
        asked["options"] = {**own, **given}
    return {key: value for key, value in asked.items() if value is not None}, objects


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
    settings, mistakes = settled(Settings, fields, "audit")
    if mistakes and settings is not None:
        mistakes += runner.option_mistakes(settings)
    refuse(mistakes)
    return cast("Settings", settings)


@known_arguments
def load(path: str | Path) -> AuditRun:
    """Return a saved audit, from its run.json or its folder; the model is not needed.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/run_json.html

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from uq_report.testing import linear_subject
    >>> run = audit(linear_subject(60), explainers="redundancy", checks=(), progress=False)
    >>> with TemporaryDirectory() as folder:
    ...     loaded = load(run.save(f"{folder}/run.json"))
    >>> loaded["redundancy"].estimates.equals(run["redundancy"].estimates)
    True
    """
    if not isinstance(path, str | Path):
        raise InputError(f"load.path must be a run.json, or a folder with one; got a {type(path).__name__}.")
    return AuditRun(*run_folder.read(path))
