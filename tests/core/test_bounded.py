"""Files that are loaded: both sides of their size and of their nesting, and what is no JSON."""

import json
import os
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from uq_report.core.support.errors import InputError
from uq_report.core.support.safe_loading import DEEPEST, bytes_of, json_of, nesting


@pytest.mark.parametrize("size", [0, 9, 10])
def test_a_file_up_to_its_bound_is_read(size: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * size)
    assert bytes_of(tmp_path / "f", 10) == b"x" * size


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    with pytest.raises(InputError, match=r"f must have at most 10 bytes; it has more"):
        bytes_of(tmp_path / "f", 10)


@pytest.mark.parametrize("size", [10, 11])
def test_a_pipe_is_bounded_though_it_has_no_size(size: int, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"x" * size,))
    writer.start()
    if size > 10:
        with pytest.raises(InputError, match="at most 10 bytes"):
            bytes_of(pipe, 10)
    else:
        assert bytes_of(pipe, 10) == b"x" * size
    writer.join()


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0), ("7", 0), ("[]", 1), ("[[], [[]]]", 3), ('{"a": [{}]}', 3), ("][", 0), ('"[["', 0),
        (r'["\"[", []]', 2), (r'["\\", [[]]]', 3), (r'"\\\"[["', 0), ('[["[[["]]', 2), ("[1][[2]]", 2),
    ],
)  # fmt: skip
def test_nesting_counts_brackets_outside_texts(text: str, depth: int) -> None:
    assert nesting(text.encode()) == depth


@pytest.mark.parametrize("make", [str, str.encode])
def test_json_is_parsed_up_to_a_depth(make: type) -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    assert json_of(make(text), "x.json") == json.loads(text)
    with pytest.raises(InputError, match=rf"^x\.json must be nested at most {DEEPEST} deep; got {DEEPEST + 1}\."):
        json_of(make(f"[{text}]"), "x.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "b": {"c": 1, "d": 2, "d": 3}}', "the key 'd' stands twice"),
        ("[NaN]", "NaN is no number of JSON"),
        ("[-Infinity]", "-Infinity is no number of JSON"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_no_json_is_told_with_its_source(text: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"^x\.json must be JSON; got something else \(.*{words}"):
        json_of(text, "x.json")


def test_equal_keys_of_different_objects_are_no_repeats() -> None:
    assert json_of('{"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}', "x") == {"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}


def test_objects_in_a_list_that_begins_with_a_cell_are_read_and_their_repeats_told() -> None:
    assert json_of('[1, {"a": 1, "b": [null, {"c": ":"}]}]', "x") == [1, {"a": 1, "b": [None, {"c": ":"}]}]
    with pytest.raises(InputError, match="the key 'a' stands twice"):
        json_of('[1, {"a": 1, "a": 2}]', "x")


def test_numbers_are_those_of_the_standard_library() -> None:
    stream = Random(7)
    texts = [repr(stream.gauss(0, 1) * 10 ** stream.uniform(-320, 300)) for _ in range(3000)]
    texts += [
        "0",
        "-0",
        "-0.0",
        "1E5",
        "1e400",
        "5e-324",
        "2.5e-324",
        str(2**63),
        "-" + "9" * 60,
        "0.1" + "0" * 300 + "1",
    ]
    read, expected = json_of(f"[{','.join(texts)}]", "x"), json.loads(f"[{','.join(texts)}]")
    assert list(map(repr, read)) == list(map(repr, expected))


def test_texts_may_hold_half_of_a_pair() -> None:
    assert json_of('"\ud800"', "x") == "\ud800"
