"""Who is affected: the largest difference between groups that is shown, or why none is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ...core.text import count
from ...document.amounts import apart, scaled
from ...document.document import Card
from ...document.evidence import Evidence
from ...document.text import clean, joined, name
from ...evidence.outcomes import DifferenceLine, GroupLine, GroupsDifference, GroupsUse, UseLine

L = TypeVar("L", bound=GroupLine)
ALL_ROWS = "all rows"  # the item of `GroupsUse` that is of no group
TITLE = "Who is affected?"
PREDICTION, OUTCOME, RESIDUAL = "prediction", "outcome", "residual"
BIASED, USED = "UQ801", "UQ803"  # predictions too high or too low for a group; predictions that use an attribute
GROUPS = "UQ80"


def affected(e: Evidence) -> Card | None:
    """Return the card on groups; None where no group was looked at.

    What an open finding says comes first: predictions that are wrong for a group, then those that use an attribute.
    """
    view = GroupsDifference.find(e.run)
    if view is None or not view.attributes:
        return None
    wrong = _largest(_of(view, RESIDUAL, _about(e, BIASED)))
    used = _largest(_used(e))
    apart_ = _largest(_of(view, PREDICTION))
    if wrong is not None:
        texts: tuple[str, ...] = (f"Predictions less outcomes of these {count(wrong.n, 'row')}, against the others.",)
        return _card(wrong, (*texts, *_withheld(view)), sign=-1)  # a residual is the outcome less the prediction
    if used is not None:
        texts = (f"By exchanging {name(used.by)} alone, against the others.", *_beside(view, used))
        return _card(used, (*texts, *_withheld(view)))
    if apart_ is not None:
        texts = (f"Predictions of these {count(apart_.n, 'row')}, against the others.", *_came(view, apart_))
        return _card(apart_, (*texts, *_withheld(view)))
    return _none_shown(e, view)


def _card(line: GroupLine, texts: tuple[str, ...], sign: int = 1) -> Card:
    """Return the card on one group."""
    number, around = apart(scaled(line.estimate, line.lower, line.upper, line.unit, sign=sign))
    signed = number if number.startswith("−") else f"+{number}"
    return Card(title=TITLE, headline=signed, aside=f"{name(line.feature)} {name(line.item)}{around}", texts=texts)


def _none_shown(e: Evidence, view: GroupsDifference) -> Card:
    """Return the card where no prediction is shown to differ: none at all, or errors alone."""
    found = next((f for f in e.findings if f.code.startswith(GROUPS) and f.severity != "observation"), None)
    groups, withheld = len(_of(view, PREDICTION)), _withheld(view)
    if found is not None:
        text = f"{clean(found.title)} ({clean(found.code, 20)})."
        return Card(title=TITLE, headline="See the finding", texts=(text, *withheld))
    if not groups:
        return Card(title=TITLE, headline="Withheld", texts=withheld or ("No group has enough rows.",))
    of = joined([name(attribute) for attribute in view.attributes], 3)
    text = f"Predictions of {count(groups, 'group')} of {of} were compared with the others'; none is shown to differ."
    return Card(title=TITLE, headline="No one shown", texts=(text, *withheld))


def _about(e: Evidence, code: str) -> tuple[str, ...]:
    """Return the attributes of the open findings of a code."""
    return tuple(feature for finding in e.findings if finding.code == code for feature in finding.features)


def _used(e: Evidence) -> Sequence[UseLine]:
    """Return how predictions of groups change when the attribute itself is exchanged, where a finding says so."""
    view, attributes = GroupsUse.find(e.run), _about(e, USED)
    lines = view.lines if view is not None else ()
    return [one for one in lines if one.feature == one.by and one.feature in attributes and one.item != ALL_ROWS]


def _largest(lines: Sequence[L]) -> L | None:
    """Return the largest difference whose interval is apart from 0."""
    shown = [line for line in lines if line.has_interval and (line.lower > 0 or line.upper < 0)]
    return max(shown, key=lambda line: abs(line.estimate), default=None)


def _of(view: GroupsDifference, measure: str, attributes: Sequence[str] | None = None) -> Sequence[DifferenceLine]:
    """Return the differences of a measure, of these attributes alone if they are given."""
    return [
        line for line in view.lines if line.measure == measure and (attributes is None or line.feature in attributes)
    ]


def _beside(view: GroupsDifference, line: GroupLine) -> tuple[str, ...]:
    """Say how predictions of a group differ in all, and its outcomes."""
    same = next((one for one in _of(view, PREDICTION) if (one.feature, one.item) == (line.feature, line.item)), None)
    return (*((f"In all they differ by {_words(same)}.",) if same is not None else ()), *_came(view, line))


def _came(view: GroupsDifference, line: GroupLine) -> tuple[str, ...]:
    """Say how the outcomes of a group differ."""
    same = next((one for one in _of(view, OUTCOME) if (one.feature, one.item) == (line.feature, line.item)), None)
    return (f"Outcomes differ by {_words(same)}.",) if same is not None else ()


def _words(line: GroupLine) -> str:
    return scaled(line.estimate, line.lower, line.upper, line.unit)


def _withheld(view: GroupsDifference) -> tuple[str, ...]:
    """Say which groups are withheld, and why."""
    hidden = [
        f"{joined([name(group) for group in facts['withheld']], 3)} of {name(attribute)}"
        for attribute, facts in view.attributes.items()
        if facts.get("withheld")
    ]
    return (f"Withheld: {joined(hidden, 3)}, to protect groups below {view.n_min} rows.",) if hidden else ()
