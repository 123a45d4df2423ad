"""How a run ends for a pipeline: its exit code with the reasons, and one line of JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.support.errors import Cause
from ..core.support.text import clean, count
from ..document.text import unmarked
from ..evidence import codec
from ..evidence.finding import SEVERITIES, Severity
from ..evidence.run import NotRun, Run
from ..reading.run_reader import RunReader
from ..report.answer.section import because
from ..report.rating import rating, rests_on

_REQUIRED: tuple[Cause, ...] = ("limit", "fault")  # what was cut or broke, rather than did not apply
_VERDICTS = ("found", "passed", "ignored")


def reasons(run: Run, fail_on: Severity | None = None) -> tuple[str, ...]:
    """Say why a run fails: an open finding of at least `fail_on`, or something required that was not measured.

    Waived findings are not open. Of the plugins in the settings' ``require``, those named themselves must have run;
    a distribution must be installed, and that is refused before a run starts. With `fail_on`, what the checks of the
    run read is required as well: the gate fails where a limit cut it or it broke, and where no check came to a
    verdict. What does not apply (no training rows, no protected attribute) or was not chosen is not required.

    Examples
    --------
    >>> from uq_report.evidence.finding import Finding, Outcome
    >>> finding = Finding(code="UQ101", title="", severity="medium", statement="", evidence=("a",), rests_on="")
    >>> outcome = Outcome(check="reliability", state="found", findings=(finding,))
    >>> run = Run(as_of="2026-01-31", subject={}, settings={}, environment={}, outcomes=(outcome,))
    >>> reasons(run), reasons(run, "high")
    ((), ())
    >>> reasons(run, "low")
    ('1 open finding at or above low: UQ101 (medium)',)
    >>> reasons(Run(as_of="2026-01-31", subject={}, settings={}, environment={}), "low")
    ('nothing was measured: no check came to a verdict',)
    """
    gate = () if fail_on is None else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    failing = [f"{finding.code} ({finding.severity})" for finding in run.findings if finding.severity in gate]
    words = f"{count(len(failing), 'open finding')} at or above {fail_on}: {', '.join(dict.fromkeys(failing))}"
    unmeasured = () if fail_on is None else _unmeasured(run)
    return (*([words] if failing else []), *dict.fromkeys((*_required(run), *unmeasured)))


def summary(run: Run, failures: Sequence[str], folder: str | Path) -> dict[str, Any]:
    """Return what a pipeline reads of a run, as JSON values; every severity is there, also with 0."""
    counts = Counter(finding.severity for finding in run.findings)
    return {
        "reasons": list(failures),
        "label": run.subject["label"],
        "as_of": run.as_of,
        "rating": rating(run.outcomes).text,
        "because": unmarked(because(RunReader(run))),
        "rests_on": rests_on(run.outcomes),
        "findings": {severity: counts[severity] for severity in SEVERITIES},
        "waived": sum(len(outcome.waived) for outcome in run.outcomes),
        "checks": {outcome.check: outcome.state for outcome in run.outcomes},
        "not_run": {entry.name: clean(entry.reason) for entry in run.not_run if entry.group == "explainers"},
        "not_reproducible": run.not_reproducible,
        "run_sha256": codec.sha256(run),
        "folder": str(folder),
    }


def _required(run: Run) -> Iterator[str]:
    """Yield a sentence for every required explainer or check that did not run."""
    for word in run.settings.get("require", ()):
        for entry in run.not_run:
            if word in (entry.name, f"{entry.group}.{entry.name}"):
                yield _not_run(entry)


def _unmeasured(run: Run) -> Iterator[str]:
    """Yield a sentence for everything that the checks of a run read, or that reads, and that was cut or broke."""
    if not any(o.state in _VERDICTS or o.undecided for o in run.outcomes):
        yield "nothing was measured: no check came to a verdict"
    for entry in run.not_run:
        if entry.cause in _REQUIRED and _is_read(entry, run):
            yield _not_run(entry)


def _is_read(entry: NotRun, run: Run) -> bool:
    """Say whether a check looked for this explainer's results in vain, or is itself what did not run."""
    return entry.group == "checks" or any(entry.name in outcome.missing for outcome in run.outcomes)


def _not_run(entry: NotRun) -> str:
    return f"required, and not run: {entry.group}.{entry.name}: {clean(entry.reason)}"
