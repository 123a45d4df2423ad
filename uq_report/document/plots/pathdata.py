"""The data of SVG paths: read as matplotlib writes them, moved, and written relative and rounded."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"[MLQCzZ]|-?\d+\.?\d*(?:e-?\d+)?")
_POINTS = {"M": 1, "L": 1, "Q": 2, "C": 3}


def relative(d: str, digits: int) -> str:
    """Return a path in relative coordinates; rounding is done on absolute ones, so errors do not add up.

    Examples
    --------
    >>> relative("M 10 20 L 30.04 20 L 30.04 25 z", 1)
    'm10 20h20v5z'
    """
    out: list[str] = []
    here = start = (0, 0)
    last = ""
    for command, points in _commands(d, digits):
        if command in "zZ":
            out.append("z")
            here, last = start, "z"
            continue
        if command == "L" and points[-1] == here and last in ("l", "h", "v"):
            continue
        letter, numbers = _step(command, points, here)
        body = joined([short(n / 10**digits, digits) for n in numbers])
        separator = "" if last != letter or body.startswith("-") or letter == "m" else " "
        out.append((letter if last != letter or letter == "m" else "") + separator + body)
        here, last = points[-1], letter
        start = here if letter == "m" else start
    return "".join(out)


def moved(d: str, x: float, y: float) -> str:
    """Return an absolute path at another place.

    Examples
    --------
    >>> moved("M 0 0 L 0 3.5", 10, 1)
    'M 10 1 L 10 4.5'
    """
    out: list[str] = []
    across = True
    for token in _TOKEN.findall(d):
        if token.isalpha():
            out.append(token)
        else:
            out.append(f"{float(token) + (x if across else y):.6g}")
            across = not across
    return " ".join(out)


def is_open(d: str) -> bool:
    """Say whether a path has straight lines only and encloses nothing that could be filled."""
    return not set(re.findall("[A-Za-z]", d)) - {"M", "L"}


def short(value: float, digits: int) -> str:
    """Return a number without needless zeros: ``0.50`` is ``.5``."""
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "0" if text in ("", "-", "-0") else text


def joined(numbers: list[str]) -> str:
    """Join numbers with a blank only where the next one does not begin with its sign."""
    return "".join(n if i == 0 or n.startswith("-") else f" {n}" for i, n in enumerate(numbers))


def _step(command: str, points: list[tuple[int, int]], here: tuple[int, int]) -> tuple[str, list[int]]:
    """Return the relative command and its numbers; lines along an axis have commands of their own."""
    numbers = [c for x, y in points for c in (x - here[0], y - here[1])]
    if command == "L" and 0 in numbers:
        return ("h", numbers[:1]) if numbers[1] == 0 else ("v", numbers[1:])
    return command.lower(), numbers


def _commands(d: str, digits: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield each command with its points as integers of the last digit kept."""
    tokens = iter(_TOKEN.findall(d))
    scale = 10**digits
    for command in tokens:
        count = _POINTS.get(command, 0)
        yield command, [(round(float(next(tokens)) * scale), round(float(next(tokens)) * scale)) for _ in range(count)]
