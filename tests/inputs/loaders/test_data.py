"""Files become frames; what cannot be read, or was read only in part, is told with its name."""

import gzip
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders.tables import CsvLoader, FeatherLoader, ParquetLoader

FRAME = pd.DataFrame({"a": [1.5, 2.0], "b": ["x", "ü"], "y": [0, 1]})
BINARY = (ParquetLoader(), FeatherLoader())


def test_csv_is_read_plain_and_compressed(tmp_path: Path) -> None:
    for name in ("t.csv", "t.CSV", "t.csv.gz"):
        assert CsvLoader().matches(name)
    for name in ("t.csv", "t.csv.gz"):
        FRAME.to_csv(tmp_path / name, index=False)
        pd.testing.assert_frame_equal(CsvLoader().load(str(tmp_path / name)), FRAME)
    for name in ("t.parquet", "csv", "sqlite:///t.csv"):
        assert not CsvLoader().matches(name)


@pytest.mark.parametrize("loader", BINARY)
def test_binary_files_are_read(tmp_path: Path, loader: ParquetLoader | FeatherLoader) -> None:
    pytest.importorskip("pyarrow", reason="Parquet and Feather need pyarrow")
    frame = FRAME.assign(
        day=pd.Series([date(2026, 1, 1), None]),
        owed=pd.Series([Decimal("1.25"), None]),
        c=pd.Categorical(["v", "w"], ["w", "v"]),
    )
    file = tmp_path / ("t.pq" if loader.name == "parquet" else "t.arrow")
    frame.to_parquet(file) if loader.name == "parquet" else frame.to_feather(file)
    assert loader.matches(str(file).upper())
    assert not loader.matches("t.csv")
    table = loader.load(str(file))
    pd.testing.assert_frame_equal(table[list(FRAME)], FRAME)
    assert table["day"].tolist()[0] == pd.Timestamp("2026-01-01")
    assert pd.isna(table["day"][1])
    assert table["owed"].tolist()[0] == 1.25
    assert table["c"].cat.categories.tolist() == ["w", "v"]


@pytest.mark.parametrize("loader", [CsvLoader(), *BINARY])
def test_what_cannot_be_read_is_named(tmp_path: Path, loader: CsvLoader | ParquetLoader | FeatherLoader) -> None:
    if loader.name != "csv":
        pytest.importorskip("pyarrow", reason="Parquet and Feather need pyarrow")
    (tmp_path / "broken").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("missing", "broken", "empty"):
        with pytest.raises(InputError, match=f"data must be a readable .* file; got '.*{name}'"):
            loader.load(str(tmp_path / name))


@pytest.mark.parametrize("loader", BINARY)
def test_a_half_written_binary_file_is_refused(tmp_path: Path, loader: ParquetLoader | FeatherLoader) -> None:
    pytest.importorskip("pyarrow", reason="Parquet and Feather need pyarrow")
    file = tmp_path / "t"
    FRAME.to_parquet(file) if loader.name == "parquet" else FRAME.to_feather(file)
    whole = file.read_bytes()
    for share in (0.3, 0.6, 0.95):
        file.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(InputError, match="data must be a readable"):
            loader.load(str(file))


@pytest.mark.parametrize("max_rows", [None, 1])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,gr\xfcn\n".encode("latin-1"), "Save it in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "Save it in UTF-8"),
        (b"a,b\n1,2\n3", "its last row has 1 of 2 cells"),
        (b"a,b\n1,2\n" + bytes(40), "ends in zero bytes"),
        (b'a,b\n1,2\n3,"4', "EOF inside string"),
        (b"a,b\n1,2\n3,4,5\n", "Expected 2 fields in line 3, saw 3"),
        (b"a,b\n1,2,3\n4,5,6\n", "more cells than the 2 columns"),
        (b"a,b,a\n1,2,3\n", r"names \['a'\] more than once"),
        (b"a;b\n1;2\n", "separated by ';'"),
    ],
)
def test_a_csv_that_would_be_misread_is_refused(
    tmp_path: Path, content: bytes, message: str, max_rows: int | None
) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        CsvLoader().load(str(file), max_rows=max_rows)


def test_a_csv_may_end_without_a_newline_and_hold_quoted_ones(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    for text in ("a,b\n1,2", 'a,b\r\n1,"x\r\ny"', '\ufeffa,b\n1,"two\nlines"\n'):
        file.write_text(text, encoding="utf-8", newline="")
        assert CsvLoader().load(str(file)).shape == (1, 2)
        assert CsvLoader().load(str(file)).columns.tolist() == ["a", "b"]


def test_a_cut_compressed_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-12])
    for rows in (None, 5):
        with pytest.raises(InputError, match="data must be a readable CSV file"):
            CsvLoader().load(str(file), max_rows=rows)
