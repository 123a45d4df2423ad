"""A mail after a run, over STARTTLS or TLS with the server's certificate checked; off unless ``[email]`` asks for it.

Secrets come from the environment alone. A mail that fails is reported; it changes neither the report nor the exit code,
because the audit itself is done. What it says and when one is due is `alerts`. Whatever else is to happen after a run,
the exit code and ``--json``, or `uq.run`, say all that it needs.
"""

from __future__ import annotations

import os
import re
import smtplib
import ssl
from collections.abc import Mapping, Sequence
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path

from ..core.support.errors import InputError
from ..core.support.text import clean
from ..jobs.audit_file import EmailPart
from . import alerts
from .alerts import RunEnd

USER, PASSWORD = "UQ_REPORT_SMTP_USER", "UQ_REPORT_SMTP_PASSWORD"
SECONDS = 30.0
MAX_ATTACHED = 20_000_000  # bytes; many servers refuse more
_TYPES = {
    ".html": ("text", "html"),
    ".pdf": ("application", "pdf"),
    ".md": ("text", "markdown"),
    ".xml": ("text", "xml"),
}


def refused(part: EmailPart | None) -> list[str]:
    """Return what is wrong with the addresses, before the audit and not after it.

    A mailbox that holds a line break cannot become a header.
    """
    if part is None:
        return []
    addresses = (("sender", part.sender), *(("to", recipient) for recipient in part.to))
    mistakes = [
        f"email.{key} must be an address such as risk@example.org; got {address!r}."
        for key, address in addresses
        if not _is_address(address)
    ]
    if part.link is not None and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", part.link):
        mistakes.append(
            "email.link must be the address that a folder is served under, such as https://reports.example.org; got "
            f"{clean(part.link)!r}."
        )
    return mistakes


def _is_address(text: str) -> bool:
    try:
        return not any(ord(character) < 32 for character in text) and bool(Address(addr_spec=text).domain)
    except (ValueError, IndexError, MessageError):
        return False


def send_after(
    part: EmailPart | None, ended: RunEnd, file: Path | None = None, environ: Mapping[str, str] = os.environ
) -> str:
    """Send the mail of a run, if one is due; return a sentence if that failed, else nothing.

    What was mailed is kept in `file`; see `alerts.is_due`. A mail that failed is due again after the next run.
    """
    if part is None:
        return ""
    before = alerts.read(file)
    if not alerts.is_due(part, ended, before):
        return ""
    try:
        send(
            part, message(part, alerts.subject(ended, before), alerts.body(part, ended, before), ended.reports), environ
        )
    except InputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever a server does must not cost the report
        text = f"{type(error).__name__}: {error}"
        for secret in filter(None, map(environ.get, (USER, PASSWORD))):  # should a server repeat them
            text = text.replace(secret, "***")
        return f"email failed: {clean(text, 500)}."
    try:
        alerts.keep(file, alerts.State.of(ended, before))
    except (OSError, InputError) as error:
        return f"email was sent, and may be sent again: what it said cannot be kept ({clean(error)})."
    return ""


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
