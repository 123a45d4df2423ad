"""Models in other languages: a command reads observations from a file and writes what the model predicts for them."""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, ModelError, PendingError, UQReportError, words_of
from ...core.support.text import clean
from ...distributions import Categorical, Draws, Normal, Quantiles
from .base import ModelLoader

PREFIX, PLANNED = "command:", "planned:"
ROWS, PREDICTIONS = "{rows}", "{predictions}"
SECONDS = 600  # a call
TURNED = 20  # rows that are asked for in reverse order once
SAID = 500  # characters of what the command printed
_FORMS = "p_<class> for each class, mean and sd, q05, q50 ... (quantiles), or draw_1, draw_2 ..."


class CommandLoader(ModelLoader):
    """Makes a function of a command, ``command:Rscript predict.R {rows} {predictions}``, which runs its code.

    ``planned:FOLDER`` is the same without a command: rows whose predictions are not in the folder are written to
    ``rows.csv`` there, and ``predictions.csv`` is awaited beside it (`uq-report plan`).

    The command reads the CSV at ``{rows}``, with a header and NA for missing values, and writes a CSV of as many rows
    in the same order to ``{predictions}``: columns ``p_<class>``, or ``mean`` and ``sd``, or ``q05``, ``q50`` ..., or
    ``draw_1``, ``draw_2`` ...; a column ``row`` of 1, 2 ... is checked where there is one. It runs in the working
    folder, without a shell. The hash is of the command and of the files that it names.
    """

    name: ClassVar[str] = "command"

    def matches(self, source: str) -> bool:
        """Match what begins with ``command:`` or ``planned:``."""
        return source.startswith((PREFIX, PLANNED))

    def sha256(self, source: str) -> str:
        """Return the hash of the command and of the content of the files that it names, or of those of a plan."""
        if source.startswith(PLANNED):
            words, files = [], [file for pair in _pairs(Path(source.removeprefix(PLANNED))) for file in pair]
        else:
            words = _words(source)
            files = [file for file in map(Path, words) if file.is_file()]
        content = hashlib.sha256("\0".join(words).encode())
        for file in files:
            content.update(hashlib.sha256(file.read_bytes()).digest())
        return content.hexdigest()

    def load(self, source: str) -> CommandModel | PlannedModel:
        """Return the function."""
        if source.startswith(PLANNED):
            return PlannedModel(Path(source.removeprefix(PLANNED)))
        return CommandModel(tuple(_words(source)))

    def caution(self, source: str) -> str:
        """State that code of the command is run."""
        if source.startswith(PLANNED):
            return ""
        return f"a command: {clean(_words(source)[0])} runs its code for every call"


def _words(source: str) -> list[str]:
    """Return the words of a command, which names both files."""
    try:
        words = shlex.split(source.removeprefix(PREFIX))
    except ValueError as error:
        raise InputError(f"model.command must be words of a command line; got {source!r}: {error}.") from error
    lacking = [place for place in (ROWS, PREDICTIONS) if not any(place in word for word in words)]
    if lacking:
        raise InputError(
            f"model.command must name {ROWS} and {PREDICTIONS}; got {source.removeprefix(PREFIX)!r} without "
            f"{', '.join(lacking)}. Write: Rscript predict.R {ROWS} {PREDICTIONS}"
        )
    return words


def _pairs(folder: Path) -> list[tuple[Path, Path]]:
    """Return rows with their predictions, the numbered pairs in their order and then the one without a number."""
    every = [(rows, rows.with_name(f"predictions{rows.stem[4:]}.csv")) for rows in sorted(folder.glob("rows-*.csv"))]
    new = (folder / "rows.csv", folder / "predictions.csv")
    return [*every, new] if all(file.is_file() for file in new) else every


@dataclass
class CommandModel:
    """A function from rows to the distribution that a command predicts for them."""

    words: tuple[str, ...]
    _turned: bool = field(default=False, repr=False)
    _columns: list[str] = field(default_factory=list, repr=False)

    @property
    def __name__(self) -> str:
        return f"the command {self.words[0]}"

    def __call__(self, X: Any) -> Distribution:
        """Return the distributions; the first call looks whether rows answer in their own order."""
        rows = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{k}" for k in range(np.shape(X)[1])])
        answer = self._answer(rows)
        if not self._turned:
            self._turned = True
            some = min(len(rows), TURNED)
            back = self._answer(rows.iloc[:some][::-1])
            if not np.allclose(back[::-1], answer[:some], rtol=1e-6, atol=1e-9):
                raise ModelError(
                    f"{self.__name__} must predict each row by itself, in the order of {ROWS}; its answers change when "
                    "the rows are given in reverse order. Write one line for each row, in their order."
                )
        return distribution_of(answer, self._columns, self.__name__)

    def _answer(self, rows: pd.DataFrame) -> FloatArray:
        """Run the command once and return its columns as numbers."""
        with TemporaryDirectory(prefix="uq-report-") as folder:
            given, made = Path(folder, "rows.csv"), Path(folder, "predictions.csv")
            rows.to_csv(given, index=False, na_rep="NA")
            files = {ROWS: str(given), PREDICTIONS: str(made)}
            call = [re.sub(r"\{(rows|predictions)\}", lambda m: files[m[0]], word) for word in self.words]
            printed = self._run(call)
            if not made.is_file():
                raise ModelError(f"{self.__name__} must write {PREDICTIONS}; it wrote nothing. It printed: {printed}")
            try:
                table = pd.read_csv(made, float_precision="round_trip")
            except ValueError as error:
                raise ModelError(f"{self.__name__} must write a CSV; got {words_of(error)}.") from error
        self._columns, numbers = _numbers(table, len(rows), self.__name__)
        return numbers

    def _run(self, call: list[str]) -> str:
        """Run the command and return what it printed on standard error."""
        try:
            done = subprocess.run(call, capture_output=True, check=False, timeout=SECONDS)  # noqa: S603 - the user's own
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ModelError(f"{self.__name__} must run within {SECONDS} seconds; got {words_of(error)}.") from error
        printed = clean(done.stderr.decode(errors="replace")[-4 * SAID :], 4 * SAID)[-SAID:]
        if done.returncode:
            raise ModelError(f"{self.__name__} must end with exit code 0; got {done.returncode}. It printed: {printed}")
        return printed or "nothing"


