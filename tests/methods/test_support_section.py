"""What the section on support says of results made by hand: shares, shuffles, new values and shifts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Result
from uq_report.document.blocks import TOP, undrawn
from uq_report.document.document import Figure, Section, Table
from uq_report.evidence.run import Run
from uq_report.methods.support.section import SupportSection
from uq_report.reading.run_reader import RunReader

from ..report.reading import all_blocks, table_of, text_of


def result(id: str, rows: list[dict[str, Any]], columns: tuple[str, ...], **meta: Any) -> Diagnostic:
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    table = pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, *columns])
    return Diagnostic(id=id, explainer="support", title="", frame=empty, estimates=table, meta=meta)


def share(item: str, feature: str, value: float, reach: float = 0.02, p_value: float = np.nan) -> dict[str, Any]:
    names = {"measure": "share_outside", "feature": feature, "item": item, "covers": "new test samples", "n": 400}
    ends = {"lower": value - reach, "upper": value + reach, "std_error": 0.01, "confidence": 0.95}
    return names | ends | {"estimate": value, "p_value": p_value, "expected": 0.05}


def support(*rows: dict[str, Any], expected: float | None = 0.05) -> Diagnostic:
    meta = {} if expected is None else {"expected": expected}
    return result("support", [*rows], ("item", "n", "p_value", "expected"), units=400, **meta)


def copies() -> Diagnostic:
    names = {"measure": "near_copies", "feature": "", "item": "near copies", "covers": "new test and training rows"}
    ends = {"estimate": 0.2, "lower": 0.15, "upper": 0.25, "std_error": np.nan, "confidence": 0.99, "n": 400}
    parts = {"share": 0.21, "share_train": 0.01, "least": 0.15, "ratio": 0.1, "n_train": 900}
    return result("support.copies", [names | ends | parts], ("item", "n", *parts))


def shown(*results: Result) -> Section:
    with undrawn():
        run = Run(as_of="2026-01-01", subject={"n": 400}, settings={}, environment={}, results=results)
        return SupportSection().section(RunReader(run))


@pytest.mark.parametrize(
    ("p_value", "words"),
    [(0.0009, " (p < 0.001, one-sided)."), (0.001, " (p 0.001, one-sided)."), (0.0437, " (p 0.044, one-sided).")],
)
def test_the_share_outside_stands_with_what_is_expected_and_its_p_value(p_value: float, words: str) -> None:
    text = text_of(shown(support(share("outside", "", 0.1, p_value=p_value))))
    assert f"; of training observations it would be 0.0500{words}" in text
    assert "Largest after shuffling" not in text


def test_what_is_not_known_is_not_said() -> None:
    text = text_of(shown(support(share("outside", "", 0.1), expected=None)))
    assert "of training observations it would be" not in text
    assert "one-sided" not in text
    assert text_of(shown(support())).endswith("No share could be computed.")


def test_shares_after_shuffles_stand_by_size_with_the_three_largest_in_words() -> None:
    sizes = {"a": 0.1, "b": 0.4, "c": 0.2, "d": 0.3}
    found = shown(support(share("outside", "", 0.9), *(share("shuffled", k, v) for k, v in sizes.items())))
    table = table_of(found, "support-table")
    assert [row[:2] for row in table.rows] == [("b", 0.4), ("d", 0.3), ("c", 0.2), ("a", 0.1)]
    assert table.rows[0][2:] == pytest.approx((0.38, 0.42))
    (figure,) = (block for block in all_blocks(found) if isinstance(block, Figure))
    assert figure.alt == "A dot with its interval per feature. Largest: b 0.400, d 0.300 and c 0.200."
    text = text_of(found)
    largest = text.partition("Largest after permutation: ")[2]
    assert largest.index("b") < largest.index("d") < largest.index("c")
    assert "0.100" not in largest.partition(".\n")[0]
    bare = shown(support(*(share("shuffled", k, v) | {"lower": np.nan, "upper": np.nan} for k, v in sizes.items())))
    assert table_of(bare, "support-table").rows[0] == ("b", 0.4)


@pytest.mark.parametrize("n", [TOP, TOP + 1])
def test_the_figures_hold_twenty_features_and_say_of_how_many(n: int) -> None:
    lines = [share("shuffled", f"x{k}", k / 100) for k in range(n)]
    moved = [shift(f"x{k}", k / 100) for k in range(n)]
    found = shown(support(*lines), result("support.shift", moved, ("item", "n")))
    (figure,) = (block for block in all_blocks(found) if isinstance(block, Figure))
    assert (f"is permuted, the 20 largest of {n}." in figure.caption) is (n > TOP)
    assert len(table_of(found, "support-table").rows) == n
    table = table_of(found, "support-shift")
    assert (f"in training, the 20 farthest of {n}." in table.caption) is (n > TOP)
    assert [row[0] for row in table.rows[:2]] == [f"x{n - 1}", f"x{n - 2}"]
    assert len(table.rows) == TOP


def shift(feature: str, value: float, words: str = "how") -> dict[str, Any]:
    ends = {"lower": value - 0.01, "upper": value + 0.01, "confidence": 0.95, "covers": "new test and training rows"}
    return {"measure": "distance", "feature": feature, "estimate": value, "item": words, "n": 9} | ends


def test_shifts_stand_with_their_intervals_and_a_line_of_words() -> None:
    found = shown(
        support(share("outside", "", 0.1)), result("support.shift", [shift("a", 0.5, "m" * 99)], ("item", "n"))
    )
    ((name, distance, low, high, words),) = table_of(found, "support-shift").rows
    assert (name, distance, low, high, len(str(words))) == ("a", 0.5, 0.49, 0.51, 80)
    none = shown(support(share("outside", "", 0.1)), result("support.shift", [], ("item", "n")))
    assert not [block for block in all_blocks(none) if isinstance(block, Table)]


def value(feature: str, item: str, rows: int, bound: str) -> dict[str, Any]:
    more = {"n": 400, "share": rows / 400, "p_value": 0.25, "covers": "none"}
    return {"measure": "count", "feature": feature, "item": item, "estimate": float(rows), "bound": bound} | more


def test_values_that_training_never_had_stand_with_their_bound() -> None:
    columns = ("item", "n", "share", "p_value", "bound")
    lines = [value("a", "i" * 50, 3, "-1234"), value("b", "new level", 1, "u, v")]
    found = shown(support(share("outside", "", 0.1)), result("support.values", lines, columns, tests=4))
    table = table_of(found, "support-values")
    first, second = table.rows
    assert (len(str(first[1])), first[0], first[2:]) == (40, "a", (3, 400, "−1234", 0.25))
    assert second == ("b", "new level", 1, 400, "u, v", 0.25)
    assert "that do not occur in the training sample: 2 lines." in table.caption
    none = shown(support(share("outside", "", 0.1)), result("support.values", [], columns, tests=4))
    assert "No feature has a value outside its range or levels" in text_of(none)
    assert "No feature has a value" not in text_of(shown(support(share("outside", "", 0.1))))


def test_the_rows_p_values_are_pointed_at_where_they_are() -> None:
    rows = result("support.rows", [], ())
    words = "The evidence support.rows has the conformal p-value of every observation."
    assert words in text_of(shown(support(share("outside", "", 0.1)), rows))
    assert words not in text_of(shown(support(share("outside", "", 0.1))))


def test_near_copies_stand_beside_those_of_the_training_sample() -> None:
    assert "Near copies of a training observation: 21% of 400 test observations, 1% of 900 training" in (
        text_of(shown(support(share("outside", "", 0.1)), copies()))
    )
    assert "Near copies" not in text_of(shown(support(share("outside", "", 0.1))))
