"""A row budget: every row is equally likely, parts do not matter, memory is that of the sample."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders import tables
from uq_report.inputs.loaders.tables import CsvLoader, FeatherLoader, ParquetLoader, Reservoir


def drawn(parts: list[int], size: int, seed: int) -> list[int]:
    """Return which of sum(parts) rows a reservoir keeps."""
    reservoir, held, start = Reservoir(size, seed), np.empty(0, dtype=int), 0
    for n in parts:
        stay, taken = reservoir.offer(n)
        held, start = np.concatenate([held[stay], start + taken]), start + n
    assert reservoir.offered == sum(parts)
    rows: list[int] = held.tolist()
    return rows


def test_the_parts_of_a_stream_do_not_change_the_sample() -> None:
    whole = drawn([100], 7, 3)
    assert len(set(whole)) == 7
    assert whole == sorted(whole)
    for parts in ([1] * 100, [50, 50], [3, 90, 0, 7]):
        assert drawn(parts, 7, 3) == whole
    assert drawn([100], 7, 4) != whole
    assert drawn([4], 7, 3) == [0, 1, 2, 3]


def test_every_row_is_equally_likely() -> None:
    """Counts of 20 rows in 3000 samples of 5: chi-square with 19 degrees of freedom, 99.9% at 43.8.

    Counts of one sample are negatively dependent, by the factor (1 - 5/20) of sampling without replacement.
    """
    counts = np.zeros(20)
    for seed in range(3000):
        counts[drawn([8, 5, 7], 5, seed)] += 1
    expected = 3000 * 5 / 20
    chi2 = ((counts - expected) ** 2 / (expected * (1 - 5 / 20))).sum() * 19 / 20
    assert chi2 < 43.8


def test_a_csv_is_drawn_from_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.csv"
    n = 4000
    frame = pd.DataFrame({"row": range(n), "gap": [None, 1.5] * (n // 2), "text": ["", 'a "b", c\nd'] * (n // 2)})
    frame.to_csv(file, index=False)
    table = CsvLoader().load(str(file), max_rows=300, seed=1)
    assert table.attrs == {"sampled_from": n}
    assert len(table) == 300
    expected = CsvLoader().load(str(file)).iloc[table["row"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, expected)
    monkeypatch.setattr(tables, "CELLS", 3 * 1300)
    pd.testing.assert_frame_equal(CsvLoader().load(str(file), max_rows=300, seed=1), table)


def test_a_small_csv_is_read_whole_and_says_nothing_of_a_sample(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,x\n,y\n")
    table = CsvLoader().load(str(file), max_rows=2)
    assert table.attrs == {}
    pd.testing.assert_frame_equal(table, CsvLoader().load(str(file)))
    with pytest.raises(InputError, match=r"data\.max_rows must be >= 1; got 0"):
        CsvLoader().load(str(file), max_rows=0)


def test_memory_is_bounded_by_the_sample_and_not_by_the_file(tmp_path: Path) -> None:
    """300 MB pass by; what the process holds grows by less than half of that (a part is some 100 MB)."""
    file, row = tmp_path / "big.csv", "x" * 590 + ",1.25,7,abc\n"
    with file.open("w") as stream:
        stream.write("text,a,b,c\n")
        for _ in range(500):
            stream.write(row * 1000)
    assert file.stat().st_size > 300e6
    script = """
        import resource, sys
        from uq_report.inputs.loaders import tables
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        tables.CELLS = 100_000
        before = peak()
        table = tables.CsvLoader().load(sys.argv[1], max_rows=2000)
        print(len(table), table.attrs["sampled_from"], peak() - before)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(file)], capture_output=True, text=True, check=True
    )
    rows, total, grown = map(float, run.stdout.split())
    assert (rows, total) == (2000, 500_000)
    assert grown < 150


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_binary_file_gives_the_sample_that_a_csv_gives(tmp_path: Path, ending: str) -> None:
    """Whatever the parts it is written or read in, with missing values, dates, decimals and categories."""
    pytest.importorskip("pyarrow", reason="Parquet and Feather need pyarrow")
    n = 5000
    frame = pd.DataFrame({
        "row": range(n),
        "gap": [None, 1.5] * (n // 2),
        "level": pd.Categorical([f"v{i // 900}" for i in range(n)]),
        "day": pd.Series(pd.date_range("2026-01-01", periods=n).date),
    })  # fmt: skip
    frame[["row", "gap"]].to_csv(tmp_path / "t.csv", index=False)
    expected = CsvLoader().load(str(tmp_path / "t.csv"), max_rows=300, seed=1)
    loader: ParquetLoader = ParquetLoader() if ending == "parquet" else FeatherLoader()
    for size in (n, 700):
        file = tmp_path / f"{size}.{ending}"
        if ending == "parquet":
            frame.to_parquet(file, row_group_size=size)
        else:
            frame.to_feather(file, chunksize=size)
        table = loader.load(str(file), max_rows=300, seed=1)
        assert table.attrs == {"sampled_from": n}
        pd.testing.assert_frame_equal(table[["row", "gap"]], expected)
        whole = loader.load(str(file)).iloc[table["row"]].reset_index(drop=True)
        pd.testing.assert_frame_equal(table, whole)
        pd.testing.assert_frame_equal(loader.load(str(file), max_rows=n), loader.load(str(file)))
        assert loader.load(str(file), max_rows=n).attrs == {}


def test_a_binary_sample_must_have_rows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"data\.max_rows must be >= 1; got 0"):
        ParquetLoader().load(str(tmp_path / "t.parquet"), max_rows=0)


def test_memory_of_a_parquet_sample_is_not_that_of_the_file(tmp_path: Path) -> None:
    """80 MB of numbers in one row group pass by; the process grows by less than half of them."""
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    file = tmp_path / "big.parquet"
    numbers = np.random.default_rng(0).random((500_000, 20))
    pd.DataFrame(numbers, columns=[f"x{j}" for j in range(20)]).to_parquet(file)
    code = f"""
        import resource
        from uq_report.inputs.loaders.tables import ParquetLoader
        ParquetLoader().load({str(tmp_path / "warm.parquet")!r}, max_rows=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        table = ParquetLoader().load({str(file)!r}, max_rows=2000)
        print(len(table), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "warm.parquet")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=300
    )
    rows, grown = map(int, done.stdout.split())
    assert rows == 2000
    assert grown < 40_000  # kB
