"""Which run the answer is from, how many checks judged it, and what was not tested."""

from __future__ import annotations

from ...core.text import count
from ...document.evidence import Evidence
from ...document.text import clean
from ..rating import NO_VERDICT, tally

NOT_TESTED = "Not tested: causal effects, security, the code that serves the model"
DIGITS = 12  # of the hash; the whole of it stands with the report's identity
_ENDS = (
    (("found",), "with findings"),
    (("passed",), "passed"),
    (("ignored",), "waived"),
    (NO_VERDICT, "without a verdict"),
)


def foot(e: Evidence) -> str:
    """Return one small paragraph."""
    about = e.subject
    sizes = [count(n, what) for n, what in ((about.n, "row"), (about.d, "feature")) if n is not None]
    identity = [f"As of {clean(e.run.as_of, 20)}", " of ".join(sizes), f"evidence {e.digest[:DIGITS]}"]
    parts = f", {count(len(e.run.not_run), 'part')} that did not run" if e.run.not_run else ""
    return f"{'; '.join(filter(None, identity))}. {_checks(e)} {NOT_TESTED}{parts}."


def _checks(e: Evidence) -> str:
    """Count the checks by how they ended."""
    ran = e.run.outcomes
    return f"{count(len(ran), 'check')}: {tally(ran, _ENDS)}." if ran else "No check was run."
