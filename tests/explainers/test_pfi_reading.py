"""Wood's reading of the pair, from the verdicts only."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.distributions import Categorical
from uq_report.core.measures import ENTROPY, NLL
from uq_report.core.results import Diagnostic
from uq_report.explainers._pfi_reading import read_pair
from uq_report.explainers._pfi_tables import Tables
from uq_report.explainers._pfi_terms import Rows, Terms

from .pfi_cases import explained, subject


def read(E: str, L: str, *, still: float = 0.0, needed: float = np.nan, se: float = 0.1) -> tuple[str, str]:
    """Return reading and sentence of feature x with these two verdicts."""
    rows = Rows((ENTROPY, NLL), np.zeros((2, 3)), np.zeros(3), np.ones(3), None, exact=False)
    empty: Any = np.zeros((2, 3))
    terms = Terms(empty, empty[:, 0], empty[:, 0], empty, empty, np.zeros(2, dtype=bool), np.full(2, still), empty)
    estimates = pd.DataFrame(
        {
            "measure": ["entropy", "nll"],
            "feature": "x",
            "estimate": [0.5, 0.25],
            "std_error": se,
            "verdict": [E, L],
            "n_needed": needed,
        }
    )
    result = read_pair(Tables(rows, ["x"], [terms], [0.01, 0.01], 0.95, {}, ()), estimates)
    assert isinstance(result, Diagnostic)
    assert result.frame[["measure", "feature", "x", "value"]].to_numpy().tolist() == [["", "x", 0.5, 0.25]]
    return result.frame["item"].item(), result.meta["sentences"]["x"]


@pytest.mark.parametrize(
    ("E", "L", "item", "words"),
    [
        ("about 0", "about 0", "uninformative here", "uninformative on these rows"),
        ("about 0", "positive", "informative, not shared", "can be trusted"),
        ("positive", "positive", "informative, shared", "under-reports"),
        ("positive", "about 0", "copy or spurious link", "a copy of another feature, or a spurious link"),
        ("about 0", "negative", "better without it", "over-fitted to x"),
        ("positive", "negative", "better without it", "over-fitted to x"),
        ("negative", "about 0", "extrapolation alarm", "more confident on shuffled values of x"),
        ("negative", "positive", "extrapolation alarm", "more confident on shuffled values of x"),
        ("negative", "negative", "extrapolation alarm, better without it", "over-fitted to x"),
    ],
)
def test_every_decided_pair_has_its_reading(E: str, L: str, item: str, words: str) -> None:
    said, sentence = read(E, L)
    assert said == item
    assert words in sentence
    assert "does not use it" not in sentence


@pytest.mark.parametrize("verdict", ["about 0", "positive", "negative", "undetermined"])
def test_undetermined_if_either_is(verdict: str) -> None:
    assert read("undetermined", verdict)[0] == "undetermined"
    assert read(verdict, "undetermined")[0] == "undetermined"


def test_an_undetermined_pair_names_the_measure_and_the_rows_it_takes() -> None:
    assert read("undetermined", "positive", needed=1200.0)[1] == (
        "These rows do not decide the entropy importance of x. About 1200 rows would."
    )
    assert "the entropy and the likelihood importance" in read("undetermined", "undetermined")[1]
    assert read("undetermined", "undetermined", se=np.nan)[1].startswith("Without an interval")


def test_not_used_is_said_only_where_no_row_changed() -> None:
    assert "does not use it" in read("about 0", "about 0", still=1.0)[1]
    assert "does not use it" not in read("about 0", "about 0", still=0.99)[1]


def test_a_binary_model_of_two_copies_is_read_as_shared() -> None:
    """Two noisy copies of one signal: shuffling either costs confidence and likelihood; a third is apart."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=600)
    X = np.column_stack(
        [signal + 0.2 * rng.normal(size=600), signal + 0.2 * rng.normal(size=600), rng.normal(size=600)]
    )

    def model(rows: Any) -> Categorical:
        p = 1 / (1 + np.exp(-(3 * rows[:, 0] + 3 * rows[:, 1])))
        return Categorical(np.column_stack([1 - p, p]))

    y = (rng.random(600) < model(X).mean()).astype(int)
    items = explained(subject(model, X, y))["pfi.reading"].frame.set_index("feature")["item"]
    assert items.to_dict() == {"a": "informative, shared", "b": "informative, shared", "c": "uninformative here"}
