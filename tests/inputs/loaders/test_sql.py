"""One SELECT becomes a frame; nothing is written, no password is told, a locked database is to be tried later."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote_plus

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from uq_report import cli
from uq_report.core.support.errors import InputError, LockedError
from uq_report.core.support.text import masked
from uq_report.inputs.loaders.sql import SqlLoader, is_passing, message
from uq_report.jobs import read_table
from uq_report.jobs.reading import describe_audit
from uq_report.jobs.sources import source_name

pytest.importorskip("sqlalchemy", reason="the SQL loader needs SQLAlchemy")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "rows.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, a REAL, b TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i, i / 4, f"{i} %s :x") for i in range(500)])
        connection.execute("UPDATE t SET a = NULL WHERE id = 3")
        connection.commit()
    return file


@pytest.mark.parametrize("source", ["{}", "sqlite:///{}", "sqlite+pysqlite:///{}"])
def test_sqlite_is_read_by_file_and_by_url(database: Path, source: str) -> None:
    named = source.format(database)
    assert SqlLoader().matches(named)
    table = SqlLoader().load(named, query="SELECT a, b, id AS n FROM t WHERE b LIKE '%:x' ORDER BY id;  ")
    assert list(table) == ["a", "b", "n"]
    assert len(table) == 500
    assert np.isnan(table["a"][3])
    assert table["a"][4] == 1.0
    assert table["n"].dtype == np.int64
    assert table.attrs == {}


def test_a_sample_is_drawn_while_rows_pass_by(database: Path) -> None:
    query = "SELECT id, a FROM t ORDER BY id"
    table = SqlLoader().load(str(database), query=query, max_rows=40, seed=2)
    assert table.attrs == {"sampled_from": 500}
    assert table["id"].is_monotonic_increasing
    assert table["id"].nunique() == 40
    pd.testing.assert_frame_equal(SqlLoader().load(str(database), query=query, max_rows=40, seed=2), table)
    assert SqlLoader().load(str(database), query=query, max_rows=500).attrs == {}


@pytest.mark.parametrize("query", ["", "DELETE FROM t", "-- select\nDROP TABLE t", "/* with */ UPDATE t SET a = 1"])
def test_what_is_no_select_is_refused(database: Path, query: str) -> None:
    with pytest.raises(InputError, match=r"data\.query must be one SELECT for"):
        SqlLoader().load(str(database), query=query)


def test_nothing_is_written_even_by_a_select_that_would(database: Path) -> None:
    before = database.read_bytes()
    query = "WITH x AS (SELECT 1) INSERT INTO t SELECT 1, 2, 3 FROM x"
    with pytest.raises(InputError, match="attempt to write a readonly database"):
        SqlLoader().load(str(database), query=query)
    with pytest.raises(InputError, match="one statement at a time"):
        SqlLoader().load(str(database), query="SELECT 1; DROP TABLE t")
    assert database.read_bytes() == before
    assert sorted(p.name for p in database.parent.iterdir()) == ["rows.db"]


def test_mistakes_are_told(database: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such column: c"):
        SqlLoader().load(str(database), query="SELECT c FROM t")
    with pytest.raises(InputError, match=r"names? every column once; got \['a'\]"):
        SqlLoader().load(str(database), query="SELECT a, a FROM t")
    with pytest.raises(InputError, match="which is no file"):
        SqlLoader().load(f"sqlite:///{tmp_path}/missing.db", query="SELECT 1")
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "broken.db").write_bytes(b"no database" * 99)
    with pytest.raises(InputError, match="file is not a database"):
        SqlLoader().load(str(tmp_path / "broken.db"), query="SELECT * FROM t")
    database.write_bytes(database.read_bytes()[:6000])
    with pytest.raises(InputError, match="malformed"):
        SqlLoader().load(str(database), query="SELECT * FROM t")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a locked database no longer than a moment."""
    monkeypatch.setattr("uq_report.inputs.loaders.sql.SQLITE_WAIT", 0.05)


def test_a_locked_database_is_to_be_tried_later(database: Path, impatient: None) -> None:
    with closing(sqlite3.connect(database)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LockedError, match=r"database is locked\. Try again later"):
            SqlLoader().load(str(database), query="SELECT 1 FROM t")


