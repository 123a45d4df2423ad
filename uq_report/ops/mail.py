"""A mail after a run, over STARTTLS or TLS with the server's certificate checked; off unless ``[email]`` asks for it.

Secrets come from the environment alone. A mail that fails is reported; it changes neither the report nor the exit code,
because the audit itself is done. A mail is due once when something changes, and once when it is over; what was mailed
last is kept beside the audit's runs in its history. Whatever else is to happen after a run,
the exit code and ``--json``, or `uq.run`, say all that it needs.
"""

from __future__ import annotations

import os
import re
import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from io import BufferedReader
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from ..core.support.errors import InputError, LockedError
from ..core.support.safe_loading import bytes_of
from ..core.support.text import clean
from ..document.text import unmarked
from ..evidence.canonical import canonical
from ..evidence.finding import Finding
from ..jobs.audit_file import EmailPart
from ..jobs.reading import read_audit
from .history import History, put
from .history.entry import MAILED, STARTED
from .history.filing import Filing

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
        As `run.summary_of` gives it; of a run that failed, its exit code and reasons.
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
        return cls(ended.exit_code, why, known if ended.failed else dict(map(_finding_text, ended.open)))

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
    recommendation = clean(ended.summary.get("recommendation", "done"), 40)
    return f"{name}: {again}{recommendation}, {findings}{changed and f' ({changed})'}"


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


def _finding_text(finding: Finding) -> tuple[str, str]:
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


def read_state(file: Path | None) -> State | None:
    """Return what was mailed last, nothing of a new history; None where nobody knows."""
    try:
        data = b"" if file is None else bytes_of(file, _LARGEST)
        state = TypeAdapter(State).validate_json(data)
    except FileNotFoundError:
        return State()
    except (OSError, ValueError):
        return None
    return state if canonical(asdict(state)) == data else None


def keep_state(file: Path | None, state: State) -> None:
    """Keep what was mailed.

    Raises
    ------
    OSError
        The history cannot be written.
    """
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        put(file, canonical(asdict(state)))


USER, PASSWORD = "UQ_REPORT_SMTP_USER", "UQ_REPORT_SMTP_PASSWORD"
SECONDS = 30.0  # of silence
DEADLINE = 300.0  # seconds of the whole exchange
MAX_ANSWERS = 1_000_000  # bytes of a server's answers
MAX_ATTACHED = 20_000_000  # bytes; many servers refuse more
_TYPES = {".html": "text/html", ".pdf": "application/pdf", ".md": "text/markdown", ".xml": "text/xml"}


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

    What was mailed is kept in `file`; see `is_due`. A mail that failed is due again after the next run.
    """
    if part is None:
        return ""
    before = read_state(file)
    if not is_due(part, ended, before):
        return ""
    try:
        send(part, message(part, subject(ended, before), body(part, ended, before), ended.reports), environ)
    except InputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever a server does must not cost the report
        text = f"{type(error).__name__}: {error}"
        for secret in filter(None, map(environ.get, (USER, PASSWORD))):  # should a server repeat them
            text = text.replace(secret, "***")
        return f"email failed: {clean(text, 500)}."
    try:
        keep_state(file, State.of(ended, before))
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
        maintype, _, subtype = _TYPES.get(file.suffix, "application/octet-stream").partition("/")
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
    context, start = ssl.create_default_context(), monotonic()
    try:
        with _Server(part.host, part.port, context if part.security == "tls" else None) as server:
            if part.security == "starttls":
                server.starttls(context=context)
            if user:
                server.login(user, password)
            server.send_message(mail)
    except (OSError, smtplib.SMTPException) as error:
        if monotonic() - start < DEADLINE:
            raise
        raise TimeoutError(f"the exchange with {part.host} took longer than {DEADLINE:g} s") from error


class _Answers:
    """What a server answers, which must not be without end."""

    def __init__(self, file: BufferedReader) -> None:
        self._file, self._left = file, MAX_ANSWERS
        self.close = file.close

    def readline(self, size: int) -> bytes:
        """Return a line."""
        line = self._file.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise OSError(f"the server answers more than {MAX_ANSWERS} bytes")
        return line


class _Server(smtplib.SMTP):
    """A mail server whose connection is shut down at the deadline, whatever it sends until then.

    Parameters
    ----------
    host, port
    context : ssl.SSLContext, optional
        Encrypt from the first byte.
    """

    _line: socket.socket | None = None

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._timer = Timer(DEADLINE, self._shut)
        self._timer.daemon = True
        try:
            super().__init__(host, port, timeout=SECONDS)
        except BaseException:
            self.close()
            raise

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        plain = socket.create_connection((host, port), timeout)
        self._line = plain.dup()  # TLS takes the other over
        self._timer.start()
        return plain if self._context is None else self._context.wrap_socket(plain, server_hostname=host)

    def _shut(self) -> None:
        with suppress(OSError):
            if self._line is not None:
                self._line.shutdown(socket.SHUT_RDWR)

    def getreply(self) -> tuple[int, bytes]:
        """Return one answer."""
        if self.file is None and self.sock is not None:
            self.file = _Answers(self.sock.makefile("rb"))
        return super().getreply()

    def close(self) -> None:
        """Close the connection."""
        self._timer.cancel()
        super().close()
        if self._line is not None:
            self._line.close()


UNKNOWN = "it was killed, or the machine went down"


@contextmanager
def at_work(filing: Filing) -> Iterator[None]:
    """Mark an audit as at work, until that ends in any way but by a kill."""
    mark, now = filing.folder / STARTED, datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):  # nothing is filed in a history that can only be read
        put(mark, f"{now}\n".encode())
    try:
        yield
    finally:
        with suppress(OSError):
            mark.unlink()


def tell(part: EmailPart | None, filing: Filing, how: str = UNKNOWN) -> list[str]:
    """Mail that the last run of an audit never ended, and take its mark away.

    Returns
    -------
    list of str
        What is to be said of it, and of a mail that failed: then the mark stays. Empty if the last run ended.
    """
    started = _begun(filing.folder / STARTED)
    if started is None:
        return []
    ended = never_ended(filing.name, started, how)
    told = [*ended.summary["reasons"]]
    if failure := send_after(part, ended, filing.folder / MAILED):
        return [*told, f"Mail: {failure}"]
    (filing.folder / STARTED).unlink()
    return told


def tell_if_left(file: Path, history: str, name: str, how: str = UNKNOWN) -> list[str]:
    """Do as `tell` does for an audit file, unless its audit is at work."""
    place = History(history)
    if not (place.folder(name) / STARTED).is_file():
        return []
    try:
        with place.filing(name) as filing:
            return tell(read_audit(file).email, filing, how)
    except LockedError:
        return []


def _begun(mark: Path) -> str | None:
    """Return when the run began that left a mark: empty if that does not say it, None if there is none."""
    try:
        return datetime.fromisoformat(bytes_of(mark, 100).decode().strip()).isoformat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, InputError):
        return ""
