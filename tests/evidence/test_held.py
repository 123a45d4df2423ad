"""What is made once of a value is made once, of each value and name, and let go with the value."""

from __future__ import annotations

import gc
from dataclasses import replace
from weakref import ref

import pytest

from uq_report.evidence.codec import dumps
from uq_report.evidence.frozen import once
from uq_report.evidence.run import Run

RUN = Run(as_of="2026-11-21", subject={}, settings={}, environment={})


class Value:
    """Equal to all others, and without a hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


def test_each_value_and_name_is_made_once() -> None:
    made = []

    @once
    def name(value: Value, word: str) -> str:
        made.append((value, word))
        return f"{id(value)} {word}"

    one, two = Value(), Value()
    answers = [name(value, word) for value in (one, two, one) for word in ("a", "b", "a")]
    assert answers == [f"{id(value)} {word}" for value in (one, two, one) for word in ("a", "b", "a")]
    assert [(id(value), word) for value, word in made] == [(id(v), word) for v in (one, two) for word in "ab"]


def test_what_was_made_goes_with_its_value() -> None:
    class Made:
        """What can be referred to weakly."""

    @once
    def make(_: Value) -> Made:
        return Made()

    value = Value()
    made = ref(make(value))
    gc.collect()
    assert made() is make(value)
    del value
    assert made() is None


def test_a_failure_is_not_kept() -> None:
    answers = iter([1])

    @once
    def make(_: Value) -> int:
        return next(answers)

    value, other = Value(), Value()
    assert make(value) == 1
    for _ in range(2):
        with pytest.raises(StopIteration):
            make(other)


def test_the_bytes_of_a_run_are_made_once() -> None:
    assert dumps(RUN) is dumps(RUN)
    assert dumps(replace(RUN, as_of="2026-11-22")) != dumps(RUN)
