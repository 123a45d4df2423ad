"""Runs of many rows keep the terms of some: which, that nothing else changes, and that differences stay paired."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic, Importance, RowValues
from uq_report.core.support.errors import InputError
from uq_report.evidence import codec, ids
from uq_report.evidence.run import Run
from uq_report.runner.differences import (
    BOUND,
    LEAST_ROWS,
    MOST_ROWS,
    NUMBERS,
    PAIRED,
    as_saved,
    differences,
    kept_rows,
    with_kept_rows,
)

from ..ops import store_runs
from .test_changes import importance, run

N = 20_000


def terms(seed: int, n: int = N, features: int = 3) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return row terms of features, alike in all seeds but for noise of a tenth."""
    shared = np.random.default_rng(0).normal(0.1, 1, (features, n))
    return shared + 0.1 * np.random.default_rng(seed).normal(size=(features, n))


def few(result: Importance) -> Run:
    return with_kept_rows(run(result))


def values(of: Run) -> RowValues:
    rows = of.result("pfi").rows
    assert rows is not None
    return rows


@pytest.mark.parametrize(("features", "most"), [(3, MOST_ROWS), (500, NUMBERS // 500), (1500, LEAST_ROWS)])
def test_a_run_keeps_so_many_rows_and_all_if_there_are_no_more(features: int, most: int) -> None:
    for n, left in ((most, most), (most + 1, most)):
        result = importance(terms(1, n, features))
        rows = values(few(result))
        assert rows.values.shape == (1, features, left)
        assert rows.n == n
        assert (rows.sample is None) == (left == n)
        full = result.rows
        assert full is not None
        np.testing.assert_allclose(rows.values, full.values[:, :, rows.positions], rtol=1e-9)


def test_what_is_kept_says_so_and_comes_back_byte_by_byte() -> None:
    one = replace(few(importance(terms(1))), subject=store_runs.full().subject)
    assert one.result("pfi").notes[-1] == (
        "Of the values by observation, run.json keeps those of 2,000 of the 20,000 observations, drawn at random."
    )
    read = codec.loads(codec.dumps(one))
    assert codec.dumps(read) == codec.dumps(one)
    assert np.array_equal(values(read).values, values(one).values)
    full = run(importance(terms(1))).result("pfi").rows
    assert full is not None
    assert values(read).mean("nll", "b") == pytest.approx(full.mean("nll", "b"), rel=1e-9)
    assert len(codec.dumps(one)) < 0.12 * len(codec.dumps(run(importance(terms(1)))))
    assert codec.dumps(with_kept_rows(one)) == codec.dumps(one)


def test_runs_of_few_rows_are_written_as_before() -> None:
    small = run(importance(terms(1, 50)))
    assert codec.dumps(with_kept_rows(small)) == codec.dumps(small)
    content = json.loads(codec.dumps(small))
    assert set(content["results"][0]["rows"]) == {"measures", "features", "shape", "values"}


def test_rows_that_no_later_run_compares_are_not_kept() -> None:
    own = importance(terms(1, 50))
    other = Diagnostic(
        id="pfi.delta",
        explainer="pfi",
        title="Changes",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=own.estimates[:0],
        rows=own.rows,
    )
    whole = replace(run(own), results=(own, other))
    left = with_kept_rows(whole)
    assert values(left) is own.rows
    assert left.result("pfi.delta").rows is None
    assert left.result("pfi.delta").notes[-1].endswith("keeps none, as no later run compares them.")
    assert codec.dumps(with_kept_rows(left)) == codec.dumps(left)


def test_adjusted_importances_keep_the_rows_of_their_own_and_are_compared_by_all() -> None:
    full = []
    for seed in (1, 2):
        plain, adjusted = importance(terms(seed, 200)), importance(terms(seed, 200))
        assert adjusted.rows is not None
        adjusted.rows.values[:, 0] += 0.1
        own = importance(adjusted.rows.values[0])
        full.append(replace(run(plain), results=(plain, replace(own, id=ids.COVER))))
    kept = [with_kept_rows(one) for one in full]
    rows = kept[0].result(ids.COVER).rows
    assert rows is not None
    assert rows.features == ("a",)
    assert kept[0].result(ids.COVER).notes[-1] == "Values by observation that are those of pfi are kept there."
    assert differences(*kept) == differences(*full)
    assert {value.interval for value in differences(*kept)[0]} == {f"95%, {PAIRED}"}
    alike = [replace(one, results=(one.results[0], replace(one.results[0], id=ids.COVER))) for one in full]
    assert with_kept_rows(alike[0]).result(ids.COVER).rows is None
    assert differences(*map(with_kept_rows, alike)) == differences(*alike)


def test_the_challenger_keeps_as_many() -> None:
    both = with_kept_rows(replace(run(importance(terms(1))), challenger=run(importance(terms(2)))))
    assert both.challenger is not None
    assert values(both.challenger).values.shape[2] == MOST_ROWS
    assert np.array_equal(values(both).positions, values(both.challenger).positions)


def test_samples_lie_within_larger_ones_and_favour_no_row() -> None:
    assert set(kept_rows(1000, 30)) <= set(kept_rows(1000, 200))
    assert kept_rows(7, 7).tolist() == list(range(7))
    half = np.concatenate([kept_rows(n, n // 2) / n for n in range(100, 200)])
    assert abs(half.mean() - 0.5) < 0.02
    assert abs((half < 0.1).mean() - 0.1) < 0.02


def test_differences_stay_paired_with_the_error_of_all_rows() -> None:
    full = [run(importance(terms(seed))) for seed in (1, 2)]
    part = [with_kept_rows(one) for one in full]
    every, some = (differences(*pair)[0] for pair in (full, part))
    for a, b in zip(every, some, strict=True):
        assert a.interval == f"95%, {PAIRED}"
        assert b.interval == f"95%, {PAIRED} by 2,000 of 20,000"
        assert b.difference == pytest.approx(a.difference, abs=1e-9)
        assert a.upper is not None
        assert b.upper is not None
        # the sample's standard deviation is within 4/√(2s) of that of all rows
        assert (b.upper - b.difference) / (a.upper - a.difference) == pytest.approx(1, abs=4 / np.sqrt(2 * MOST_ROWS))


def test_a_run_of_all_rows_is_compared_with_one_of_some() -> None:
    whole, some = run(importance(terms(1))), few(importance(terms(2)))
    assert {v.interval for v in differences(whole, some)[0]} == {f"95%, {PAIRED} by 2,000 of 20,000"}


def test_terms_that_are_not_of_the_estimate_or_too_few_are_not_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = few(importance(terms(1))), few(importance(terms(2)))
    result = second.result("pfi")
    assert result.rows is not None
    assert result.rows.sample is not None
    other = replace(result.rows.sample, means=result.rows.sample.means + 0.01)
    off = replace(second, results=(replace(result, rows=replace(result.rows, sample=other)),))
    assert {v.interval for v in differences(first, off)[0]} == {f"95%, {BOUND}"}
    for least, how in ((MOST_ROWS, f"{PAIRED} by 2,000 of 20,000"), (MOST_ROWS + 1, BOUND)):
        monkeypatch.setattr("uq_report.runner.differences.LEAST", least)
        assert {v.interval for v in differences(first, second)[0]} == {f"95%, {how}"}


def test_what_an_audit_gives_is_what_its_file_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explainers and rules read all rows, whatever is kept: nothing but the row values and notes differs."""
    import uq_report as uq
    from uq_report.distributions import Normal

    X = np.random.default_rng(0).normal(size=(60, 2))
    subject = uq.explain(lambda rows: Normal(rows[:, 0], np.exp(rows[:, 1])), X, X[:, 0])
    chosen: dict[str, Any] = {"explainers": ("pfi", "agreement"), "as_of": "2026-01-01"}
    whole = uq.audit(subject, **chosen).run
    monkeypatch.setattr("uq_report.runner.differences.LEAST_ROWS", 10)
    monkeypatch.setattr("uq_report.runner.differences.NUMBERS", 0)
    some = uq.audit(subject, **chosen).run
    assert values(some).values.shape[2] == 10
    assert codec.dumps(codec.loads(codec.dumps(some))) == codec.dumps(some)
    bare = [replace(one, results=tuple(replace(r, rows=None, notes=()) for r in one.results)) for one in (whole, some)]
    assert codec.dumps(bare[0]) == codec.dumps(bare[1])


def test_values_of_which_a_sample_will_be_kept_stay_as_they_are() -> None:
    many, some = importance(terms(1)), importance(terms(1, MOST_ROWS))
    assert as_saved(many).rows is many.rows
    rounded = as_saved(some).rows
    assert rounded is not None
    assert some.rows is not None
    np.testing.assert_array_equal(rounded.values, np.vectorize(lambda x: float(f"{x:.10g}"))(some.rows.values))
    assert as_saved(many).estimates.equals(codec.as_saved(many).estimates)
    infinite = replace(many, rows=replace(values(run(many)), values=np.full((1, 3, N), np.inf)))
    with pytest.raises(InputError, match="must be finite to be saved"):
        as_saved(infinite)
