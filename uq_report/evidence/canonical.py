"""JSON: values of libraries as JSON values, and the one form that is written and hashed."""

import json
import math
from collections.abc import Mapping
from typing import Any

from ..core.support.errors import InputError


def canonical(content: Any) -> bytes:
    r"""Return JSON values as bytes: equal values give equal bytes.

    Examples
    --------
    >>> canonical({"b": [1, None], "a": [0.5, "x"]})
    b'{"a":[0.5,"x"],"b":[1,null]}\n'
    """
    text = json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def plain(value: Any, where: str = "value") -> Any:
    """Return `value` as run.json gives it back: keys sorted, tuples and sets lists, numpy scalars Python's, NaN null.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"grid": (1, np.float64(2.5)), "missing": float("nan")})
    {'grid': [1, 2.5], 'missing': None}
    """
    # a history is written without numpy
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError(f"{where} must be finite to be saved; got {value}. Leave it out, with a note.")
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], f"{where}.{key}") for key in sorted(value, key=str)}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InputError(f"{where} must be a JSON value to be saved; got a {type(value).__name__}. Use text or numbers.")
