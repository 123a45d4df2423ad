"""Mail after a run, against a server of our own: over STARTTLS and TLS, its failures, and when it is due."""

from __future__ import annotations

import base64
import email
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

import pytest

from uq_report.jobs.audit_file import AuditFile, EmailPart
from uq_report.ops import mail
from uq_report.ops.mail import RunEnd, refused, send_after, subject

SUMMARY = {
    "exit_code": 0, "reasons": [], "recommendation": "Not fit for purpose", "findings": {"critical": 0, "high": 2},
    "as_of": "2026-01-31", "not_run": {"shap": "not installed"}, "run_sha256": "ab" * 32, "folder": "/reports/7",
}  # fmt: skip


@pytest.fixture
def ended(tmp_path: Path) -> RunEnd:
    """Return a run that ended with two findings and two report files."""
    files = {"report.html": b"<html>", "report.pdf": b"%PDF-1.7"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return RunEnd("credit", 0, SUMMARY, tuple(tmp_path / name for name in files))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a self-signed certificate of localhost and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, *names], cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return both


class Mailbox(socketserver.ThreadingTCPServer):
    """The least of an SMTP server: EHLO, STARTTLS, AUTH PLAIN, one mail to each connection."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None, *, tls: bool = False, refuse: bytes = b"") -> None:
        super().__init__(("localhost", 0), Session)
        self.context, self.tls, self.refuse = context, tls, refuse
        self.mails: list[EmailMessage] = []
        self.to: list[str] = []
        self.auth: list[bytes] = []
        self.encrypted: list[bool] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hangs up, as one does that trusts no certificate."""


class Session(socketserver.StreamRequestHandler):
    """One connection of a `Mailbox`."""

    server: Mailbox

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        if self.server.tls:
            self._encrypt()
        self._say(b"220 localhost")
        while line := self.rfile.readline().strip():
            word = line.split()[0].upper()
            if word == b"EHLO":
                extra = b"" if self._secure or self.server.context is None else b"250-STARTTLS\r\n"
                self._say(b"250-localhost\r\n" + extra + b"250 AUTH PLAIN")
            elif word == b"STARTTLS":
                self._say(b"220 go")
                self._encrypt()
            elif word == b"AUTH":
                self.server.auth.append(base64.b64decode(line.split()[-1]))
                self._say(self.server.refuse or b"235 ok")
            elif word == b"DATA":
                self._take()
            elif word == b"QUIT":
                self._say(b"221 bye")
                return
            else:
                if word == b"RCPT":
                    self.server.to.append(line.decode().partition("<")[2].rstrip(">"))
                self._say(b"250 ok")

    @property
    def _secure(self) -> bool:
        return isinstance(self.request, ssl.SSLSocket)

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")

    def _encrypt(self) -> None:
        assert self.server.context is not None
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = self.request.makefile("rb"), self.request.makefile("wb", 0)

    def _take(self) -> None:
        self._say(b"354 go")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b"."))
        self.server.encrypted.append(self._secure)
        self.server.mails.append(email.message_from_bytes(b"".join(lines), EmailMessage))
        self._say(b"250 kept")


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def mailbox(certificate: Path | None, **how: Any) -> Iterator[Mailbox]:
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    with serving(Mailbox(context, **how)) as server:
        yield server


def mail_part(server: Mailbox, **given: Any) -> EmailPart:
    port = server.server_address[1]
    base = {
        "host": "localhost",
        "port": port,
        "sender": "audit@example.org",
        "to": ["risk@example.org", "b@example.org"],
    }
    return EmailPart.model_validate({**base, **given})


class Hostile(socketserver.BaseRequestHandler):
    """Sends the same bytes again and again, with a pause between them."""

    sends, pause = b"220-a\r\n", 0.05

    def handle(self) -> None:
        with suppress(OSError):
            while True:
                self.request.sendall(self.sends)
                time.sleep(self.pause)


