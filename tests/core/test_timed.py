"""Which series decide the length of blocks: features as numbers in order of time, and what has no order to tell."""

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.statistics.time_blocks import Blocks
from uq_report.core.traits.block_length import _features
from uq_report.distributions import Normal

NAN = np.nan
TABLE = pd.DataFrame({
    "up and down": [1.0, 3.0, 2.0, 5.0], "missing": [NAN, 4.0, 0.0, 2.0], "text": ["b", "a", "b", "c"],
    "rising": [1.0, 1.0, 2.0, 9.0], "falling": [4, 3, 3, 1], "nothing": [NAN] * 4,
    "levels": pd.Categorical(list("ppqp")),
})  # fmt: skip


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_features_are_numbers_in_order_of_time(order: list[int]) -> None:
    """Levels are coded as they come, the mean of 4, 0 and 2 stands for what is missing."""
    rows = np.argsort(order)
    table = TABLE.iloc[rows].reset_index(drop=True)
    subject = uq.explain(lambda X: Normal(X["rising"].to_numpy(), 1.0), table)
    found = dict(_features(subject, Blocks(rows.astype(np.int64), 1)))
    assert list(found) == ["feature up and down", "feature missing", "feature text", "feature levels"]
    assert found["feature up and down"].tolist() == [1.0, 3.0, 2.0, 5.0]
    assert found["feature missing"].tolist() == [2.0, 4.0, 0.0, 2.0]
    for name in ("text", "levels"):
        codes = found[f"feature {name}"]
        assert len(set(zip(codes, TABLE[name], strict=True))) == len(set(codes)) == TABLE[name].nunique()
