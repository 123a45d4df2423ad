"""Audits of models fitted on the spot, one for each end an audit can have.

`parcels` is sound, `credit` has limits, and `faulty` is wrong on purpose. In `pumps` the correction for cover changes
the ranking, and in `wind` a regression's uncertainty splits into noise and lack of knowledge.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from ...core.model.subject import Subject
from ...core.support.errors import InputError
from . import samples, wind

_MADE = (samples.credit, samples.parcels, samples.pumps, wind.wind, samples.faulty)
SAMPLES: Mapping[str, Callable[[], Subject]] = MappingProxyType({made.__name__: made for made in _MADE})
BEFORE: Mapping[str, Callable[[], Subject]] = MappingProxyType({"faulty": samples.faulty_before})  # to compare with


def build(which: str) -> tuple[Subject, dict[str, Any]]:
    """Return a sample's subject and the settings of its audit.

    Parameters
    ----------
    which : {"credit", "parcels", "pumps", "wind", "faulty"}
    """
    if which not in SAMPLES:
        raise InputError(f"demo.which must be one of {sorted(SAMPLES)}; got {which!r}.")
    return SAMPLES[which](), settings(which)


def settings(which: str) -> dict[str, Any]:
    """Return what the audit of a sample says beside its rows: the arguments of `uq_report.audit`."""
    content = tomllib.loads(files(__package__).joinpath(f"{which}.toml").read_text(encoding="utf-8"))
    rules = {f"checks.{name}": options for name, options in content.pop("checks", {}).items()}
    return content | {"options": content.pop("explainers", {}) | rules}
