"""No test reaches beyond this machine: what tries is stopped where Python opens its sockets, and fails its test."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

HERE = frozenset({"", "localhost", socket.gethostname()})


class NetworkError(OSError):
    """A test asked for something outside this machine."""


def is_outside(host: object) -> bool:
    """Say whether a host is another machine than this one; a name that must be looked up elsewhere is."""
    text = host.decode() if isinstance(host, bytes) else str(host or "")
    if text in HERE:
        return False
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return True
    return not (address.is_loopback or address.is_unspecified)


def _looked_up(host: object, *_: object) -> object:
    try:
        ip_address(str(host).partition("%")[0])
    except ValueError:
        return host
    return None  # an address needs no network to be read


def _reached(one: socket.socket, address: Any) -> object:
    internet = one.family in (socket.AF_INET, socket.AF_INET6)
    return address[0] if internet else None


def _connected(one: socket.socket, address: Any) -> object:
    return None if one.type == socket.SOCK_DGRAM else _reached(one, address)  # which sends nothing yet


_HOSTS: dict[str, Callable[..., object]] = {
    "socket.connect": _connected,
    "socket.sendto": _reached,
    "socket.getaddrinfo": _looked_up,
    "socket.gethostbyname": _looked_up,
}


class Watch:
    """Stops what would leave this machine, and remembers it: code may go on as if a server did not answer."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at an event of Python's."""
        if event in _HOSTS and is_outside(host := _HOSTS[event](*arguments)):
            self.tried.append(f"{event} {host}")
            raise NetworkError(f"tests must stay on this machine; got {event} of {host!r}.")

    def start(self) -> None:
        """Watch until Python ends."""
        sys.addaudithook(self)
