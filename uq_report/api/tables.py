"""Tables as notebooks show them: short, with everything else on request, every outside text cleaned and escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, TypeVar

import pandas as pd

from ..core.support.errors import InputError, check_choice, nearest
from ..core.support.numbers import interval, number
from ..core.support.text import clean
from ..evidence import columns as col
from ..reading.tables import is_blank

MAX_ROWS = 60
_NAMES = (
    col.MEASURE, col.FEATURE, col.FEATURE_2, col.ROW, col.ITEM, col.X, col.LEVEL, col.X_2, col.LEVEL_2
)  # fmt: skip


_ROWS = "For its rows write: for row in table.itertuples()"
V = TypeVar("V")


class ByName(dict[str, V]):
    """Things by name, and by number.

    Examples
    --------
    >>> ByName(a="first", b="last")[-1]
    'last'
    """

    def __getitem__(self, key: str | int) -> V:
        """Return the thing of a name or a number."""
        name = list(self)[key] if isinstance(key, int) and -len(self) <= key < len(self) else key
        check_choice("The name", name, self)
        return super().__getitem__(str(name))


class ColumnName(str):
    """The name of a column, which answers where the loop over a table means its rows."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Refuse the attribute of a row."""
        raise AttributeError(f"A loop over a table gives its columns, {self!r} here. {_ROWS}")

    def __getitem__(self, key: Any) -> str:
        """Refuse the column of a row; return characters."""
        if isinstance(key, str):
            raise InputError(f"A loop over a table gives its columns, {self!r} here. {_ROWS}")
        return super().__getitem__(key)


class TextTable(pd.DataFrame):
    """A frame of texts that a notebook shows in full, and a list of its rows by number and by name.

    A name is a value of the column ``name``, else of the first: the code of a finding, the name of an option.

    Examples
    --------
    >>> table = TextTable({"code": ["UQ101", "UQ203"], "severity": ["high", "low"]})
    >>> table[0].severity, table["UQ203"].severity.tolist(), "UQ203" in table
    ('high', ['low'], True)
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the names of the columns, as pandas does."""
        return map(ColumnName, self.columns)

    def __contains__(self, key: object) -> bool:  # type: ignore[misc]  # final in pandas-stubs, not in pandas
        """Say whether there is a column, or a row, of that name."""
        return key in self.columns or (len(self) > 0 and key in set(self._names))

    @property
    def _names(self) -> pd.Series[Any]:
        return self[next(column for column in ("name", *self.columns) if column in self.columns)]

    def __getitem__(self, key: Any) -> Any:
        """Return a column, a choice of rows, the row of a number, or the rows of a name."""
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise InputError(f"The number of a row must be below {len(self)}; got {key}.")
            return self.iloc[key]
        if isinstance(key, str) and key not in self.columns:
            if key not in self:
                known = {*self.columns, *(self._names if len(self) else ())}
                raise InputError(f"The name of a row or column must be known; got {key!r}. {nearest(key, known)}")
            return self.loc[(self._names == key).to_numpy()]
        return super().__getitem__(key)

    def filter(self, *args: Any, **kwargs: Any) -> Any:
        """Return a choice of columns, as pandas does; answer a choice of rows."""
        for key in (name for name in kwargs if name in self.columns):
            raise InputError(
                f"filter must choose columns; got {key!r}. Write table[table[{key!r}] == {kwargs[key]!r}]."
            )
        return super().filter(*args, **kwargs)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of pandas, without the rows by name."""
        return pd.DataFrame(self)

    def _repr_html_(self) -> str:
        return as_table(self) if len(self) else "<p>None.</p>"


def compact(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return what a reader looks at first: names, estimate, interval and verdict, as texts.

    Examples
    --------
    >>> rows = {"measure": "nll", "feature": ["a"], "estimate": 0.1234, "lower": 0.1, "upper": 0.14}
    >>> compact(pd.DataFrame(rows)).to_dict("records")
    [{'feature': 'a', 'nll': '0.123', 'interval': '0.100 to 0.140'}]
    """
    shown = [name for name in _NAMES if name in estimates and not is_blank(estimates[name])]
    measures = estimates[col.MEASURE].unique()
    heading = col.ESTIMATE
    if len(measures) == 1 and measures[0]:
        shown, heading = [name for name in shown if name != col.MEASURE], str(measures[0])
    table = pd.DataFrame({name: estimates[name].map(_cell) for name in shown}, index=estimates.index)
    table[heading] = estimates[col.ESTIMATE].map(_cell)
    ends = zip(estimates[col.LOWER], estimates[col.UPPER], strict=True)
    intervals = pd.Series([interval(*pair) for pair in ends], index=estimates.index, dtype=object)
    if (intervals != "").any():
        table["interval"] = intervals
    if col.VERDICT in estimates and not is_blank(estimates[col.VERDICT]):
        table[col.VERDICT] = estimates[col.VERDICT].map(_cell)
    return table


def estimates_page(title: str, estimates: pd.DataFrame, notes: Iterable[str]) -> str:
    """Return estimates for a notebook: the short table, and all columns and notes on request."""
    below = "".join(f"<li>{escape(clean(note))}</li>" for note in notes)
    more = f"<ul>{below}</ul>" if below else ""
    if len(estimates):
        parts = {"All columns": as_table(estimates), "Notes": more}
        folded = (f"<details><summary>{what}</summary>{part}</details>" for what, part in parts.items() if part)
        more = as_table(compact(estimates)) + "".join(folded)
    return f"<p><strong>{escape(clean(title))}</strong></p>{more}"


def as_table(frame: pd.DataFrame) -> str:
    """Return a frame as an HTML table of at most `MAX_ROWS` rows; codes link to the pages in a column `docs`."""
    texts = frame.head(MAX_ROWS).map(lambda value: escape(_cell(value))).rename(columns=lambda name: escape(str(name)))
    if "docs" in texts:
        pages = zip(texts["code"], texts.pop("docs"), strict=True)
        texts["code"] = [f'<a href="{page}">{code}</a>' if page else code for code, page in pages]
    with pd.option_context("display.max_colwidth", None):
        table: str = texts.to_html(index=False, escape=False, border=0, justify="left")
    table = re.sub(r"<td>(?=[^<]{80})", '<td style="text-align: left; min-width: 16em">', table)  # on small screens
    table = re.sub("<(t[dh])>", r'<\1 style="text-align: left">', table)  # themes of notebooks align to the right
    left = len(frame) - MAX_ROWS
    return table if left <= 0 else f"{table}<p>{left} further rows are in the frame.</p>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else number(value)
    return "" if value is None or value is pd.NA else clean(value)
