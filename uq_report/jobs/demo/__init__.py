"""Audits of models fitted on the spot, one for each end an audit can have.

`parcels` is sound, `credit` has limits, and `faulty` is wrong on purpose. In `pumps` the correction for cover changes
the ranking, and in `wind` a regression's uncertainty splits into noise and lack of knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ...core.errors import InputError
from ...core.subject import Subject
from . import credit, faulty, parcels, pumps, wind


class Sample(NamedTuple):
    """A sample audit: how its subject is made, the settings of its report, and an earlier subject to compare with."""

    subject: Callable[[], Subject]
    settings: Mapping[str, Any]
    before: Callable[[], Subject] | None = None


SAMPLES = MappingProxyType(
    {
        "credit": Sample(credit.subject, credit.SETTINGS),
        "parcels": Sample(parcels.subject, parcels.SETTINGS),
        "pumps": Sample(pumps.subject, pumps.SETTINGS),
        "wind": Sample(wind.subject, wind.SETTINGS),
        "faulty": Sample(faulty.subject, faulty.SETTINGS, faulty.before),
    }
)


def build(which: str) -> tuple[Subject, dict[str, Any]]:
    """Return a sample's subject and the settings of its audit.

    Parameters
    ----------
    which : {"credit", "parcels", "pumps", "wind", "faulty"}
    """
    if which not in SAMPLES:
        raise InputError(f"demo.which must be one of {sorted(SAMPLES)}; got {which!r}.")
    sample = SAMPLES[which]
    return sample.subject(), dict(sample.settings)
