"""The reading of the pair on two axes, from the verdicts only."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.measures import ENTROPY, NLL
from uq_report.core.model.results import Diagnostic
from uq_report.distributions import Categorical
from uq_report.methods.pfi.estimator import Estimator
from uq_report.methods.pfi.tables import ShuffleTables, read_pair
from uq_report.methods.shared.rows import ShuffledRows
from uq_report.methods.shared.terms import ImportanceTerms

from .pfi_cases import explained, subject


def read(
    E: str, L: str, *, still: float = 0.0, needed: float = np.nan, se: float = 0.1, why: str = ""
) -> tuple[str, str]:
    """Return reading and sentence of feature x with these two verdicts."""
    rows = ShuffledRows((ENTROPY, NLL), np.zeros((2, 3)), np.zeros(3), np.ones(3), None)
    empty: Any = np.zeros((2, 3))
    none, zero = empty[:, 0], np.zeros(2, dtype=bool)
    terms = ImportanceTerms(
        empty, none, none, none, empty, empty, zero, np.full(2, still), empty, none, none, exact=False
    )
    estimates = pd.DataFrame(
        {
            "measure": ["entropy", "nll"],
            "feature": "x",
            "estimate": [0.5, 0.25],
            "std_error": se,
            "verdict": [E, L],
            "n_needed": needed,
            "unreliable": ["", why],
        }
    )
    result = read_pair(ShuffleTables(Estimator(rows, {}, 0.95, 0.1), ["x"], [terms], {}, ()), estimates)
    assert isinstance(result, Diagnostic)
    assert result.frame[["measure", "feature", "x", "value"]].to_numpy().tolist() == [["", "x", 0.5, 0.25]]
    return result.frame["item"].item(), result.meta["sentences"]["x"]


WORSE, AS_GOOD, BETTER = "predicts worse by 0.25 nats", "predicts no worse", "predicts better by 0.25 nats"
LESS, AS_SURE, SURER = "becomes less sure by 0.5 nats", "is as sure as before", "becomes surer by 0.5 nats"


@pytest.mark.parametrize(
    ("E", "L", "item", "loss", "doubt"),
    [
        ("about 0", "positive", "matters for the loss, not for the doubt", WORSE, AS_SURE),
        ("positive", "positive", "matters, and the model notices", WORSE, LESS),
        ("negative", "positive", "matters for the loss, surer when shuffled", WORSE, SURER),
        ("positive", "about 0", "less sure without predicting worse", AS_GOOD, LESS),
        ("about 0", "about 0", "matters for neither on its own", AS_GOOD, AS_SURE),
        ("negative", "about 0", "surer when shuffled", AS_GOOD, SURER),
        ("about 0", "negative", "predicts better when shuffled", BETTER, AS_SURE),
        ("positive", "negative", "predicts better when shuffled, less sure", BETTER, LESS),
        ("negative", "negative", "predicts better when shuffled, surer", BETTER, SURER),
    ],
)
def test_every_decided_pair_has_its_reading(E: str, L: str, item: str, loss: str, doubt: str) -> None:
    label, sentence = read(E, L)
    assert label == item
    assert sentence.startswith("With wrong values of x the model ")
    assert loss in sentence
    assert doubt in sentence
    assert ("cannot be judged from these rows" in sentence) == (E == "negative")
    assert not re.search("shares|cop(y|ies)|over-fit|means little|does not use it", sentence)


@pytest.mark.parametrize("verdict", ["about 0", "positive", "negative", "undetermined"])
def test_undetermined_if_either_is(verdict: str) -> None:
    assert read("undetermined", verdict)[0] == "undetermined"
    assert read(verdict, "undetermined")[0] == "undetermined"


def test_an_undetermined_pair_names_the_measure_and_the_rows_it_takes() -> None:
    assert read("undetermined", "positive", needed=1200.0)[1] == (
        "The entropy importance of x is inconclusive (n = 3). About 1,200 observations give 80% power if it is 0."
    )
    assert read("undetermined", "positive", needed=3.0)[1] == "The entropy importance of x is inconclusive (n = 3)."
    assert "The entropy and the likelihood importance of x is" in read("undetermined", "undetermined")[1]
    assert read("undetermined", "undetermined", se=np.nan)[1].startswith("Without an interval")


def test_an_interval_that_is_not_to_be_trusted_says_why_and_names_no_rows() -> None:
    few = "few events (7 of 800 rows)"
    assert read("positive", "undetermined", needed=2286.0, why=few)[1] == (
        f"The likelihood importance of x is inconclusive (n = 3). The likelihood interval is not to be trusted: {few}."
    )


def test_not_used_is_said_only_where_no_row_changed() -> None:
    assert "does not use it" in read("about 0", "about 0", still=1.0)[1]
    assert "does not use it" not in read("about 0", "about 0", still=0.99)[1]


def test_a_binary_model_notices_when_one_of_two_copies_is_wrong() -> None:
    """Two noisy copies of one signal: shuffling either costs confidence and likelihood; a third is not used."""
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
    both = "matters, and the model notices"
    assert items.to_dict() == {"a": both, "b": both, "c": "matters for neither on its own"}
