"""Shuffles stop once the numbers are settled: the rule, both sides of its thresholds, and what it leaves alone."""

from dataclasses import replace

import numpy as np
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL
from uq_report.core.support.errors import InputError
from uq_report.methods.pfi.estimator import Estimator
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shared.terms import ImportanceTerms, ShuffledRows

from .pfi_cases import MEASURES, explained, line, repeats, rows, subject, three_features

N = 100


def settled(terms: ImportanceTerms, max_shuffle_variance: float, n: int = N) -> bool:
    """Return whether more shuffles would change little of terms of n rows."""
    rows = ShuffledRows((NLL,), np.zeros((1, n)), np.zeros(n), np.ones(n), None)
    return Estimator(rows, {"nll": 0.01}, 0.95, max_shuffle_variance).settled(terms)


def term(estimate: float, se: float, noise: float) -> ImportanceTerms:
    """Return the terms of one feature with these numbers for nll."""
    values, rows_of = np.full((1, 20), estimate), np.full((1, N), estimate)
    one = np.zeros(1)
    return ImportanceTerms(
        values,
        one + estimate,
        one + se,
        one + noise,
        rows_of,
        rows_of,
        one > 0,
        one,
        np.zeros((1, 2), int),
        one,
        one + N - 1,
        exact=False,
    )


@pytest.mark.parametrize(
    ("estimate", "se", "noise", "expected"),
    [
        (0.5, 0.1, 0.0316, True),  # (0.0316 / 0.1)² is just below a tenth
        (0.5, 0.1, 0.0317, False),
        (0.0, 0.003, 0.0015, True),  # about 0, whatever the share
        (0.003, 0.003, 0.0015, False),  # about 0, but not two errors higher
        (0.25, 0.1, 0.02, True),  # positive, also at 0.21
        (0.225, 0.1, 0.02, False),  # not at 0.185
        (0.1, 0.1, 0.02, True),  # undetermined, from 0.06 to 0.14
        (0.15, 0.1, 0.02, True),  # undetermined, also at 0.19
        (0.17, 0.1, 0.02, False),  # not at 0.21
        (0.1, np.nan, 0.02, False),
        (0.1, 0.1, np.nan, False),
        (np.nan, np.nan, np.nan, True),  # infinite: more shuffles would not make it finite
    ],
)
def test_numbers_are_settled_where_share_and_verdict_are(
    estimate: float, se: float, noise: float, expected: bool
) -> None:
    assert settled(term(estimate, se, noise), 0.1) is expected


def test_few_rows_have_students_intervals() -> None:
    """Of four rows 0.4 and 0.36 are above 3.18 errors, not above the 4.30 of three rows."""
    for n, done in ((4, True), (3, False)):
        assert settled(term(0.4, 0.1, 0.02), 0.1, n) is done


def test_a_share_that_is_just_allowed_is_settled() -> None:
    assert settled(term(5.0, 0.5, 0.25), 0.25)
    assert not settled(term(5.0, 0.5, 0.25), 0.249)


def test_a_larger_share_may_be_allowed_and_all_pairs_have_none() -> None:
    assert settled(term(0.5, 0.1, 0.04), 0.2)
    assert settled(term(0.5, np.nan, 0.0)._replace(exact=True), 0.1)


def test_a_settled_feature_keeps_the_shuffles_it_has() -> None:
    """Its first ones are those of a run without stopping, and its numbers those of a run of as many."""
    of = subject(three_features, *rows(150))
    stopped, plain = explained(of, n_repeats=45)["pfi"], explained(of, n_repeats=45, max_shuffle_variance=0)["pfi"]
    lengths = set()
    for feature in "abc":
        mine, whole = repeats(stopped, "nll", feature), repeats(plain, "nll", feature)
        lengths.add(len(mine))
        np.testing.assert_array_equal(mine, whole[: len(mine)])
        as_many = explained(of, n_repeats=len(mine), max_shuffle_variance=0)["pfi"]
        for measure in ("brier", "nll", "entropy"):
            for column in ("estimate", "std_error", "shuffling_error", "p_value", "verdict"):
                assert line(stopped, measure, feature)[column] == line(as_many, measure, feature)[column]
    assert min(lengths) < 45
    assert lengths <= {20, 30, 40, 45}
    assert stopped.meta["spread"].endswith(
        f"of {min(lengths)} to {max(lengths)} permutations".replace("20 to 20", "20")
    )


def test_the_rows_that_stopping_saves_are_not_predicted() -> None:
    of = subject(three_features, *rows(150))
    engine = Engine(of, MEASURES)
    result = explained(of, engine, n_repeats=200, exact=False)["pfi"]
    shuffles = sum(len(repeats(result, "nll", feature)) for feature in "abc")
    assert engine.rows_predicted["pfi"] == 150 * (1 + shuffles)
    assert shuffles < 300


def test_few_shuffles_and_a_share_of_0_are_made_in_full() -> None:
    of = subject(three_features, *rows(40))
    assert len(repeats(explained(of, n_repeats=20)["pfi"], "nll", "a")) == 20
    assert len(repeats(explained(of, n_repeats=60, max_shuffle_variance=0)["pfi"], "nll", "a")) == 60
    clusters = replace(of, clusters=np.arange(40) // 2)
    within = explained(clusters, n_repeats=25, within_clusters=True)["pfi"]
    assert len(repeats(within, "nll", "a")) == 25
    assert within.estimates["shuffling_error"].isna().all()


def test_a_reader_is_told_the_rule_and_whom_it_stopped() -> None:
    of = subject(three_features, *rows(150))
    notes = " ".join(explained(of, n_repeats=200, exact=False)["pfi"].notes)
    assert "(after 20 to 200) once their random choice has at most 10% of the variance" in notes
    assert "They stopped early for all features." in notes
    assert "stop early" not in " ".join(explained(of, n_repeats=20)["pfi"].notes)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_of_shuffling_is_a_share(share: float) -> None:
    with pytest.raises(InputError, match=r"pfi.max_shuffle_variance must be a number in \[0, 1\)"):
        PermutationImportance(max_shuffle_variance=share)
