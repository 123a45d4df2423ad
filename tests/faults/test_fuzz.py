"""Any audit ends with a run whose page prints no NaN and whose warnings stay inside, or with one error of ours."""

from __future__ import annotations

import io
import os
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import uq_report as uq
from uq_report.core.support.errors import UQReportError
from uq_report.evidence import codec
from uq_report.evidence.run import Run

pytest.importorskip("hypothesis", reason="fuzzing needs hypothesis")

from hypothesis import HealthCheck, Phase, given, settings

from .strategies import SPEAKS, Case, cases, tables

FORMATS = ("html", "markdown", "junit")
FEW = 16
MANY = 4 * int(os.environ.get("UQ_STUDY_REPS", "75"))
NO_NUMBER = re.compile(r"(?<![\w-])[-−+]?(nan|inf|NaT)(?![\w-])", re.IGNORECASE)
UNSEEN = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.DOTALL)
FOREIGN = re.compile(r"^(it failed: )?\w*(Error|Exception|Warning|Interrupt)\b")


def repeated(examples: int) -> settings:
    """Return settings under which every run draws the same examples; the clock of a busy machine says nothing."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # making an example smaller takes minutes of whole audits
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


def audited(case: Case) -> tuple[Run, str] | UQReportError:
    """Return the run of a case and its page (of a PDF no text), or the error of ours that ended it."""
    try:
        subject = uq.explain(case.model, **case.given)
        audit = uq.audit(subject, progress=False, as_of="2026-01-01", **case.settings)
        page = audit.render(**case.style)
        return audit.run, "" if case.style["format"] == "pdf" else page.decode()
    except UQReportError as error:
        return error


def holds(case: Case) -> None:
    """Fail unless an audit ends as it should."""
    printed, state, before = io.StringIO(), np.random.get_state(), case.given["X"].copy()  # noqa: NPY002 - it is watched
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        ended = audited(case)
    leaked = [f"{one.filename}:{one.lineno}: {one.message}" for one in warned if SPEAKS not in str(one.message)]
    assert not leaked, leaked
    assert printed.getvalue().replace(SPEAKS, "").split() == [], printed.getvalue()
    assert all(np.array_equal(old, new) for old, new in zip(state, np.random.get_state(), strict=True))  # noqa: NPY002
    assert before.equals(case.given["X"])
    if isinstance(ended, UQReportError):
        assert str(ended).strip()
        assert not FOREIGN.match(str(ended)), ended
        return
    run, page = ended
    assert [one for one in run.not_run if FOREIGN.match(one.reason)] == []
    assert NO_NUMBER.findall(UNSEEN.sub(" ", page)) == []
    assert codec.dumps(codec.loads(codec.dumps(run), "run.json")) == codec.dumps(run)


@repeated(FEW // 4)
@given(tables())
def test_an_odd_table_is_audited_by_all_explainers_or_refused(case: Case) -> None:
    holds(case)


@pytest.mark.study
@repeated(MANY)
@given(tables())
def test_many_odd_tables_are_audited_by_all_explainers_or_refused(case: Case) -> None:
    holds(case)


@repeated(FEW)
@given(cases(FORMATS))
def test_an_audit_of_anything_ends_as_it_should(case: Case) -> None:
    holds(case)


@pytest.mark.study
@repeated(MANY)
@given(cases((*FORMATS, "pdf")))
def test_many_audits_of_anything_end_as_they_should(case: Case) -> None:
    holds(case)
