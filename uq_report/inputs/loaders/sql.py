"""Data from databases, through SQLAlchemy: a URL or an SQLite file, and a query."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ...core.support.arrays import tidied
from ...core.support.errors import InputError, LockedError, optional
from ...core.support.text import masked, without_secrets
from .base import DataLoader
from .tables import Reservoir

_LATER = re.compile(
    r"is locked|refused|unreachable|no route to host|not translate host name|resolve host|"
    r"name or service not known|name resolution|can't connect|connection reset|lost connection|timeout|timed out|"
    r"starting up|shutting down|terminating connection|server closed the connection|too many clients|"
    r"too many connections|could not obtain lock|lock timeout"
)
_READS = ("select", "with", "values", "table")


def message(error: BaseException, source: str) -> str:
    """Return the first line of a driver's message without any secret of `source`; none if the source may hide one."""
    text = str(getattr(error, "orig", None) or error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    return without_secrets(line, source)


def is_passing(error: BaseException) -> bool:
    """Say whether a database is locked, down or full for now, so that the same may work later."""
    return _LATER.search(str(getattr(error, "orig", None) or error).lower()) is not None


def check_query(query: str, source: str) -> str:
    """Return one reading statement without its semicolon; refuse anything else."""
    plain = query.strip().rstrip(";").strip()
    words = re.findall(r"[a-z]+", re.sub(r"(?s)/\*.*?\*/|--[^\n]*", " ", plain).lower())
    if not words or words[0] not in _READS:
        got = words[0].upper() if words else "none"
        raise InputError(
            f"data.query must be one SELECT for {masked(source)!r}; got {got}. State the rows to audit as a SELECT."
        )
    return plain


FETCH = 10_000  # rows
SQLITE_WAIT = 5.0  # seconds for another process to finish its write
CONNECT_WAIT = 20  # seconds
_DIALECT = re.compile(r"(sqlite|postgresql|mysql|mariadb|mssql|oracle|snowflake|bigquery|duckdb|redshift)(\+\w+)?:/")


class SqlLoader(DataLoader):
    """Reads what one SELECT returns; never writes.

    SQLite files are opened read-only; PostgreSQL gets read-only transactions of one snapshot; with
    other databases nothing is committed. Rows are fetched in parts by a server-side cursor, so with
    `max_rows` memory is bounded by the sample. Passwords are best left to the environment
    (PGPASSWORD, ~/.pgpass); one in the URL appears in no message. Dates become ``datetime64``,
    decimals ``float64``.
    """

    name: ClassVar[str] = "sql"
    libraries: ClassVar[tuple[str, ...]] = ("sqlalchemy",)
    endings: ClassVar[tuple[str, ...]] = (".db", ".sqlite", ".sqlite3")
    options: ClassVar[tuple[str, ...]] = ("query", "max_rows", "seed")

    def matches(self, source: str) -> bool:
        """Match URLs of the databases SQLAlchemy speaks to, and names of SQLite files."""
        return _DIALECT.match(source) is not None or super().matches(source)

    def sha256(self, source: str) -> str:
        """Return nothing: a database changes in place; the table it gave is hashed by the run."""
        return ""

    def load(self, source: str, *, query: str = "", max_rows: int | None = None, seed: int = 0) -> pd.DataFrame:
        """Return the rows of `query`; ``attrs["sampled_from"]`` is their number if some were drawn.

        Raises
        ------
        InputError
            If the query is no SELECT, or the database refuses it.
        LockedError
            If the database is locked or down for now.
        """
        sqlalchemy = optional("sqlalchemy", "the SQL loader", "SQLAlchemy", "sql")
        statement = check_query(query, source)
        reservoir = None if max_rows is None else Reservoir(max_rows, seed)
        try:
            names, rows = _read(sqlalchemy, source, statement, reservoir)
        except sqlalchemy.exc.NoSuchModuleError as error:
            raise InputError(f"data.source must be of an installed dialect; got {masked(source)!r}: {error}.") from None
        except ImportError as error:
            raise InputError(f"data.source {masked(source)!r} needs a driver: {error}. Install it.") from error
        except (sqlalchemy.exc.SQLAlchemyError, OSError, ValueError) as error:
            why = f"{masked(source)!r}: {message(error, source)}"
            if is_passing(error):
                raise LockedError(f"data.source must be reachable; got {why}. Try again later.") from None
            raise InputError(f"data must be what a query returns; got {why}. Check it.") from None  # no URL in a trace
        return _table(names, rows, reservoir, source)


def _read(
    sqlalchemy: Any, source: str, statement: str, reservoir: Reservoir | None
) -> tuple[list[str], list[Sequence[Any]]]:
    """Return the column names and the rows, or a sample of them, of one statement in a read-only connection."""
    engine = _engine(sqlalchemy, source)
    try:
        with engine.connect() as connection:
            # a % is a % without parameters; nothing is committed
            careful = connection.execution_options(stream_results=True, no_parameters=True)
            result = careful.exec_driver_sql(statement)
            names = [str(name) for name in result.keys()]  # noqa: SIM118 - a method of results, which are no mapping
            rows: list[Sequence[Any]] = []
            while part := result.fetchmany(FETCH):
                if reservoir is None:
                    rows += part
                else:
                    stay, taken = reservoir.offer(len(part))
                    rows = [rows[i] for i in stay] + [part[i] for i in taken]
            return names, rows
    finally:
        engine.dispose()


def _engine(sqlalchemy: Any, source: str) -> Any:
    """Return an engine that only reads, as far as the database can promise it."""
    if "://" not in source and not source.startswith("sqlite:"):
        return _sqlite(sqlalchemy, source)
    url = sqlalchemy.make_url(source)
    kind = url.get_backend_name()
    if kind == "sqlite":
        return _sqlite(sqlalchemy, url.database or "")
    if kind != "postgresql":
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool)
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return sqlalchemy.create_engine(
        url,
        poolclass=sqlalchemy.pool.NullPool,
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
        connect_args={"connect_timeout": CONNECT_WAIT, "options": "-c default_transaction_read_only=on"},
    )


def _sqlite(sqlalchemy: Any, name: str) -> Any:
    file = Path(name)
    if not file.is_file():
        raise InputError(f"data must be what a query returns; got {name!r}, which is no file. Check the path.")
    return sqlalchemy.create_engine(
        f"sqlite:///{file.resolve().as_uri()}?mode=ro&uri=true",
        poolclass=sqlalchemy.pool.NullPool,
        connect_args={"timeout": SQLITE_WAIT},
    )


def _table(names: list[str], rows: list[Sequence[Any]], reservoir: Reservoir | None, source: str) -> pd.DataFrame:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InputError(
            f"data.query must name every column once; got {doubled} more than once from {masked(source)!r}. Use AS."
        )
    table = tidied(pd.DataFrame.from_records([tuple(row) for row in rows], columns=names))
    if reservoir is not None and reservoir.offered > len(rows):
        table.attrs["sampled_from"] = reservoir.offered
    return table
