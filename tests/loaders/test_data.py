"""CSV and Parquet become frames; what cannot be read is told with its name."""

from pathlib import Path

import pandas as pd
import pytest

from uq_report.core.errors import InputError
from uq_report.loaders.csv_ import CsvLoader
from uq_report.loaders.parquet import ParquetLoader

FRAME = pd.DataFrame({"a": [1.5, 2.0], "b": ["x", "ü"], "y": [0, 1]})


def test_csv_is_read_plain_and_compressed(tmp_path: Path) -> None:
    for name in ("t.csv", "t.CSV", "t.csv.gz"):
        assert CsvLoader().matches(name)
    for name in ("t.csv", "t.csv.gz"):
        FRAME.to_csv(tmp_path / name, index=False)
        pd.testing.assert_frame_equal(CsvLoader().load(str(tmp_path / name)), FRAME)
    assert not CsvLoader().matches("t.parquet")
    assert not CsvLoader().matches("csv")


def test_parquet_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    FRAME.to_parquet(tmp_path / "t.parquet")
    assert ParquetLoader().matches("t.PQ")
    assert not ParquetLoader().matches("t.csv")
    pd.testing.assert_frame_equal(ParquetLoader().load(str(tmp_path / "t.parquet")), FRAME)


@pytest.mark.parametrize("loader", [CsvLoader(), ParquetLoader()])
def test_what_cannot_be_read_is_named(tmp_path: Path, loader: CsvLoader | ParquetLoader) -> None:
    if loader.name == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    (tmp_path / "broken").write_bytes(b"\xff\xfe\x00")
    for name in ("missing", "broken"):
        with pytest.raises(InputError, match=f"data must be a readable .* file; got '.*{name}'"):
            loader.load(str(tmp_path / name))