def _numbers(table: pd.DataFrame, n: int, who: str) -> tuple[list[str], FloatArray]:
    """Return columns and numbers of another program's answer; refuse another number, order or kind of values."""
    if len(table) != n:
        raise ModelError(f"{who} must write one line for each of {n} rows; got {len(table)}.")
    if "row" in table:
        if table["row"].tolist() != list(range(1, n + 1)):
            raise ModelError(f"{who} must write rows 1 to {n} in their order; got another order in row.")
        table = table.drop(columns="row")
    try:
        numbers = table.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{who} must write numbers; got {words_of(error)}.") from error
    bad = ~np.isfinite(numbers).all(axis=1)
    if bad.any():
        of = f"{int(bad.sum())} of {n} rows, first in row {int(bad.argmax()) + 1}"
        raise ModelError(f"{who} must write finite numbers; got others in {of}.", row=int(bad.argmax()))
    return list(map(str, table.columns)), numbers


class PlannedModel:
    """A function from rows to distributions whose predictions another program made, and a list of those it lacks.

    Numbered pairs ``rows-001.csv`` and ``predictions-001.csv`` in the folder are known; a pair without a number is
    numbered. Rows that are not known get the mean of the known predictions, so that a whole audit can be asked what
    it needs at once; `refuse_pending` then writes them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._header = folder, ""
        self._missing: dict[str, None] = {}
        self._known: dict[str, FloatArray] = {}
        self._columns: list[str] = []
        for number, pair in enumerate(_pairs(folder), 1):
            self._read(*pair)
            for file in pair:
                file.rename(folder / f"{file.stem.partition('-')[0]}-{number:03}.csv")

    @property
    def __name__(self) -> str:
        return f"the plan {self.folder.name}"

    def __call__(self, X: Any) -> Distribution:
        """Return the known distributions, and the mean for rows that are not known."""
        rows = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{k}" for k in range(np.shape(X)[1])])
        header, *lines = rows.to_csv(index=False, na_rep="NA").splitlines()
        if len(lines) != len(rows):
            raise ModelError(f"{self.__name__} must have cells without line ends; got others. Replace these.")
        self._header = header
        self._missing |= dict.fromkeys(line for line in lines if line not in self._known)
        if not self._known:
            self.refuse_pending()
        mean = np.mean([*self._known.values()], axis=0)
        numbers = np.array([self._known.get(line, mean) for line in lines])
        return distribution_of(numbers, self._columns, self.__name__)

    def __reduce__(self) -> Any:
        """Refuse to be sent to another process, whose list of missing rows would be lost."""
        raise TypeError(f"{self.__name__} keeps a list of missing rows, which one process must hold")

    def refuse_pending(self) -> None:
        """Write the rows whose predictions are missing, and refuse to go on, where there are any."""
        if self._missing:
            self.folder.mkdir(parents=True, exist_ok=True)
            content = "\n".join([self._header, *self._missing, ""])
            (self.folder / "rows.csv").write_text(content, encoding="utf-8")
            raise PendingError(
                f"{self.__name__} must have predictions of {len(self._missing)} more rows; they are in rows.csv of the "
                "folder. Write predictions.csv beside it, and plan again."
            )

    def _read(self, rows: Path, predictions: Path) -> None:
        lines = rows.read_text(encoding="utf-8").splitlines()[1:]
        table = pd.read_csv(predictions, float_precision="round_trip")
        columns, numbers = _numbers(table, len(lines), self.__name__)
        if self._columns and columns != self._columns:
            raise ModelError(f"{self.__name__} must have the same columns in every file; got {columns} as well.")
        self._columns = columns
        self._known |= dict(zip(lines, numbers, strict=True))


def distribution_of(numbers: FloatArray, columns: list[str], who: str) -> Distribution:
    """Return the distribution that columns of a table stand for.

    Examples
    --------
    >>> distribution_of(np.array([[0.2, 0.8]]), ["p_no", "p_yes"], "it").classes.tolist()
    ['no', 'yes']
    >>> float(distribution_of(np.array([[1.0, 2.0]]), ["mean", "sd"], "it").variance()[0])
    4.0
    """
    try:
        if all(name.startswith("p_") for name in columns):
            labels = [name.removeprefix("p_") for name in columns]
            return Categorical(numbers, classes=[int(x) for x in labels] if all(map(str.isdigit, labels)) else labels)
        if set(columns) == {"mean", "sd"}:
            return Normal(numbers[:, columns.index("mean")], numbers[:, columns.index("sd")])
        if all(re.fullmatch(r"q\d+", name) for name in columns):
            return Quantiles([float(f"0.{name[1:]}") for name in columns], numbers)
        if all(name.startswith("draw_") for name in columns):
            return Draws(numbers.T)
    except UQReportError as error:
        raise ModelError(f"{who} must write a distribution for each row; {error}") from error
    raise ModelError(f"{who} must write the columns {_FORMS}; got {columns[:10]}.")
