"""Which of the measures that are asked for can be evaluated, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from .caller import Caller
from .errors import InputError, nearest
from .measures import EPISTEMIC, LOSS, SPLIT, Measure, split_of
from .results import Omission


def selected(
    names: Iterable[str], known: Mapping[str, Measure], caller: Caller
) -> tuple[tuple[Measure, ...], tuple[Omission, ...]]:
    """Return those of the `known` measures that can be evaluated, and why others cannot, as `Engine.select` says."""
    words, has_y = list(names), caller.subject.y is not None
    chosen: dict[str, Measure] = {}
    omissions: list[Omission] = []
    for name in chain.from_iterable(_meant(word, known, caller) for word in words):
        if name not in known:
            raise InputError(f"measures must be registered names; got {name!r}. {nearest(name, (*known, LOSS, SPLIT))}")
        measure = known[name]
        reason = measure.why_not(caller.baseline, has_y)
        other = known.get(caller.baseline.stand_ins.get(name, ""))
        if reason and other is not None and not other.why_not(caller.baseline, has_y):
            chosen[other.name] = other
            reason += f". The {other.title or other.name} stands in its place"
        if reason:
            omissions.append(Omission(name, "", reason))
        else:
            chosen[name] = measure
    if words and not chosen and not omissions:
        omissions.append(Omission(SPLIT, "", caller.baseline.why_not(EPISTEMIC.name)))
    return tuple(chosen.values()), tuple(omissions)


def _meant(word: str, known: Mapping[str, Measure], caller: Caller) -> tuple[str, ...]:
    """Return the names of the measures that a word stands for: its own, where it is no word for others."""
    if word == SPLIT:
        parts = split_of(caller.baseline)
        return parts if known.keys() >= set(parts) else ()
    return (caller.baseline.usual_loss,) if word == LOSS else (word,)
