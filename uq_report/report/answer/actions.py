"""What to do: the remedies of the worst open findings, causes before symptoms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...document.document import Step
from ...document.evidence import OPEN, SEVERITY_TONES, Evidence
from ...document.text import clean, joined, mentioned, name, sentence
from ...evidence.finding import Finding

MOST = 3
SAID = ("UQ101", "UQ102")  # how large it is stands in the card on the doubt
LONGEST = 240  # characters of a sentence; a longer one gives way to the finding's title
TITLE = 90  # characters of what is to be done
# behind a full stop that ends no abbreviation of single letters ("p.a.")
_END = re.compile(r"(?:(?<=[^.][^\W\d][.!?])|(?<=[\d)%”][.!?]))\s+")


def actions(e: Evidence) -> tuple[Step, ...]:
    """Return at most three steps; findings that ask for the same are one. Without findings, what to watch."""
    shared: dict[str, list[Finding]] = {}
    for finding in e.findings:
        shared.setdefault(_lead(finding), []).append(finding)
    steps = [_step(e, lead, findings) for lead, findings in list(shared.items())[:MOST]]
    return tuple(steps) or (_watch(e),)


def rest(e: Evidence) -> tuple[Finding, ...]:
    """Return the open findings that no step is about."""
    leads = list(dict.fromkeys(map(_lead, e.findings)))[:MOST]
    return tuple(finding for finding in e.findings if _lead(finding) not in leads)


def first_sentence(text: str, most: int = LONGEST) -> str:
    """Return the first sentence of a text whole; empty where it is longer than `most` characters.

    Examples
    --------
    >>> first_sentence("It costs 0.5 nats. And more."), first_sentence("word " * 100)
    ('It costs 0.5 nats.', '')
    """
    first = _END.split(sentence(text), maxsplit=1)[0]
    return first if len(first) <= most else ""


def _lead(finding: Finding) -> str:
    """Return what is to be done, in a sentence."""
    return first_sentence(finding.remedy, 2 * TITLE) or f"Look at finding {clean(finding.code, 20)}."


def _step(e: Evidence, lead: str, findings: Sequence[Finding]) -> Step:
    """Return one step for findings that ask for the same; the first says how large it is."""
    worst = findings[0]
    why = "" if worst.code in SAID else first_sentence(worst.statement) or first_sentence(worst.title)
    codes = list(dict.fromkeys(clean(finding.code, 20) for finding in findings))
    owner = next((owner for f in findings if (owner := e.action(f)[0]) != OPEN), None)
    aside = f"finding{'s' if len(codes) > 1 else ''} {joined(codes, 4)}"
    return Step(
        lead=lead,
        text=mentioned(why, worst.features),
        aside=f"{aside} · {name(owner)}" if owner is not None else aside,
        tone=SEVERITY_TONES[worst.severity],
    )


def _watch(e: Evidence) -> Step:
    """Return what is left to do where no finding is open."""
    if not e.run.outcomes:
        return Step(lead="Audit it with checks.", text="No check was run, so nothing was looked for.")
    return Step(
        lead="Watch it in use.",
        text="No finding is open. Repeat the audit on new rows and outcomes; it says what changed.",
        tone="good",
    )
