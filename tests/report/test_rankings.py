"""Rankings in words: intervals where there are some, ties where not."""

from __future__ import annotations

import pytest

from uq_report.evidence.information import RankLine
from uq_report.methods.agreement.section import Ranked

UNKNOWN = float("nan")


def ranked(*places: tuple[str, float, float, float]) -> Ranked:
    lines = tuple(
        RankLine(
            measure="m", feature=feature, estimate=rank, std_error=UNKNOWN, lower=lower, upper=upper, confidence=0.95,
            covers="", item="rsens", role="uncertainty", value=0.0,
        )
        for feature, rank, lower, upper in places
    )  # fmt: skip
    return Ranked("rsens", "m", lines)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ([("a", 1, 1, 1), ("b", 2, 2, 3), ("c", 3, 2, 3)], "a (1), b (2 to 3) and c (2 to 3)"),
        (
            [("a", 1, UNKNOWN, UNKNOWN), ("b", 2, UNKNOWN, UNKNOWN), ("c", 2, UNKNOWN, UNKNOWN)],
            "a, b (tied, 2 to 3) and c (tied, 2 to 3)",
        ),
    ],
)
def test_leaders_hide_no_tie(places: list[tuple[str, float, float, float]], words: str) -> None:
    assert ranked(*places).leaders(3) == words
