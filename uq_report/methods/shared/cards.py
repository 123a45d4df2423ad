"""The method cards: texts about each method that the report prints, kept as data in `cards.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from ...core.explainer import MethodCard


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resources.files("uq_report.methods").joinpath("cards.toml").read_text(encoding="utf-8"))


def card_of(name: str) -> MethodCard:
    """Return the card of a method.

    Examples
    --------
    >>> card_of("groups").title
    'Groups'
    """
    return MethodCard(**_texts()[name])