HOSTILE = {
    "drips lines": ("none", b"220-a\r\n", 0.05),
    "drips a line": ("none", b"2", 0.05),
    "drips a handshake": ("tls", b"\x16\x03\x03\x3f\xff" + b"\x02\x00\x3f\xfb" + bytes(1), 0.05),
    "floods": ("none", b"220-a\r\n" * 100_000, 0.0),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_server_that_drips_or_floods_holds_a_run_no_longer_than_the_deadline(
    how: str, ended: RunEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    security, sends, pause = HOSTILE[how]
    monkeypatch.setattr(mail, "DEADLINE", 0.7)
    handler = type("Handler", (Hostile,), {"sends": sends, "pause": pause})
    server = socketserver.ThreadingTCPServer(("localhost", 0), handler)
    server.daemon_threads = True
    start, threads = time.monotonic(), threading.active_count()
    with serving(server):
        told = send_after(mail_part(cast("Any", server), security=security), ended, environ={})
    assert time.monotonic() - start < 5
    cause = "the server answers more than 1000000 bytes" if how == "floods" else "took longer than 0.7 s"
    assert cause in told
    assert threading.active_count() <= threads + 1  # that of the connection ends by itself


SECRETS = {"UQ_REPORT_SMTP_USER": "me", "UQ_REPORT_SMTP_PASSWORD": "hunter2"}


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_mail_is_encrypted_signed_in_and_has_the_report(
    ended: RunEnd, certificate: Path, monkeypatch: pytest.MonkeyPatch, security: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mailbox(certificate, tls=security == "tls") as server:
        assert send_after(mail_part(server, security=security), ended, environ=SECRETS) == ""
    (mail,) = server.mails
    assert (server.encrypted, server.auth) == ([True], [b"\0me\0hunter2"])
    assert server.to == ["risk@example.org", "b@example.org"]
    assert mail["Subject"] == "credit: Not fit for purpose, 2 high"
    assert mail["Auto-Submitted"] == "auto-generated"
    text, *files = [part for part in mail.walk() if not part.is_multipart()]
    told = text.get_payload(decode=True)
    assert isinstance(told, bytes)
    assert b"Not run: shap: not installed" in told
    assert f"Report: {ended.reports[0].as_uri()}".encode() in told.splitlines()
    sent = {one.get_filename(): (one.get_content_type(), one.get_payload(decode=True)) for one in files}
    assert sent == {"report.html": ("text/html", b"<html>"), "report.pdf": ("application/pdf", b"%PDF-1.7")}


def test_a_mail_may_go_without_the_report_or_when_it_is_too_large(ended: RunEnd) -> None:
    with mailbox(None) as server:
        part = mail_part(server, security="none")
        assert send_after(part.model_copy(update={"attach": False}), ended, environ={}) == ""
        ended.reports[0].write_bytes(bytes(mail.MAX_ATTACHED))
        assert send_after(part, ended, environ={}) == ""
    assert [mail.is_multipart() for mail in server.mails] == [False, False]
    assert "too large to attach" in str(server.mails[1].get_payload())
    assert server.auth == []


def test_a_password_never_travels_in_the_clear(ended: RunEnd) -> None:
    with mailbox(None) as server:
        told = send_after(mail_part(server, security="none"), ended, environ=SECRETS)
        assert "must be starttls or tls" in told
        told = send_after(mail_part(server, security="starttls"), ended, environ=SECRETS)
        assert "STARTTLS" in told
    assert (server.auth, server.mails) == ([], [])


def test_a_certificate_nobody_vouches_for_is_refused(ended: RunEnd, certificate: Path) -> None:
    with mailbox(certificate, tls=True) as server:
        told = send_after(mail_part(server, security="tls"), ended, environ=SECRETS)
    assert "CERTIFICATE_VERIFY_FAILED" in told
    assert server.auth == []


def test_secrets_are_not_repeated_in_messages(
    ended: RunEnd, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mailbox(certificate, tls=True, refuse=b"535 no user me with hunter2") as server:
        told = send_after(mail_part(server, security="tls"), ended, environ=SECRETS)
    assert "535" in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "text", ["a@b.org\nBcc: x@y.org", "a@b.org\r\n\r\nbody", "nobody", "a@", "@b.org", "a b@c.org"]
)
def test_headers_cannot_be_added_by_an_address(text: str) -> None:
    for given in ({"sender": text}, {"to": [text]}):
        part = EmailPart.model_validate({"host": "h", "sender": "a@b.org", "to": ["c@d.org"], **given})
        (told,) = refused(part)
        assert "must be an address such as" in told


def test_headers_cannot_be_added_by_a_name(ended: RunEnd) -> None:
    with mailbox(None) as server:
        evil = RunEnd("x\r\nBcc: all@example.org\r\n\r\nhello", 0, {**SUMMARY, "recommendation": "a\nX-Evil: 1"})
        assert send_after(mail_part(server, security="none"), evil, environ={}) == ""
    (mail,) = server.mails
    assert mail["Bcc"] is None
    assert mail["X-Evil"] is None
    assert server.to == ["risk@example.org", "b@example.org"]
    assert str(mail["Subject"]).startswith("x Bcc: all@example.org hello: a X-Evil: 1")


def test_nothing_happens_by_default(ended: RunEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("a connection was made"))
    assert AuditFile.model_validate({"data": {"source": "x.csv"}}).email is None
    assert (refused(None), send_after(None, ended, environ={})) == ([], "")


def test_a_failed_run_says_so_in_its_subject() -> None:
    assert subject(RunEnd("credit", 3), None) == "credit: the audit failed (exit code 3)"
    assert (
        subject(RunEnd("credit", 0, {"recommendation": "Fit for purpose"}), None)
        == "credit: Fit for purpose, no open findings"
    )


def test_wrong_addresses_are_told_together() -> None:
    part = EmailPart.model_validate({"host": "h", "sender": "x", "to": ["y", "c@d.org"]})
    assert [line.partition(" must")[0] for line in refused(part)] == ["email.sender", "email.to"]


@pytest.mark.parametrize(
    "link", ["reports.example.org", "ftp://a.org", "https://", "https://a.org/?x=1", "https://a b"]
)
def test_a_link_that_is_no_address_is_refused(link: str) -> None:
    part = EmailPart(host="h", sender="a@b.org", to=("c@d.org",), link=link)
    (told,) = refused(part)
    assert "email.link must be the address" in told
    assert refused(part.model_copy(update={"link": "https://reports.example.org:8443/audits/"})) == []