SECRET = "s3cr3t"
# every way to write a password, with what a message may show of the address
ADDRESSES = {
    "postgresql://me:s3cr3t@h/db": "postgresql://h/db",
    "postgresql+psycopg://me:s3cr3t%40w:x@h:5432/db": "postgresql+psycopg://h:5432/db",
    "postgresql://:s3cr3t@h/db#a": "postgresql://h/db",
    "postgresql://me:s3cr3t@[::1]:5432/db": "postgresql://[::1]:5432/db",
    "postgresql://me:x s3cr3t@h/db": "postgresql://h/db",
    "postgresql://me:s3cr3t h/db": "postgresql:***",
    "postgresql://me:x@s3cr3t@h/db": "postgresql:***",
    "postgresql://me:s3cr3t/x@h/db": "postgresql:***",
    "postgresql://me:x?s3cr3t@h/db": "postgresql:***",
    "postgresql://me:5?s3cr3t@h/db": "postgresql:***",
    "postgresql://me:s3cr3t[@h/db": "postgresql://h/db",
    "postgresql://h/db?user=me&password=s3cr3t": "postgresql://h/db",
    "postgresql://h/db?user=me&password=x@s3cr3t": "postgresql:***",
    "mysql://h/db?PASSWORD=s3cr3t": "mysql://h/db",
    "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7Bx%7D%3BPWD%3Ds3cr3t": "mssql+pyodbc:///",
    "mssql+pyodbc:///?odbc_connect=DRIVER={x};PWD={s3cr3t}": "mssql+pyodbc:///",
    "mssql+pyodbc:///DRIVER={x};PWD=s3cr3t": "mssql+pyodbc:***",
    "bigquery://project/set?credentials_base64=s3cr3t": "bigquery://project/set",
    "snowflake://me:s3cr3t@account/db?warehouse=w": "snowflake://account/db",
    "postgresql:/me:s3cr3t@h/db": "postgresql:***",
    "postgresql:me:s3cr3t@h/db": "postgresql:***",
    " postgresql://me:s3cr3t@h/db": "***",
    "postgresql://[::1": "postgresql:***",
    "sqlite:///rows.db": "sqlite:///rows.db",
    "sqlite:///C:/data/rows.db": "sqlite:///C:/data/rows.db",
    "models:/credit@champion": "models:/credit@champion",
}


@pytest.mark.parametrize("source", ADDRESSES)
def test_no_message_has_a_secret_of_an_address(source: str) -> None:
    assert masked(source) == ADDRESSES[source]
    assert masked(masked(source)) == masked(source)
    assert SECRET not in source_name(source)
    assert SECRET not in message(ValueError(f"dsn {source!r}; {unquote_plus(source)}"), source)
    with pytest.raises(InputError) as caught:
        read_table(source)  # without a query, which the loader asks for first
    assert SECRET not in str(caught.value)
    for wrong in ([source], {"url": source}):
        assert SECRET not in str(describe_audit(None, {"data.source": wrong}).mistakes)


def test_a_driver_that_repeats_the_password_is_masked_too() -> None:
    error = ValueError("bad dsn user=me password=p@w host=h (p%40w)\nmore")
    assert message(error, "postgresql://me:p%40w@h/db") == "bad dsn user=me password=*** host=h (***)"


def test_what_passes_is_told_from_what_does_not() -> None:
    assert is_passing(ValueError("connection to server failed: Connection refused"))
    assert is_passing(ValueError("FATAL:  the database system is starting up"))
    assert not is_passing(ValueError('password authentication failed for user "me"'))


def test_a_database_that_is_down_is_to_be_tried_later_and_its_password_is_no_ones_business() -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    with pytest.raises(LockedError) as caught:
        SqlLoader().load("postgresql://me:s3cr3t@127.0.0.1:9/db", query="SELECT 1")
    assert "s3cr3t" not in str(caught.value)
    assert "postgresql://127.0.0.1:9/db" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "words",
    [
        'could not translate host name "h" to address: Name or service not known',
        "[Errno -2] Name or service not known",
        "failed to resolve host 'h'",
        "Temporary failure in name resolution",
        "connection to server failed: No route to host",
        "Network is unreachable",
        "(2003, \"Can't connect to MySQL server on 'h'\")",
        "Lost connection to server during query",
    ],
)
def test_what_cannot_be_reached_is_to_be_tried_later(words: str) -> None:
    assert is_passing(OSError(words))


def test_a_command_ends_with_75_by_a_locked_database(
    database: Path, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(database.parent)
    Path("audit.toml").write_text(
        "model.source = 'm:f'\ndata = {source = 'rows.db', query = 'SELECT * FROM t', target = 'a'}\n"
    )
    with closing(sqlite3.connect(database)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for words in (["run", "audit.toml"], ["config", "check", "audit.toml"]):
            assert CliRunner().invoke(cli.app, words).exit_code == 75


def test_other_spellings() -> None:
    for source in ("t.csv", "models:/m/1", "http://h/x.db", "module:factory"):
        assert not SqlLoader().matches(source)
    assert SqlLoader().sha256("sqlite:///rows.db") == ""
    with pytest.raises(InputError, match=r"needs a driver|installed dialect"):
        SqlLoader().load("snowflake://me:s3cr3t@h/db", query="SELECT 1")
