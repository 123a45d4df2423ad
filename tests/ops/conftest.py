"""A small report and keys made on the spot, for the tests of signing and of what is signed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from uq_report.ops.verification import rendering
from uq_report.report.kinds import DocumentForm

from . import verify_cases
from .verify_cases import Keys


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signing")
    verify_cases.write(folder / "run")
    return folder


@pytest.fixture(scope="module")
def keys(place: Path) -> Keys:
    return Keys(place)


Rendering = Callable[[Callable[[], bytes], DocumentForm, str], bytes]


@pytest.fixture
def rerender(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rendering], None]:
    """Return what exchanges how verification renders a report again.

    The function that it is given is called with how it was rendered before, the form of the document, and the suffix.
    """

    def exchange(make: Rendering) -> None:
        usual = rendering.Maker._rendered

        def rendered(self: rendering.Maker, form: DocumentForm, suffix: str) -> bytes:
            return make(partial(usual, self, form, suffix), form, suffix)

        monkeypatch.setattr(rendering.Maker, "_rendered", rendered)

    return exchange


ReadOnly = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> ReadOnly:
    """Return a block in which no file and no folder may be written."""

    @contextmanager
    def closed() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda *_, **__: False)
            yield

    return closed


class Outbox(list[EmailMessage]):
    """The mails that were sent; while there is an `error`, sending one ends with it."""

    error: OSError | None = None

    def send(self, part: Any, mail: EmailMessage, environ: Any) -> None:
        """Take the place of `uq_report.ops.mail.send`."""
        if self.error is not None:
            raise self.error
        self.append(mail)


@pytest.fixture
def outbox(monkeypatch: pytest.MonkeyPatch) -> Outbox:
    """Return the mails of the test, none of which leaves this process."""
    sent = Outbox()
    monkeypatch.setattr("uq_report.ops.mail.send", sent.send)
    return sent
