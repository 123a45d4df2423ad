"""A mail after a run, over STARTTLS or TLS with the server's certificate checked; off unless ``[email]`` asks for it.

Secrets come from the environment alone. A mail that fails is reported; it changes neither the report nor the exit code,
because the audit itself is done. A run that found nothing changed has none. Whatever else is to happen after a run,
the exit code and ``--json``, or `uq.run`, say all that it needs.
"""

from __future__ import annotations

import os
import smtplib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from typing import Any

from ..core.errors import InputError
from ..core.text import clean
from ..jobs.audit_file import EmailPart

USER, PASSWORD = "UQ_REPORT_SMTP_USER", "UQ_REPORT_SMTP_PASSWORD"
SECONDS = 30.0
MAX_ATTACHED = 20_000_000  # bytes; many servers refuse more
_TYPES = {
    ".html": ("text", "html"),
    ".pdf": ("application", "pdf"),
    ".md": ("text", "markdown"),
    ".xml": ("text", "xml"),
}


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


def refused(part: EmailPart | None) -> list[str]:
    """Return what is wrong with the addresses, before the audit and not after it.

    One that holds a line break cannot become a header.
    """
    if part is None:
        return []
    addresses = (("sender", part.sender), *(("to", recipient) for recipient in part.to))
    return [
        f"email.{key} must be an address such as risk@example.org; got {address!r}."
        for key, address in addresses
        if not _is_address(address)
    ]


def _is_address(text: str) -> bool:
    try:
        return not any(ord(character) < 32 for character in text) and bool(Address(addr_spec=text).domain)
    except (ValueError, IndexError, MessageError):
        return False


def send_after(part: EmailPart | None, ended: Ended, environ: Mapping[str, str] = os.environ) -> str:
    """Send the mail of a run, if one is due; return a sentence if that failed, else nothing.

    ``when = "findings"`` means open findings or a failed run, ``"failure"`` a failed run (no report was made).
    """
    if part is None or not is_due(part, ended):
        return ""
    try:
        send(part, message(part, ended.subject, _body(ended), ended.reports), environ)
    except InputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever a server does must not cost the report
        text = f"{type(error).__name__}: {error}"
        for secret in filter(None, map(environ.get, (USER, PASSWORD))):  # should a server repeat them
            text = text.replace(secret, "***")
        return f"email failed: {clean(text, 500)}."
    return ""


def is_due(part: EmailPart, ended: Ended) -> bool:
    """Say whether a run that ended so has a mail."""
    return {"always": True, "findings": bool(ended.findings or ended.exit_code), "failure": ended.failed}[part.when]


def _body(ended: Ended) -> str:
    """Return the text of a mail: what a reader must know before opening the report."""
    summary = ended.summary
    lines = [ended.subject, ""]
    lines += [f"- {clean(reason)}" for reason in summary.get("reasons", ())]
    lines += [f"Not run: {clean(name)}: {clean(why)}" for name, why in summary.get("not_run", {}).items()]
    facts = {"As of": "as_of", "Report": "folder", "SHA-256 of run.json": "run_sha256"}
    lines += [f"{label}: {clean(summary[key])}" for label, key in facts.items() if summary.get(key)]
    return "\n".join(lines) + "\n"


def message(part: EmailPart, subject: str, body: str, reports: Sequence[Path]) -> EmailMessage:
    """Return the mail, with the reports if they are asked for and not too large together."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = part.sender, ", ".join(part.to), clean(subject, 200)
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain=part.sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic answers
    files = [(file, file.read_bytes()) for file in reports] if part.attach else []
    if sum(len(data) for _, data in files) > MAX_ATTACHED:
        body, files = f"{body}\nThe report is too large to attach.\n", []
    mail.set_content(body)
    for file, data in files:
        maintype, subtype = _TYPES.get(file.suffix, ("application", "octet-stream"))
        mail.add_attachment(data, maintype=maintype, subtype=subtype, filename=file.name)
    return mail


def send(part: EmailPart, mail: EmailMessage, environ: Mapping[str, str]) -> None:
    """Send a mail; user and password come from the environment, and never travel in the clear.

    Raises
    ------
    InputError
        There is a password, and the connection is not encrypted.
    OSError, smtplib.SMTPException
        The server cannot be reached, or refuses.
    """
    user, password = environ.get(USER, ""), environ.get(PASSWORD, "")
    if user and part.security == "none":
        raise InputError(
            "email.security must be starttls or tls where UQ_REPORT_SMTP_USER is set; got 'none'. A password "
            "would travel in the clear."
        )
    context = ssl.create_default_context()
    with _connected(part, context) as server:
        if part.security == "starttls":
            server.starttls(context=context)
        if user:
            server.login(user, password)
        server.send_message(mail)


def _connected(part: EmailPart, context: ssl.SSLContext) -> smtplib.SMTP:
    if part.security == "tls":
        return smtplib.SMTP_SSL(part.host, part.port, timeout=SECONDS, context=context)
    return smtplib.SMTP(part.host, part.port, timeout=SECONDS)
