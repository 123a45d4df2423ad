"""What to do: the remedies of the worst open findings, causes before symptoms."""

from __future__ import annotations

from collections.abc import Sequence

from ...document.document import Step
from ...document.evidence import OPEN, SEVERITY_TONES, Evidence
from ...document.text import clean, first_sentence, joined, mentioned, name
from ...evidence.finding import Finding

MOST = 3
SAID = ("UQ101", "UQ102")  # how large it is stands in the card on the doubt
TITLE = 90  # characters of what is to be done


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
