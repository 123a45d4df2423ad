"""What fuzzing found, each as small as it gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from uq_report.core.statistics.curve_gap import widest_parting


@pytest.mark.parametrize("power", [-1030, 250])
def test_curves_part_at_the_same_place_on_a_feature_of_any_size(power: int) -> None:
    x = np.linspace(-1.0, 1.5, 6)
    local = pd.DataFrame({"x": x, "estimate": x**2, "std_error_change": 0.01})
    average = pd.DataFrame({"x": 1.25 * x, "estimate": x, "std_error": 0.01})
    plain = widest_parting(local, average, 0.95)
    local, average = (rows.assign(x=np.ldexp(rows["x"], power)) for rows in (local, average))
    scaled = widest_parting(local, average, 0.95)
    assert plain is not None
    assert scaled is not None
    assert scaled._replace(at=plain.at) == plain
    assert scaled.at == plain.at._replace(x=np.ldexp(plain.at.x, power), start=np.ldexp(plain.at.start, power))
