"""A line of a few numbers, small enough for a cell of a table."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.text import count
from ...report.overview import Spark

WIDTH, HEIGHT, EDGE = 120, 28, 4
_COLOUR = "#5b7fa6"  # 3 to 1 and more against the light and the dark page


def spark(what: str, values: Sequence[float], form: str = ".3g") -> Spark | None:
    """Return the line of values in the order of their runs, its last one marked; None for no values.

    Examples
    --------
    >>> spark("log score", [0.5, 0.25]).alt
    'log score over 2 runs: 0.5, now 0.25'
    """
    if not values:
        return None
    low, span = min(values), (max(values) - min(values)) or 1.0
    across, tall = (WIDTH - 2 * EDGE) / max(1, len(values) - 1), HEIGHT - 2 * EDGE
    flat = min(values) == max(values)
    points = [
        (EDGE + i * across, HEIGHT / 2 if flat else EDGE + tall * (1 - (value - low) / span))
        for i, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<polyline points="{line}" fill="none" stroke="{_COLOUR}" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{_COLOUR}"/></svg>'
    )
    now = f"{values[-1]:{form}}"
    return Spark(svg.encode(), f"{what} over {count(len(values), 'run')}: {values[0]:{form}}, now {now}", now)
