"""Documents without the cost of drawing, for tests that read words and tables."""

from __future__ import annotations

import pytest

from uq_report.document import blocks


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures out: their words stay."""
    monkeypatch.setattr(blocks, "svg_of", lambda figure: b"<svg/>" if callable(figure) else b"")
