"""A mail after a run, over STARTTLS or TLS with the server's certificate checked."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping, Sequence
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path

from ...core.errors import InputError
from ...core.text import clean
from ...jobs.audit_file import EmailPart

SECONDS = 30.0
MAX_ATTACHED = 20_000_000  # bytes; many servers refuse more
_TYPES = {
    ".html": ("text", "html"),
    ".pdf": ("application", "pdf"),
    ".md": ("text", "markdown"),
    ".xml": ("text", "xml"),
}


def check(part: EmailPart) -> None:
    """Refuse addresses that are none; one that holds a line break cannot become a header.

    Raises
    ------
    InputError
    """
    for key, address in (("sender", part.sender), *(("to", recipient) for recipient in part.to)):
        try:
            fine = not any(ord(character) < 32 for character in address) and bool(Address(addr_spec=address).domain)
        except (ValueError, IndexError, MessageError):
            fine = False
        if not fine:
            raise InputError(f"hooks.email.{key} must be an address such as risk@example.org; got {address!r}.")


def message(part: EmailPart, subject: str, body: str, reports: Sequence[Path]) -> EmailMessage:
    """Return the mail, with the reports if they are asked for and not too large together."""
    check(part)
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
    user, password = environ.get("UQ_REPORT_SMTP_USER", ""), environ.get("UQ_REPORT_SMTP_PASSWORD", "")
    if user and part.security == "none":
        raise InputError(
            "hooks.email.security must be starttls or tls where UQ_REPORT_SMTP_USER is set; got 'none'. A password "
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
