"""Audits of models fitted on the spot: two sound ones on real data, and a faulty one that every check objects to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import InputError
from ..core.subject import Subject
from . import credit, diabetes, faulty


class Sample(NamedTuple):
    """A sample audit: how its subject is made, the settings of its report, and an earlier subject to compare with."""

    subject: Callable[[], Subject]
    settings: Mapping[str, Any]
    before: Callable[[], Subject] | None = None


SAMPLES = MappingProxyType(
    {
        "credit": Sample(credit.subject, credit.SETTINGS),
        "diabetes": Sample(diabetes.subject, diabetes.SETTINGS),
        "faulty": Sample(faulty.subject, faulty.SETTINGS, faulty.before),
    }
)


def build(which: str) -> tuple[Subject, dict[str, Any]]:
    """Return a sample's subject and the settings of its audit.

    Parameters
    ----------
    which : {"credit", "diabetes", "faulty"}
    """
    if which not in SAMPLES:
        raise InputError(f"demo.which must be one of {sorted(SAMPLES)}; got {which!r}.")
    sample = SAMPLES[which]
    return sample.subject(), dict(sample.settings)
