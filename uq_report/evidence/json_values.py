"""Values of libraries as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.support.errors import InputError


def plain(value: Any, where: str = "value") -> Any:
    """Return `value` as run.json gives it back: keys sorted, tuples and sets lists, numpy scalars Python's, NaN null.

    Examples
    --------
    >>> plain({"grid": (1, np.float64(2.5)), "missing": float("nan")})
    {'grid': [1, 2.5], 'missing': None}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError(f"{where} must be finite to be saved; got {value}. Leave it out, with a note.")
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], f"{where}.{key}") for key in sorted(value, key=str)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InputError(f"{where} must be a JSON value to be saved; got a {type(value).__name__}. Use text or numbers.")
