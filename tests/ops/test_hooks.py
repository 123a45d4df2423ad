"""Hooks after a run against servers of our own: mail over STARTTLS and TLS, a signed request, a copy; and failures."""

from __future__ import annotations

import base64
import email
import hashlib
import hmac
import json
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from uq_report.core.errors import InputError
from uq_report.jobs.audit_file import EmailPart, HooksPart
from uq_report.ops.hooks import Ended, after, refused, webhook
from uq_report.ops.hooks.after import is_due

SUMMARY = {
    "exit_code": 0, "reasons": [], "rating": "Do not use yet", "findings": {"critical": 0, "high": 2},
    "as_of": "2026-01-31", "not_run": {"shap": "not installed"}, "run_sha256": "ab" * 32, "folder": "/reports/7",
}  # fmt: skip


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    """Return a run that ended with two findings and two report files."""
    files = {"report.html": b"<html>", "report.pdf": b"%PDF-1.7"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return Ended("credit", 0, SUMMARY, tuple(tmp_path / name for name in files))


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


SECRETS = {"UQ_REPORT_SMTP_USER": "me", "UQ_REPORT_SMTP_PASSWORD": "hunter2"}


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_mail_is_encrypted_signed_in_and_has_the_report(
    ended: Ended, certificate: Path, monkeypatch: pytest.MonkeyPatch, security: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mailbox(certificate, tls=security == "tls") as server:
        hooks = HooksPart(email=mail_part(server, security=security))
        assert after(hooks, ended, SECRETS) == []
    (mail,) = server.mails
    assert (server.encrypted, server.auth) == ([True], [b"\0me\0hunter2"])
    assert server.to == ["risk@example.org", "b@example.org"]
    assert mail["Subject"] == "credit: Do not use yet, 2 high"
    assert mail["Auto-Submitted"] == "auto-generated"
    text, *files = [part for part in mail.walk() if not part.is_multipart()]
    told = text.get_payload(decode=True)
    assert isinstance(told, bytes)
    assert b"Not run: shap: not installed" in told
    assert b"Report: /reports/7" in told
    sent = {one.get_filename(): (one.get_content_type(), one.get_payload(decode=True)) for one in files}
    assert sent == {"report.html": ("text/html", b"<html>"), "report.pdf": ("application/pdf", b"%PDF-1.7")}


def test_a_mail_may_go_without_the_report_or_when_it_is_too_large(
    ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mailbox(None) as server:
        part = mail_part(server, security="none")
        assert after(HooksPart(email=part.model_copy(update={"attach": False})), ended, {}) == []
        monkeypatch.setattr("uq_report.ops.hooks.mail.MAX_ATTACHED", 5)
        assert after(HooksPart(email=part), ended, {}) == []
    assert [mail.is_multipart() for mail in server.mails] == [False, False]
    assert "too large to attach" in str(server.mails[1].get_payload())
    assert server.auth == []


def test_a_password_never_travels_in_the_clear(ended: Ended) -> None:
    with mailbox(None) as server:
        (told,) = after(HooksPart(email=mail_part(server, security="none")), ended, SECRETS)
        assert "must be starttls or tls" in told
        (told,) = after(HooksPart(email=mail_part(server, security="starttls")), ended, SECRETS)
        assert "STARTTLS" in told
    assert (server.auth, server.mails) == ([], [])


def test_a_certificate_nobody_vouches_for_is_refused(ended: Ended, certificate: Path) -> None:
    with mailbox(certificate, tls=True) as server:
        (told,) = after(HooksPart(email=mail_part(server, security="tls")), ended, SECRETS)
    assert "CERTIFICATE_VERIFY_FAILED" in told
    assert server.auth == []


def test_secrets_are_not_repeated_in_messages(ended: Ended, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mailbox(certificate, tls=True, refuse=b"535 no user me with hunter2") as server:
        (told,) = after(HooksPart(email=mail_part(server, security="tls")), ended, SECRETS)
    assert "535" in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "text", ["a@b.org\nBcc: x@y.org", "a@b.org\r\n\r\nbody", "nobody", "a@", "@b.org", "a b@c.org"]
)
def test_headers_cannot_be_added_by_an_address(text: str) -> None:
    for given in ({"sender": text}, {"to": [text]}):
        part = EmailPart.model_validate({"host": "h", "sender": "a@b.org", "to": ["c@d.org"], **given})
        (told,) = refused(HooksPart(email=part))
        assert "must be an address such as" in told


def test_headers_cannot_be_added_by_a_name(ended: Ended) -> None:
    with mailbox(None) as server:
        evil = Ended("x\r\nBcc: all@example.org\r\n\r\nhello", 0, {**SUMMARY, "rating": "a\nX-Evil: 1"})
        assert after(HooksPart(email=mail_part(server, security="none")), evil, {}) == []
    (mail,) = server.mails
    assert mail["Bcc"] is None
    assert mail["X-Evil"] is None
    assert server.to == ["risk@example.org", "b@example.org"]
    assert str(mail["Subject"]).startswith("x Bcc: all@example.org hello: a X-Evil: 1")


Answers = list[tuple[int, dict[str, str]]]


@contextmanager
def listening(answers: Answers) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """Serve answers in turn, the last one forever; yield the address and the requests."""
    seen: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((dict(self.headers), body))
            code, headers = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(code)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            seen.append(({}, b"a redirect was followed"))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook?a=1", seen


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "PAUSES", (0.0, 0.0))


def test_a_request_has_the_summary_and_a_signature(ended: Ended) -> None:
    with listening([(204, {})]) as (url, seen):
        assert after(HooksPart(webhook=url), ended, {"UQ_REPORT_WEBHOOK_SECRET": "s3cret"}) == []
    ((headers, body),) = seen
    assert json.loads(body) == {**SUMMARY, "name": "credit"}
    expected = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Uq-Report-Signature"] == f"sha256={expected}"
    assert headers["Content-Type"] == "application/json"


def test_a_busy_server_is_asked_again_with_the_same_delivery(ended: Ended, no_pause: None) -> None:
    with listening([(503, {}), (429, {}), (200, {})]) as (url, seen):
        assert after(HooksPart(webhook=url), ended, {}) == []
    assert len(seen) == 3
    assert len({headers["X-Uq-Report-Delivery"] for headers, _ in seen}) == 1
    assert not any("X-Uq-Report-Signature" in headers for headers, _ in seen)


@pytest.mark.parametrize(("code", "asked"), [(500, 3), (404, 1), (302, 1), (307, 1)])
def test_a_server_that_refuses_is_told_and_redirects_are_not_followed(
    ended: Ended, no_pause: None, code: int, asked: int
) -> None:
    with listening([(code, {"Location": "http://127.0.0.1:9/steal"})]) as (url, seen):
        (told,) = after(HooksPart(webhook=url), ended, {"UQ_REPORT_WEBHOOK_SECRET": "s"})
    assert told == f"hooks.webhook must reach 127.0.0.1; it answered {code}. The report is where it was."
    assert len(seen) == asked


def test_a_server_that_is_down_or_silent_is_told(ended: Ended, no_pause: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(webhook, "SECONDS", 0.05)
        port = silent.getsockname()[1]
        (told,) = after(HooksPart(webhook=f"http://127.0.0.1:{port}/"), ended, {})
        assert "timed out" in told
    (told,) = after(HooksPart(webhook=f"http://127.0.0.1:{port}/"), ended, {})
    assert "refused" in told


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://h/x", "http://", "https://me:secret@h/x", "http://h/\nX: 1", "http://[::1", "x"],
)
def test_what_is_no_web_address_is_refused_before_the_audit(url: str) -> None:
    (told,) = refused(HooksPart(webhook=url))
    assert "hooks.webhook must be an http(s) address" in told
    assert "secret@" not in told


def test_a_copy_is_whole_and_named_after_the_audit(ended: Ended, tmp_path: Path) -> None:
    hooks = HooksPart(folder=str(tmp_path / "share"))
    evil = Ended("../../up", 0, SUMMARY, ended.reports)
    assert after(hooks, ended, {}) == after(hooks, evil, {}) == []
    credit, up = sorted((tmp_path / "share").iterdir())
    assert {file.name for file in credit.iterdir()} == {"report.html", "report.pdf", "summary.json"}
    assert json.loads((credit / "summary.json").read_bytes()) == SUMMARY
    assert up.name.startswith("up-")
    failed = Ended("credit", 3, {"exit_code": 3, "reasons": ["no"]})
    assert after(hooks, failed, {}) == []
    assert (credit / "report.html").read_bytes() == b"<html>"
    assert json.loads((credit / "summary.json").read_bytes())["exit_code"] == 3


def test_one_hook_that_fails_does_not_stop_the_others(ended: Ended, tmp_path: Path, no_pause: None) -> None:
    (tmp_path / "taken").write_text("a file")
    with listening([(200, {})]) as (url, seen):
        told = after(HooksPart(webhook=url, folder=str(tmp_path / "taken")), ended, {})
    assert len(told) == 1
    assert "must be writable" in told[0]
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("when", "made", "expected"),
    [
        ("always", lambda: Ended("a", 0), True),
        ("findings", lambda: Ended("a", 0, {"findings": {"low": 0}}), False),
        ("findings", lambda: Ended("a", 0, {"findings": {"low": 1}}), True),
        ("findings", lambda: Ended("a", 3), True),
        ("failure", lambda: Ended("a", 1, {"findings": {"high": 1}}), False),
        ("failure", lambda: Ended("a", 4), True),
    ],
)
def test_when_hooks_run(when: Any, made: Callable[[], Ended], expected: bool) -> None:
    assert is_due(HooksPart(when=when), made()) is expected


def test_nothing_happens_by_default(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("a connection was made"))
    assert HooksPart() == HooksPart(when="always", email=None, webhook="", folder="")
    assert after(HooksPart(), ended, {}) == []


def test_a_failed_run_says_so_in_its_subject() -> None:
    assert Ended("credit", 3).subject == "credit: the audit failed (exit code 3)"
    assert Ended("credit", 0, {"rating": "Use"}).subject == "credit: Use, no open findings"


def test_wrong_hooks_are_told_together() -> None:
    part = EmailPart.model_validate({"host": "h", "sender": "x", "to": ["y"]})
    with pytest.raises(InputError):
        webhook.check("nowhere")
    assert len(refused(HooksPart(email=part, webhook="nowhere"))) == 2
