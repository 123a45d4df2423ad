"""How often each built-in rule claimed something of honest, fitted models: ``benchmarks/honest.py --write``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple


class Rate(NamedTuple):
    """In how many audits of the design where it was most often a rule claimed more than an observation."""

    claims: int
    audits: int
    design: str

    @property
    def words(self) -> str:
        """The rate in words.

        Examples
        --------
        >>> Rate(3, 60, "rare class").words, Rate(0, 60, "").words
        ('3 of 60 (rare class)', '0 of 60')
        """
        share = f"{self.claims} of {self.audits}"
        return f"{share} ({self.design})" if self.claims else share


@cache
def rates() -> Mapping[str, Rate]:
    """Return the worst rate of every code that was judged; codes of others have none."""
    content = json.loads(resources.files(__package__).joinpath("rates.json").read_bytes())
    return {code: Rate(*numbers) for code, numbers in content.items()}
