"""A real PostgreSQL, started here: types, read-only transactions, samples, wrong passwords, a server that goes away."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError, LockedError
from uq_report.inputs.loaders.sql import SqlLoader

pytest.importorskip("sqlalchemy", reason="the SQL loader needs SQLAlchemy")
psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")

PASSWORD = "s3cr3t/@w"
QUOTED = "s3cr3t%2F%40w"


def binaries() -> Path:
    """Return the folder of the server's programs, or skip by name."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    folder = next((f for f in reversed(folders) if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)
    if folder is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    return folder


class Server:
    """A PostgreSQL server of its own folder and port, run by a user who is not root."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.folder = binaries(), folder
        self.user: Any = None
        if os.getuid() == 0:
            self.user = "postgres"
            shutil.chown(folder, "postgres")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        secret = folder / "secret"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self.call("initdb", "-D", f"{folder}/data", "-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}", "-N")

    def call(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self.programs / program), *arguments],
            check=True,
            user=self.user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self) -> None:
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")

    def url(self, password: str = QUOTED, database: str = "postgres") -> str:
        return f"postgresql://owner:{password}@127.0.0.1:{self.port}/{database}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with TemporaryDirectory(prefix="uq-postgres-") as folder:  # pytest's own are closed to the server's user
        yield from served(Path(folder))


def served(folder: Path) -> Iterator[Server]:
    one = Server(folder)
    one.start()
    try:
        with psycopg.connect(one.url()) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT i AS id, i / 8.0::float8 AS ratio, (i / 4.0)::numeric(9, 2) AS owed,"
                " DATE '2026-01-01' + i AS day, now() AS seen, i % 2 = 0 AS even, 'ü%s ' || i AS name"
                " FROM generate_series(0, 24999) AS i"
            )
            connection.execute("UPDATE t SET owed = NULL, day = NULL WHERE id = 1")
        yield one
    finally:
        one.stop()


def test_types_arrive_as_numbers_dates_and_text(server: Server) -> None:
    table = SqlLoader().load(server.url(), query="SELECT * FROM t WHERE name LIKE 'ü%' ORDER BY id")
    assert len(table) == 25_000
    assert table["ratio"].tolist()[8] == 1.0
    assert table["owed"].dtype == np.float64
    assert table["owed"].isna().sum() == 1
    assert table["owed"][2] == 0.5
    assert table["day"].dtype.kind == "M"
    assert table["day"][3] == pd.Timestamp("2026-01-04")
    assert table["seen"].dtype.kind == "M"
    assert table["even"].dtype == bool
    assert table["name"][0] == "ü%s 0"


def test_a_sample_is_drawn_by_a_cursor(server: Server) -> None:
    table = SqlLoader().load(server.url(), query="SELECT id FROM t ORDER BY id", max_rows=200, seed=5)
    assert table.attrs == {"sampled_from": 25_000}
    assert table["id"].is_monotonic_increasing
    assert table["id"].nunique() == 200


@pytest.mark.parametrize(
    "query",
    [
        "WITH gone AS (DELETE FROM t RETURNING id) SELECT * FROM gone",
        "SELECT setval('s', 1)",
        "SELECT 1; COMMIT; DROP TABLE t",
    ],
)
def test_nothing_is_written(server: Server, query: str) -> None:
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE SEQUENCE IF NOT EXISTS s")
    with pytest.raises(
        InputError, match=r"read-only transaction|must not contain data-modifying|multiple commands|syntax error"
    ):
        SqlLoader().load(server.url(), query=query)
    assert SqlLoader().load(server.url(), query="SELECT count(*) AS n FROM t")["n"].tolist() == [25_000]


def test_no_password_is_told(server: Server) -> None:
    for url, message in (
        (server.url("wr0ng"), "password authentication failed"),
        (server.url(database="nowhere"), 'database "nowhere" does not exist'),
    ):
        with pytest.raises(InputError, match=message) as caught:
            SqlLoader().load(url, query="SELECT 1")
        assert "postgresql://127.0.0.1:" in str(caught.value)
        for secret in (PASSWORD, QUOTED, "wr0ng"):
            assert secret not in str(caught.value)


def test_a_server_that_is_down_is_to_be_tried_later(server: Server) -> None:
    server.stop()
    try:
        with pytest.raises(LockedError, match="Try again later") as caught:
            SqlLoader().load(server.url(), query="SELECT 1")
        assert QUOTED not in str(caught.value)
    finally:
        server.start()
    assert len(SqlLoader().load(server.url(), query="SELECT 1 AS one")) == 1
