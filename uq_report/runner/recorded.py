"""What the host records of explainers and measures, strangers' and our own alike: no plugin has to describe itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from ..core.distributions import Categorical
from ..core.explainer import Card, Explainer, HasCard
from ..core.measures import PREDICTION, Measure
from ..core.predictive import Distribution
from ..core.results import MeasureFacts, Result
from ..core.text import short
from ..evidence import codec
from ..evidence import columns as col
from ..evidence.run import MethodRecord
from .options import summary

_LABEL = 60


def described(result: Result, explainer: Explainer, measures: Mapping[str, MeasureFacts]) -> Result:
    """Return a result with the facts of its measures, and the explainer's options where it states none."""
    return with_measures(replace(result, options=result.options or options_of(explainer)), measures)


def with_measures(result: Result, measures: Mapping[str, MeasureFacts]) -> Result:
    """Return a result with the facts of the measures in its frames; what it states of its own comes first."""
    names = map(str, dict.fromkeys((*result.frame[col.MEASURE], *result.estimates[col.MEASURE])))
    registered = {name: measures[name] for name in names if name in measures}
    return replace(result, measures=registered | dict(result.measures))


def measure_facts(measures: Iterable[Measure], dist: Distribution) -> dict[str, MeasureFacts]:
    """Return what readers must know of measures; the unit of a prediction is told in this model's own words."""
    facts = {m.name: MeasureFacts(m.title or m.name, m.unit, m.role, m.direction) for m in measures}
    unit = _prediction_unit(dist)
    if PREDICTION.name in facts:
        facts[PREDICTION.name] = replace(facts[PREDICTION.name], unit=unit)
    return facts


def _prediction_unit(dist: Distribution) -> str:
    if "proba" in dist.supports:
        classes = cast("Categorical", dist)
        return f"probability of {short(str(classes.classes[classes.positive]), _LABEL)}"
    return "expected count" if dist.discrete else "units of y"


def method_of(explainer: Explainer) -> MethodRecord:
    """Return what the run keeps of an explainer that ran."""
    options = codec.plain(options_of(explainer), f"{explainer.name}.options")
    return MethodRecord(name=explainer.name, section=explainer.section, options=options, card=card_of(explainer))


def options_of(explainer: Explainer) -> dict[str, Any]:
    """Return an explainer's fields, which are its options as used."""
    return {f.name: getattr(explainer, f.name) for f in fields(explainer)} if is_dataclass(explainer) else {}


def card_of(explainer: Explainer) -> Card:
    """Return an explainer's card: its own, else the first paragraph and the references of its docstring."""
    if isinstance(explainer, HasCard):
        return explainer.card
    text = inspect.cleandoc(type(explainer).__doc__ or "")
    return Card(title=_title(explainer.name), definition=summary(type(explainer)), references=_references(text))


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _references(text: str) -> str:
    """Return the references of a numpydoc docstring, as plain words.

    Examples
    --------
    >>> _references('''Screen.
    ...
    ... References
    ... ----------
    ... .. [1] Fieller et al. 1957.
    ...
    ... Examples
    ... --------
    ... ''')
    'Fieller et al. 1957.'
    """
    part = re.search(r"^References\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(re.sub(r"\.\. \[\d+\]", "", part[1]).split()) if part else ""
