"""How many observations decide what the audit left open."""

from __future__ import annotations

from ...document.text import clean
from ...reading.run_reader import RunReader

DECISIVE = ("calibration", "performance", "policy")  # the recommendation rests on these checks


def largest_sample(e: RunReader) -> str:
    """Return the largest sample size that is advised for a decisive check left open, with the check; empty for none.

    Rules on groups or segments can ask for samples that nobody has; their findings state these numbers.

    Examples
    --------
    >>> from uq_report.evidence.finding import Outcome
    >>> from uq_report.evidence.run import Run
    >>> open_ = Outcome(check="performance", state="skipped", reason="r", title="Performance", n_needed=2300)
    >>> run = Run(as_of="2026-01-01", subject={}, settings={}, environment={}, outcomes=(open_,))
    >>> largest_sample(RunReader(run))
    'Inconclusive rules: up to about 2,300 observations give 80% power (Performance).'
    """
    leading = (o for o in e.run.outcomes if o.check in DECISIVE and o.n_needed is not None)
    sizes = {clean(o.title or o.check, 60): o.n_needed or 0 for o in leading}
    if not sizes:
        return ""
    check = max(sizes, key=lambda title: sizes[title])
    return f"Inconclusive rules: up to about {sizes[check]:,} observations give 80% power ({check})."
