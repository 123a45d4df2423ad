"""Documents without the cost of drawing, for tests that read words and tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from uq_report.report import blocks


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Build figures but do not render them: errors in drawing still show, rendering time does not."""
    monkeypatch.setattr(blocks, "to_svg", lambda figure: b"<svg/>" if figure.axes else b"")
    yield
