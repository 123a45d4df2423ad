"""How many observations decide what the audit left open."""

from __future__ import annotations

from ...document.text import clean
from ...reading.run_reader import RunReader


def largest_sample(e: RunReader) -> str:
    """Return the largest sample size that is advised for a rule left open, with its check; empty for none.

    Examples
    --------
    >>> from uq_report.evidence.finding import Outcome
    >>> from uq_report.evidence.run import Run
    >>> open_ = Outcome(check="performance", state="skipped", reason="r", title="Performance", n_needed=2300)
    >>> run = Run(as_of="2026-01-01", subject={}, settings={}, environment={}, outcomes=(open_,))
    >>> largest_sample(RunReader(run))
    'Inconclusive rules: up to about 2,300 observations give 80% power (Performance).'
    """
    sizes = {clean(o.title or o.check, 60): o.n_needed for o in e.run.outcomes if o.n_needed is not None}
    if not sizes:
        return ""
    check = max(sizes, key=lambda title: sizes[title])
    return f"Inconclusive rules: up to about {sizes[check]:,} observations give 80% power ({check})."
