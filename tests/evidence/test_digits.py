"""Ten significant digits at once are those that text of each number gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from uq_report.evidence.tables import encode_frame

rng = np.random.default_rng(0)
HALVES = (10 * rng.integers(10**9, 10**10, 2000) + 5) / 10.0 ** rng.integers(1, 15, 2000)
NUMBERS = {
    "usual": rng.normal(size=5000),
    "of any size": rng.normal(size=5000) * 10 ** rng.uniform(-40, 40, 5000),
    "short": np.round(rng.normal(size=2000), 3),
    "between two": HALVES,
    "beside two": np.concatenate([np.nextafter(HALVES, np.inf), np.nextafter(HALVES, -np.inf)]),
    "next to a power of ten": np.array([[x, np.nextafter(x, 0), -x] for x in 10.0 ** np.arange(-30, 30)]).ravel(),
    "extreme": np.array([0.0, -0.0, 5e-324, 1.7e308, 0.99999999995, 9999999999.5, 9.9999999995e-14]),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_as_text_would_be_read(kind: str) -> None:
    values = NUMBERS[kind]
    (column,) = encode_frame(pd.DataFrame({"x": values}), "frame")["columns"]
    expected = np.array([float(format(value, ".10g")) for value in values])
    assert np.array(column["values"]).tobytes() == expected.tobytes()
