"""The contract of explainers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np

from ..core.engine.fast_path_evaluator import Engine
from ..core.explainer import Explainer, runs_after
from ..core.model.results import KINDS, Result
from ..core.model.subject import Subject
from ..core.support.errors import UQReportError
from ..evidence import codec
from ..runner import plugins
from ..runner.provenance import card_of, options_of
from .contract import require, require_declared
from .known import equipped, linear_subject, logistic_subject, measures


def explainer_checks() -> tuple[Callable[[type[Explainer]], None], ...]:
    """Return every check of an explainer class."""
    return (
        check_explainer_declares_itself,
        check_explainer_options_are_plain,
        check_explainer_results_keep_the_contract,
        check_explainer_results_can_be_saved,
        check_explainer_repeats_itself,
        check_explainer_leaves_the_subject_alone,
    )


def check_explainer_declares_itself(cls: type[Explainer]) -> None:
    """Require a frozen dataclass with the class variables of the contract, and words for its method card."""
    require_declared(plugins.EXPLAINERS, cls)
    require(cls.__dataclass_params__.frozen, cls, "must be frozen")  # type: ignore[attr-defined]
    require(bool(card_of(cls()).definition), cls, "must have a card or a docstring: the report prints its method card")


def check_explainer_options_are_plain(cls: type[Explainer]) -> None:
    """Require that defaults make a valid object whose options survive JSON."""
    try:
        json.dumps(options_of(cls()), allow_nan=False)
    except (TypeError, ValueError) as error:
        require(False, cls, f"must have options that JSON can hold: {error}")


def check_explainer_results_keep_the_contract(cls: type[Explainer]) -> None:
    """Require known kinds, unique ids under the explainer's name, and something in every result or a reason why not."""
    for subject in (equipped(linear_subject), equipped(logistic_subject)):
        results = explain(cls, subject)
        ids = [result.id for result in results]
        require(len(set(ids)) == len(ids), cls, f"must give unique ids; got {ids}")
        for result in results:
            own = result.id == cls.name or result.id.startswith(f"{cls.name}.")
            named = own and result.explainer == cls.name
            require(named, cls, f"must name its results after itself; got {result.id!r} of {result.explainer!r}")
            require(KINDS.get(result.kind) is type(result), cls, f"must return known kinds; got {result.kind!r}")
            filled = len(result.frame) or len(result.estimates) or result.omissions or result.notes
            require(bool(filled), cls, f"must say why {result.id!r} is empty")


def check_explainer_results_can_be_saved(cls: type[Explainer]) -> None:
    """Require that results can be written to run.json and read back."""
    for result in explain(cls, equipped(linear_subject)):
        try:
            codec.as_saved(result)
        except (UQReportError, TypeError) as error:
            require(False, cls, f"must give results that can be saved: {error}")


def check_explainer_repeats_itself(cls: type[Explainer]) -> None:
    """Require that the same seed gives the same numbers to the last bit."""
    subject = equipped(linear_subject)
    for a, b in zip(explain(cls, subject, seed=5), explain(cls, subject, seed=5), strict=True):
        same = a.frame.equals(b.frame) and a.estimates.equals(b.estimates)
        require(same, cls, f"must repeat {a.id!r} exactly with the same seed")


def check_explainer_leaves_the_subject_alone(cls: type[Explainer]) -> None:
    """Require that neither the rows nor numpy's global random state change."""
    subject = equipped(linear_subject)
    before, state = subject.X.copy(), _random_state()
    explain(cls, subject)
    require(np.array_equal(before, subject.X), cls, "must not change the subject's rows")
    require(state == _random_state(), cls, "must not touch numpy's global random state")


def _random_state() -> tuple[str, int]:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the global state is what is guarded
    return str(state["state"]["key"].tobytes()), int(state["state"]["pos"])


def explain(cls: type[Explainer], subject: Subject, seed: int = 0) -> Sequence[Result]:
    """Run an explainer with its defaults on a subject, after the explainers it needs or names in ``after``."""
    engine = Engine(subject, measures(), seed=seed)
    installed = {plugin.name: plugin for plugin in plugins.find(plugins.EXPLAINERS)}
    prior: dict[str, Sequence[Result]] = {}

    def run(plugin: type[Explainer]) -> Sequence[Result]:
        for need in (*plugin.needs, *(name for name in runs_after(plugin) if name in installed)):
            if need not in prior:
                prior[need] = run(plugins.load(installed[need]))
        return plugin().explain(subject, engine.bound(plugin.name), prior)

    return run(cls)
