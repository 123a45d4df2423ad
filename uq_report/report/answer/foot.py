"""Which run the answer is from, how many checks judged it, and what was not tested."""

from __future__ import annotations

from ...core.text import count
from ...document.evidence import Evidence
from ...document.text import clean, joined
from ...evidence.codec import sha256
from ..rating import NO_VERDICT

NOT_TESTED = "Not tested: causal effects, security, the code that serves the model"
DIGITS = 12  # of the hash; the whole of it stands with the report's identity
_ENDS = (
    ("with findings", ("found",)),
    ("passed", ("passed",)),
    ("waived", ("ignored",)),
    ("without a verdict", NO_VERDICT),
)


def foot(e: Evidence) -> str:
    """Return one small paragraph."""
    about = e.subject
    sizes = [count(n, what) for n, what in ((about.n, "row"), (about.d, "feature")) if n is not None]
    identity = [f"As of {clean(e.run.as_of, 20)}", " of ".join(sizes), f"evidence {sha256(e.run)[:DIGITS]}"]
    parts = f", {count(len(e.run.not_run), 'part')} that did not run" if e.run.not_run else ""
    return f"{'; '.join(filter(None, identity))}. {_checks(e)} {NOT_TESTED}{parts}."


def _checks(e: Evidence) -> str:
    """Count the checks by how they ended."""
    states = [outcome.state for outcome in e.run.outcomes]
    numbers = [(sum(state in ended for state in states), words) for words, ended in _ENDS]
    told = joined([f"{number} {words}" for number, words in numbers if number])
    return f"{count(len(states), 'check')}: {told}." if states else "No check was run."
