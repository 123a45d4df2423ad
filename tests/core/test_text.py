"""Outside text made fit for pages: both sides of each length, and names that stay apart."""

import pytest

from uq_report.core.support.text import MAX_NAME, MAX_STEM, MAX_TEXT, clean, count, file_stem, harmless, short


@pytest.mark.parametrize("limit", [5, MAX_TEXT])
def test_a_text_is_cut_only_beyond_its_limit(limit: int) -> None:
    assert clean("x" * limit, limit) == "x" * limit
    assert clean("x" * (limit + 1), limit) == "x" * (limit - 1) + "…"
    assert clean("x" * 50 * limit, limit) == "x" * (limit - 1) + "…"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  a \t\n b\u00a0c ", "a b c"),
        ("a\u2028b\u2029c", "a b c"),
        ("e\u0301", "\u00e9"),
        ("a\x00\x7f\x9f\ufeffb", "ab"),
        ("a\u200bb\u2066c", "a[U+200B]b[U+2066]c"),
        ("\ud800", "[U+D800]"),
        (None, "None"),
        (3.5, "3.5"),
    ],
)
def test_what_a_reader_cannot_see_is_shown_or_goes(text: object, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_blanks_do_not_take_the_room_of_words() -> None:
    """Four times the limit is read before blanks are joined."""
    assert clean(" " * 15 + "ab cd", 5) == "ab cd"
    assert clean("ab" + " " * 17 + "cd", 5) == "ab c"
    assert clean("ab" + " " * 18 + "cd", 5) == "ab"


@pytest.mark.parametrize(("length", "head", "tail"), [(20, 10, 9), (21, 10, 10), (MAX_NAME, 20, 19)])
def test_a_name_keeps_both_ends(length: int, head: int, tail: int) -> None:
    name = "a" * 100 + "b" * 100
    assert short(name, length) == "a" * head + "…" + "b" * tail
    assert len(short(name, length)) == length
    assert short("x" * length, length) == "x" * length
    assert short("x" * (length + 1), length) != "x" * (length + 1)


def test_lines_stay_lines_on_a_terminal() -> None:
    assert harmless("a  b\n\tc\rd\x1b[0m\n\u202ee") == "a  b\n\tcd[0m\n[U+202E]e"


@pytest.mark.parametrize("id", ["a", "pfi.train", "x" * MAX_STEM, "A-b_c.9"])
def test_a_safe_id_names_its_file(id: str) -> None:
    assert file_stem(id) == id


def test_other_ids_are_changed_and_stay_apart() -> None:
    others = ["a b", "a/b", "a:b", "ä", "\ud800", "x" * (MAX_STEM + 1), "x" * (MAX_STEM + 2)]
    stems = list(map(file_stem, others))
    assert len(set(stems)) == len(others)
    assert [stem[:-9] for stem in stems] == ["a_b", "a_b", "a_b", "_", "_", "x" * MAX_STEM, "x" * MAX_STEM]
    assert {len(stem.rpartition("-")[2]) for stem in stems} == {8}


@pytest.mark.parametrize(("n", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (-1, "-1 rows")])
def test_only_one_is_singular(n: int, words: str) -> None:
    assert count(n, "row") == words
    assert count(n, "class", "classes") == words.replace("rows", "classes").replace("row", "class")
