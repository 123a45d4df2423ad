"""Which hooks a run has, and each of them in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.errors import InputError, UQReportError
from ...core.text import clean
from ...jobs.audit_file import HooksPart
from . import copy, mail, webhook

SECRETS = ("UQ_REPORT_SMTP_USER", "UQ_REPORT_SMTP_PASSWORD", "UQ_REPORT_WEBHOOK_SECRET")


@dataclass(frozen=True)
class Ended:
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
    """

    name: str
    exit_code: int
    summary: Mapping[str, Any] = field(default_factory=dict)
    reports: tuple[Path, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether there is no report."""
        return self.exit_code > 1

    @property
    def findings(self) -> dict[str, int]:
        """Open findings by severity, those that there are."""
        return {name: int(number) for name, number in self.summary.get("findings", {}).items() if number}

    @property
    def subject(self) -> str:
        """One line that says how it ended."""
        if self.failed:
            return f"{clean(self.name, 80)}: the audit failed (exit code {self.exit_code})"
        findings = ", ".join(f"{number} {name}" for name, number in self.findings.items()) or "no open findings"
        return f"{clean(self.name, 80)}: {clean(self.summary.get('rating', 'done'), 40)}, {findings}"


def after(hooks: HooksPart, ended: Ended, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Run the hooks that are asked for; return a sentence for each one that failed.

    ``when = "findings"`` means open findings or a failed run, ``"failure"`` a failed run (no report was made).
    """
    failed = []
    for name, act in _actions(hooks, ended, environ) if is_due(hooks, ended) else ():
        try:
            act()
        except UQReportError as error:
            failed.append(str(error))
        except Exception as error:  # noqa: BLE001 - whatever a server does must not cost the report
            failed.append(f"hooks.{name} failed: {_without(f'{type(error).__name__}: {error}', environ)}.")
    return failed


def is_due(hooks: HooksPart, ended: Ended) -> bool:
    """Say whether a run that ended so has hooks."""
    return {"always": True, "findings": bool(ended.findings or ended.exit_code), "failure": ended.failed}[hooks.when]


def refused(hooks: HooksPart) -> list[str]:
    """Return what is wrong with hooks, before the audit and not after it."""
    mistakes = []
    checks: tuple[tuple[Any, Callable[[Any], None]], ...] = ((hooks.webhook, webhook.check), (hooks.email, mail.check))
    for part, check in checks:
        try:
            if part:
                check(part)
        except InputError as error:
            mistakes.append(str(error))
    return mistakes


def _actions(hooks: HooksPart, ended: Ended, environ: Mapping[str, str]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the hooks by name; the copy first, since it needs no network."""
    if hooks.folder:
        yield "folder", lambda: copy.copy(Path(hooks.folder), ended.name, ended.reports, ended.summary)
    if hooks.webhook:
        yield "webhook", lambda: webhook.post(hooks.webhook, {**ended.summary, "name": ended.name}, environ)
    if (part := hooks.email) is not None:
        yield "email", lambda: mail.send(part, mail.message(part, ended.subject, _body(ended), ended.reports), environ)


def _body(ended: Ended) -> str:
    """Return the text of a mail: what a reader must know before opening the report."""
    summary = ended.summary
    lines = [ended.subject, ""]
    lines += [f"- {clean(reason)}" for reason in summary.get("reasons", ())]
    lines += [f"Not run: {clean(name)}: {clean(why)}" for name, why in summary.get("not_run", {}).items()]
    facts = {"As of": "as_of", "Report": "folder", "SHA-256 of run.json": "run_sha256"}
    lines += [f"{label}: {clean(summary[key])}" for label, key in facts.items() if summary.get(key)]
    return "\n".join(lines) + "\n"


def _without(text: str, environ: Mapping[str, str]) -> str:
    """Return a text without our secrets, should a server repeat them."""
    for secret in filter(None, map(environ.get, SECRETS)):
        text = text.replace(secret, "***")
    return clean(text, 500)
