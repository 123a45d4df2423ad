"""Words: safe, and never stronger than the interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import MeasureFacts, Omission
from uq_report.core.support.text import MAX_TEXT, short
from uq_report.document import blocks
from uq_report.document.text import clean, interval, joined, name, plain, sentence, value_words
from uq_report.reading import sentences
from uq_report.reading.rank_ranges import ranked_features
from uq_report.reading.run_reader import RunReader

from . import made
from .cases import Case, estimates
from .synthetic import make_run

NATS = MeasureFacts("entropy", "nats", "uncertainty")


@pytest.mark.parametrize(
    ("outside", "shown"),
    [
        ("a\x00b\x1f\x7f\x9fc", "abc"),
        ("two\r\n lines\t here ", "two lines here"),
        ("safe\u202eevil\u2066x", "safe[U+202E]evil[U+2066]x"),
        ("e\u0301", "é"),
        ("\ud800x\ufffe", "[U+D800]x"),
        ("中 \U0001f680 ✔", "[U+4E2D] [U+1F680] ✔"),
        (3.5, "3.5"),
    ],
)
def test_outside_text_becomes_one_safe_line(outside: object, shown: str) -> None:
    assert clean(outside) == shown


def test_long_text_is_cut_visibly() -> None:
    assert len(clean("x" * 10**6)) == MAX_TEXT
    assert clean("x" * 10**6).endswith("…")
    assert short("a" * 30 + "z" * 30, 11) == "aaaaa…zzzzz"
    assert len(name("y" * 10_000)) == 60


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.1234, 0.1, 0.15), "0.123 nats (0.100 to 0.150)"),
        ((0.02, 0.0004, 0.06), "0.0200 nats (0.0004 to 0.0600)"),
        ((1234.0, 1100.0, 1400.0), "1230 nats (1100 to 1400)"),
        ((0.5, np.nan, np.nan), "0.500 nats"),
        ((0.0, 0.0, 0.0), "0 nats"),
        ((np.nan, np.nan, np.nan), "no number"),
    ],
)
def test_estimates_carry_the_digits_their_interval_allows(numbers: tuple[float, float, float], text: str) -> None:
    assert value_words(*numbers, "nats") == text


def test_an_interval_off_zero_never_reads_as_touching_it() -> None:
    assert interval(0.0004, 0.06) == "0.0004 to 0.0600"
    assert interval(-0.06, -0.0004) == "−0.0600 to −0.0004"


def test_sentences_and_lists() -> None:
    assert sentence("it failed") == "It failed."
    assert sentence("") == ""
    assert sentence("Really?") == "Really?"
    assert joined([]) == ""
    assert joined(["a"]) == "a"


def profile_ends(low: tuple[float, float], high: tuple[float, float]) -> str:
    rows = [
        {
            "measure": "entropy",
            "feature": "a",
            "estimate": sum(ends) / 2,
            "lower": ends[0],
            "upper": ends[1],
            "x": x,
            "level": "",
        }
        for x, ends in ((1.0, low), (2.0, high))
    ]
    return sentences.range_words(estimates(rows, confidence=0.95, covers="new test samples"), NATS)


def test_ends_of_a_profile_are_only_called_apart_if_their_intervals_are() -> None:
    assert profile_ends((0.1, 0.2), (0.3, 0.4)).endswith("at 2.")
    assert profile_ends((0.1, 0.3), (0.2, 0.4)).endswith("the two intervals overlap.")


def test_verdicts_are_counted_and_without_them_the_intervals() -> None:
    table = made.importance(Case()).estimates.query("measure == 'nll'")
    counts = table["verdict"].value_counts()
    told = sentences.verdict_words(table)
    assert told.startswith(f"Of {len(table)} features: {counts['positive']} positive")
    bare = table.drop(columns="verdict").assign(lower=[-1.0, *[0.1] * (len(table) - 1)], upper=1.0)
    assert (
        sentences.verdict_words(bare)
        == "Of 9 features: 8 with an interval above 0 and 1 with an interval that contains 0."
    )


def importances(*lines: tuple[str, float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["feature", "estimate", "lower", "upper"])


def test_places_are_those_that_intervals_leave_and_ties_without_them() -> None:
    run = make_run(Case())
    sure = importances(("a", 0.9, 0.8, 1.0), ("b", 0.5, 0.3, 0.7), ("c", 0.4, 0.2, 0.6), ("d", 0.1, 0.0, 0.21))
    told = {feature: place.words for feature, place in ranked_features(run, "other", "m", sure).items()}
    assert told == {"a": "1", "b": "2 to 3", "c": "2 to 4", "d": "3 to 4"}
    turned = {feature: place.words for feature, place in ranked_features(run, "other", "m", sure, -1).items()}
    assert turned == {"a": "4", "b": "2 to 3", "c": "1 to 3", "d": "1 to 2"}
    bare = importances(*((f, value, np.nan, np.nan) for f, value in (("a", 0.2), ("b", 0.1), ("c", 0.1))))
    told = {feature: place.words for feature, place in ranked_features(run, "other", "m", bare).items()}
    assert told == {"a": "1", "b": "tied, 2 to 3", "c": "tied, 2 to 3"}


@pytest.mark.parametrize("value", [-0.0, -1e-9])
def test_what_is_rounded_to_zero_has_no_sign(value: float) -> None:
    assert value_words(value, -0.03, 0.06) == "0.000 (−0.030 to 0.060)"
    assert plain(-0.0) == "0"


def test_captions_say_which_interval_or_that_there_is_none() -> None:
    table = estimates(
        [{"measure": "m", "feature": "a", "estimate": 1.0, "lower": 0.5, "upper": 1.5}],
        confidence=0.9,
        covers="new test samples",
    )
    assert blocks.intervals_caption(table) == "Intervals: 90% CI over new test samples."
    assert "the method provides none" in blocks.intervals_caption(table.assign(lower=np.nan, upper=np.nan))


def test_omissions_say_what_is_missing() -> None:
    assert blocks.omission_words("nll", "it is infinite", ["age"]) == "nll of age: it is infinite."
    assert blocks.omission_words("", "no rows", [""]) == "everything: no rows."


def test_omissions_of_one_reason_are_one_line_and_many_are_cut() -> None:
    gaps = tuple(Omission("nll", feature, "it is infinite") for feature in "abc")
    gaps += tuple(Omission(f"m{k}", "", "why not") for k in range(7))
    (told,) = blocks.left_out(replace(made.importance(Case()), omissions=gaps))
    assert told.items[0] == "Omitted: nll of a, b and c: it is infinite."
    assert told.items[-1] == "3 further omissions: see “Not run, with reasons”."
    assert blocks.left_out(made.importance(Case()), None) == ()


def test_a_prediction_is_told_in_the_words_of_its_model() -> None:
    def unit(case: Case) -> str:
        e = RunReader(make_run(case))
        return e.words("prediction").unit

    assert unit(Case()) == "probability of bad"
    assert unit(Case(task="regression")) == "units of the outcome"


def test_absent_evidence_is_never_a_pass() -> None:
    gate = RunReader(make_run(Case(gate="not assessed"))).gate
    assert (gate.word, gate.tone) == ("not tested", "unknown")
