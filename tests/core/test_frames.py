"""Tables of polars, Arrow and other libraries: types by one rule, and the same audit as the pandas frame gives."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.support.arrays import as_frame
from uq_report.core.support.errors import InputError
from uq_report.core.validation.inputs import kinds, table
from uq_report.distributions import Normal

pa = pytest.importorskip("pyarrow", reason="Arrow tables need pyarrow")

ROWS: dict[str, list[Any]] = {
    "age": [31, None, 5],
    "owed": [Decimal("1.50"), None, Decimal("2.25")],
    "day": [date(2026, 1, 2), None, date(2026, 1, 1)],
    "seen": [datetime(2026, 1, 2, 3), datetime(2026, 1, 1), None],  # noqa: DTZ001 - a table without time zones
    "job": ["a", "b", None],
    "own": [True, False, True],
}
KINDS = {
    "age": "numeric",
    "owed": "numeric",
    "day": "datetime",
    "seen": "datetime",
    "job": "categorical",
    "own": "categorical",
}


class Stream:
    """An object that has nothing but an Arrow stream."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.inner.__arrow_c_stream__(requested_schema)


def arrow() -> Any:
    made = pa.table(ROWS)
    return made.set_column(4, "job", made["job"].dictionary_encode())


def polars() -> Any:
    library = pytest.importorskip("polars", reason="polars is not installed")
    return library.DataFrame(ROWS).with_columns(library.col("job").cast(library.Categorical))


@pytest.mark.parametrize("make", [arrow, polars, lambda: Stream(arrow()), lambda: arrow().to_batches()[0]])
def test_types_follow_the_rule(make: Any) -> None:
    rows, names = table(make(), "X", None)
    assert isinstance(rows, pd.DataFrame)
    assert names == tuple(ROWS)
    assert dict(kinds(rows, names, None)) == KINDS
    assert isinstance(rows["job"].dtype, pd.CategoricalDtype)
    assert rows["age"].tolist()[::2] == [31.0, 5.0]
    assert rows["owed"].tolist()[::2] == [1.5, 2.25]
    assert rows["day"].tolist()[::2] == [pd.Timestamp("2026-01-02"), pd.Timestamp("2026-01-01")]
    assert rows["seen"][0] == pd.Timestamp("2026-01-02 03:00")
    for name in ("age", "owed", "day"):
        assert rows[name].isna().tolist() == [False, True, False]


def test_an_audit_of_a_polars_or_arrow_table_is_that_of_the_frame() -> None:
    library = pytest.importorskip("polars", reason="polars is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.integers(0, 3, 50)})
    y = frame["a"] + rng.normal(size=50)

    def model(X: Any) -> Normal:
        assert isinstance(X, pd.DataFrame)
        return Normal(X["a"], 1.0 + X["b"])

    expected = uq.importance(uq.explain(model, frame, y), ["nll", "entropy"], n_repeats=2).frame
    tables: list[tuple[Any, Any]] = [
        (library.from_pandas(frame), library.Series(y)),
        (pa.Table.from_pandas(frame), pa.chunked_array([y])),
    ]
    for X, target in tables:
        own = uq.explain(model, X, target, train=(X, target), sample_weight=None, clusters=X["b"])
        pd.testing.assert_frame_equal(uq.importance(own, ["nll", "entropy"], n_repeats=2).frame, expected)


def test_a_table_that_pandas_cannot_hold_is_told() -> None:
    class Broken:
        def to_pandas(self) -> Any:
            raise ValueError("too far in the future")

    with pytest.raises(InputError, match=r"subject\.X must be a table that pandas can hold; got a .* Broken: too far"):
        as_frame(Broken(), "X")
    with pytest.raises(InputError, match="must be two-dimensional; got a Series"):
        table(polars()["age"], "X", None)
    array = np.eye(2)
    assert as_frame(array, "X") is array
