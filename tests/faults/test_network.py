"""The watch over sockets: it stops what would leave this machine, both sides of it."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from .. import network
from ..conftest import NETWORK


@pytest.mark.parametrize(
    ("host", "outside"),
    [
        ("127.0.0.1", False), ("127.8.0.1", False), ("::1", False), ("0.0.0.0", False), ("localhost", False),
        (None, False), (b"localhost", False), (socket.gethostname(), False), ("192.0.2.1", True), ("2001:db8::1", True),
        ("example.org", True), (b"example.org", True), ("localhost.example.org", True), ("fe80::1%1", True),
    ],
)  # fmt: skip
def test_a_host_is_here_or_outside(host: object, outside: bool) -> None:
    assert network.is_outside(host) is outside


def connected(host: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> None:
    with socket.socket(socket.AF_INET, kind) as one:
        one.settimeout(0.1)
        one.connect((host, 9))


def sent() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("192.0.2.1", 9))


@pytest.mark.parametrize(
    "leaves",
    [
        lambda: connected("192.0.2.1"),
        sent,
        lambda: socket.getaddrinfo("example.org", 80),
        lambda: socket.gethostbyname("example.org"),
        lambda: socket.create_connection(("example.org", 80)),
    ],
)
def test_what_leaves_this_machine_is_stopped_and_remembered(leaves: Callable[[], object]) -> None:
    with pytest.raises(network.NetworkError, match="tests must stay on this machine"):
        leaves()
    assert len(NETWORK.tried) == 1
    NETWORK.tried.clear()


def test_this_machine_may_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        assert one.getpeername() == server.getsockname()
    assert socket.getaddrinfo("localhost", 80)
    with socket.socket(socket.AF_UNIX) as one, pytest.raises(FileNotFoundError):
        one.connect("no such file")
    assert NETWORK.tried == []
