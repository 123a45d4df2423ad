"""What a mail after a run says, and whether one is due: once when something changes, and once when it is over.

What was mailed last is kept beside the audit's runs in its history; nothing of it enters the chain of hashes, and
without it everything is told again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.support.text import clean
from ..document.text import unmarked
from ..evidence.canonical import canonical
from ..evidence.finding import Finding
from ..jobs.audit_file import EmailPart
from .history import put

MOST = 30  # findings in a mail
KILLED = 137  # as a shell says it of a killed process, which itself says nothing
_LARGEST = 1_000_000  # bytes of a file of what was mailed


@dataclass(frozen=True)
class RunEnd:
    """How a run ended, for those who are told.

    Parameters
    ----------
    name : str
        Of the audit.
    exit_code : int
    summary : mapping
        As `gates.summary` gives it; of a run that failed, its exit code and reasons.
    reports : tuple of Path
        The report files; empty for a run that failed.
    open : tuple of Finding
        The open findings.
    served : Path, optional
        The folder that `email.link` leads to: the history, or that of the report.
    unchanged : bool
        Nothing differed from the run before, so that there was nothing to do.
    """

    name: str
    exit_code: int
    summary: Mapping[str, Any] = field(default_factory=dict)
    reports: tuple[Path, ...] = ()
    open: tuple[Finding, ...] = ()
    served: Path | None = None
    unchanged: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is no report."""
        return self.exit_code > 1

    def link(self, part: EmailPart) -> str:
        """Return the address of the report, below `part.link` if that is given; empty where there is none."""
        if not self.reports:
            return ""
        report = next((file for file in self.reports if file.suffix == ".html"), self.reports[0])
        if part.link is None or self.served is None:
            return report.resolve().as_uri()
        return f"{part.link.rstrip('/')}/{quote(report.resolve().relative_to(self.served.resolve()).as_posix())}"


@dataclass(frozen=True)
class State:
    """What those who get mails know of an audit.

    Parameters
    ----------
    code : int
        The exit code.
    why : str
        Its reasons, without their numbers, which differ from run to run.
    findings : mapping of str to str
        Open findings: code, severity and features to the sentence.
    """

    code: int = 0
    why: str = ""
    findings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, ended: RunEnd, before: State | None) -> State:
        """Return what a run leaves to be known; of a run that failed, the findings are those known before."""
        why = re.sub(r"\d+", "", " ".join(ended.summary.get("reasons", ())))
        known = {} if before is None else before.findings
        return cls(ended.exit_code, why, known if ended.failed else dict(map(_told, ended.open)))

    @property
    def failure(self) -> tuple[int, str]:
        """What tells a failure from another; of a run that has a report, none."""
        return (self.code, self.why) if self.code > 1 else (0, "")

    @property
    def alarm(self) -> tuple[int, str, frozenset[str]]:
        """What tells a state from another: its failure, its gate, and which findings are open."""
        return (self.code, self.why, frozenset(self.findings))


def never_ended(name: str, started: str, how: str) -> RunEnd:
    """Return the end of a run that was killed: when it began, as far as that is known, and how it came to that."""
    when = f" at {started}" if started else ""
    return RunEnd(name, KILLED, {"exit_code": KILLED, "reasons": [f"A run started{when} and never ended: {how}."]})


def is_due(part: EmailPart, ended: RunEnd, before: State | None) -> bool:
    """Say whether a run that ended so has a mail.

    ``when = "findings"`` means that the open findings, the gate's reasons, or a failure are others than those mailed
    last, ``"failure"`` that a failure is (no report was made); one that is over is another. Where nobody knows what
    was mailed, everything that there is counts. ``"always"`` is each run that made a report, too.
    """
    known, now = before or State(), State.of(ended, before)
    if part.when == "failure":
        return now.failure != known.failure
    return now.alarm != known.alarm or (part.when == "always" and not (ended.unchanged or ended.failed))


def subject(ended: RunEnd, before: State | None) -> str:
    """Return one line that says how a run ended, and what that changes."""
    name = clean(ended.name, 80)
    if ended.exit_code == KILLED:
        return f"{name}: the audit was started and never ended"
    if ended.failed:
        return f"{name}: the audit failed (exit code {ended.exit_code})"
    counts = {severity: int(number) for severity, number in ended.summary.get("findings", {}).items() if number}
    findings = ", ".join(f"{number} {severity}" for severity, number in counts.items()) or "no open findings"
    changed = "" if before is None else ", ".join(_counts(State.of(ended, before), before))
    again = "the audit runs again, " if before is not None and before.code > 1 else ""
    rating = clean(ended.summary.get("rating", "done"), 40)
    return f"{name}: {again}{rating}, {findings}{changed and f' ({changed})'}"


def body(part: EmailPart, ended: RunEnd, before: State | None) -> str:
    """Return the text of a mail: what a reader must know before opening the report, what is new first."""
    summary = ended.summary
    lines = [subject(ended, before), ""]
    lines += [f"- {clean(reason)}" for reason in summary.get("reasons", ())]
    findings = [] if ended.failed else list(_findings(State.of(ended, before), before))
    lines += findings[:MOST]
    if len(findings) > MOST:
        lines.append(f"... and {len(findings) - MOST} more: see the report.")
    lines += [f"Not run: {clean(name)}: {clean(why)}" for name, why in summary.get("not_run", {}).items()]
    facts = {
        "As of": summary.get("as_of"),
        "Report": ended.link(part),
        "Folder": summary.get("folder"),
        "SHA-256 of run.json": summary.get("run_sha256"),
    }
    lines += [f"{label}: {clean(fact)}" for label, fact in facts.items() if fact]
    return "\n".join(lines) + "\n"


def _told(finding: Finding) -> tuple[str, str]:
    """Return what tells a finding from others, and its sentence."""
    about = f", {', '.join(map(clean, finding.features))}" if finding.features else ""
    return f"{finding.code} ({finding.severity}){about}", clean(unmarked(finding.statement), 500)


def _findings(now: State, before: State | None) -> Iterator[str]:
    """Yield a line for each finding: those that are new, those that are still open, and those that are not."""
    known = {} if before is None else before.findings
    new = {key: text for key, text in now.findings.items() if key not in known}
    yield from (f"{'Open' if before is None else 'New'}: {key}: {text}" for key, text in new.items())
    yield from (f"Still open: {key}: {text}" for key, text in now.findings.items() if key in known)
    yield from (f"Over: {key}: {text}" for key, text in known.items() if key not in now.findings)


def _counts(now: State, before: State) -> Iterator[str]:
    """Yield how many findings are new, and how many are over."""
    if new := len(now.findings.keys() - before.findings.keys()):
        yield f"{new} new"
    if over := len(before.findings.keys() - now.findings.keys()):
        yield f"{over} over"


def read(file: Path | None) -> State | None:
    """Return what was mailed last, nothing of a new history; None where nobody knows."""
    if file is None:
        return None
    try:
        if file.stat().st_size > _LARGEST:
            return None
        content = json.loads(file.read_bytes())
        findings = {str(key): str(text) for key, text in content["findings"].items()}
        return State(int(content["code"]), str(content["why"]), findings)
    except FileNotFoundError:
        return State()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def keep(file: Path | None, state: State) -> None:
    """Keep what was mailed.

    Raises
    ------
    OSError
        The history cannot be written.
    """
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        put(file, file.with_name(f".new-{file.name}"), canonical(asdict(state)))
