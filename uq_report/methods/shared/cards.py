"""The method cards: texts about each method that the report prints, kept as data in `cards.toml`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import ClassVar

from ...core.explainer import BuiltInExplainer, MethodCard


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resources.files("uq_report.methods").joinpath("cards.toml").read_text(encoding="utf-8"))


class CardedExplainer(BuiltInExplainer):
    """A base of explainers whose card stands under their name in `cards.toml`."""

    card: ClassVar[MethodCard]

    def __init_subclass__(cls) -> None:
        """Give the class its card."""
        cls.card = MethodCard(**_texts()[cls.name])
