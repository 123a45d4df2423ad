"""The folder of one run: everything is written beside its place first, then moved there.

If anything fails before the move, the files of the last run are untouched; if a move fails, they are put back.
If the process is killed, every file is the old or the new one, and the next writer ends its work; see `disk`.
"""

import csv
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.support.errors import InputError, OutputError
from ..core.support.safe_loading import LARGE, bytes_of, json_of
from ..core.support.text import file_stem, harmless
from . import disk
from .codec import dumps, loads
from .disk import CLOCK, EVIDENCE, RUN, write_through
from .run import Run

_LEAST = 2**20  # bytes; a disk with less is full: the smallest runs need as much
# What a spreadsheet would take for a formula (OWASP ASVS 1.2.10), also behind blanks.
_FORMULA = re.compile(r"\s*[=+\-@]|\t")

_README = b"""Copies of the run's tables for spreadsheets; text they would take for a formula has a leading '.
The numbers of the report are in run.json, which is the copy for programs; nothing reads these files back.
"""


def write(run: Run, folder: str | Path, *, reports: Mapping[str, bytes], clock: Mapping[str, Any]) -> Path:
    """Write run.json, the reports, evidence/*.csv, SHA256SUMS over these, and clock.json; return the folder.

    Parameters
    ----------
    run : Run
    folder : str or Path
        Made if it is missing; files of an earlier run in it are replaced.
    reports : mapping of str to bytes
        File name -> content, ``{"report.html": b"..."}``.
    clock : mapping
        Durations, host and workers; the only file that differs between equal runs.
    """
    files = contents(run, reports=reports, clock=clock)
    listed = disk.hashes({name: content for name, content in files.items() if name != CLOCK})
    return write_files(folder, {**files, disk.SUMS: disk.dumps(listed)})


def write_first(
    run: Run, folder: str | Path, *, reports: Iterable[tuple[str, bytes]], clock: Mapping[str, Any]
) -> Path:
    """Write a run as `write` does, but all else before the first report is made; return the folder.

    What stops the reports keeps what is written: its notes say where that is.
    """
    write(run, folder, reports={}, clock=clock)
    try:
        return _write_made(folder, reports, Path(folder, RUN).read_bytes())
    except BaseException as error:
        error.add_note(f"The results are saved in {folder}; what is missing of the report: uq-report render {folder}")
        raise


def write_reports(run: Run, folder: str | Path, reports: Iterable[tuple[str, bytes]]) -> Path:
    """Write reports alone into a folder; its SHA256SUMS lists them if they are of the run that it lists."""
    return _write_made(folder, reports, dumps(run))


def _write_made(folder: str | Path, reports: Iterable[tuple[str, bytes]], run: bytes) -> Path:
    """Write each report that is made, also where another one stops; see `write_listed`."""
    made: dict[str, bytes] = {}
    stopped: BaseException | None = None
    try:
        made.update(reports)  # one by one: those before the one that stops are in it
    except BaseException as error:  # noqa: BLE001 - an interrupt too; it goes on below
        stopped = error
    if made:
        write_listed(folder, made, run)
    if stopped is not None:
        if made:
            stopped.add_note(f"Written in {folder}: {', '.join(made)}.")
        raise stopped
    return Path(folder)


def write_listed(folder: str | Path, files: Mapping[str, bytes], run: bytes) -> Path:
    """Write files alone into a folder; its SHA256SUMS lists them if they are of `run`, a run.json, that it lists."""
    listed, more = disk.loads(Path(folder)), {}
    if listed:
        others = {name: digest for name, digest in listed.items() if name not in files}
        same = disk.hashes({RUN: run})[RUN] == listed.get(RUN)
        more = {disk.SUMS: disk.dumps({**others, **(disk.hashes(files) if same else {})})}
    return write_files(folder, {**files, **more})


def check_place(folder: str | Path, names: Iterable[str] = ()) -> None:
    """Refuse a folder that could not be written to, before anything is computed for it; nothing is made.

    Raises
    ------
    OutputError
        It is a file, or below one; it may not be written to; the disk is full; a folder has the name of a file.
    """
    target = Path(folder)
    above = next(place for place in (target.absolute(), *target.absolute().parents) if place.exists())
    blocked = [str(target / name) for name in (RUN, CLOCK, disk.SUMS, *names) if (target / name).is_dir()]
    blocked += [str(target / EVIDENCE)] if (target / EVIDENCE).is_file() else []
    problems = (
        (not above.is_dir(), f"{str(above)!r} is a file"),
        (bool(blocked), f"{' and '.join(blocked)} in the way"),
        (not os.access(above, os.W_OK | os.X_OK), f"{str(above)!r} may not be written to"),
        (above.is_dir() and shutil.disk_usage(above).free < _LEAST, f"the disk of {str(above)!r} is full"),
    )
    for holds, problem in problems:
        if holds:
            raise OutputError(
                f"run.write.folder must be writable; got {str(folder)!r}: {problem}. Nothing was computed or written. "
                "Name another, or mend it."
            )


def contents(run: Run, *, reports: Mapping[str, bytes], clock: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a run's folder by name; see `write`."""
    clock_text = json.dumps(clock, indent=2, sort_keys=True).encode() + b"\n"
    return {**evidence_files(run), **reports, CLOCK: clock_text, RUN: dumps(run)}


def write_files(folder: str | Path, files: Mapping[str, bytes]) -> Path:
    """Put files in a folder, all or none; a sub-folder is replaced as a whole. Return the folder."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with disk.staged(target) as stage:
            for name, content in files.items():
                write_through(stage / disk.NEW / name, content)
            with disk.alone(target):
                _publish(list(dict.fromkeys(Path(name).parts[0] for name in files)), stage)
    except OSError as error:
        raise OutputError(f"run.write.folder must be writable; got {str(folder)!r}: {error}. Name another.") from error
    return target


def read(path: str | Path) -> tuple[Run, dict[str, Any]]:
    """Return the run of a run.json, or of a folder that holds one, and its clock if that is there."""
    place = Path(path)
    file = place / RUN if place.is_dir() else place
    try:
        data = bytes_of(file, LARGE)
    except OSError as error:
        raise InputError(
            f"load.path must be a run.json, or a folder with one; got {str(path)!r} ({error.strerror}). Check the path."
        ) from error
    return loads(data, str(file)), _read_clock(file.with_name(CLOCK))


def guard(text: str) -> str:
    r"""Return text on one line and without controls that no spreadsheet takes for a formula, in fullwidth signs too.

    Examples
    --------
    >>> guard("=1+1"), guard("age"), guard("\r\uff1d1")
    ("'=1+1", 'age', "'＝1")
    """
    line = " ".join(harmless(text).split("\n"))
    return f"'{line}" if _FORMULA.match(unicodedata.normalize("NFKC", line)) else line


def guarded_csv(frame: pd.DataFrame) -> bytes:
    """Return a frame as CSV for spreadsheets: text cells and headers guarded and quoted, numbers as they are."""
    safe = frame.rename(columns=lambda name: guard(str(name)))
    for position, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            cells = [guard(cell) if isinstance(cell, str) else cell for cell in frame.iloc[:, position]]
            safe.isetitem(position, cells)
    text = safe.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8", "backslashreplace")


def _read_clock(file: Path) -> dict[str, Any]:
    try:
        return dict(json_of(bytes_of(file), str(file)))
    except (OSError, ValueError, TypeError):
        return {}


def evidence_files(run: Run) -> dict[str, bytes]:
    """Return the guarded copies of every frame, by path in the folder of the run."""
    files = {f"{EVIDENCE}/README.txt": _README}
    for result in run.results:
        stem = f"{EVIDENCE}/{file_stem(result.id)}"
        files[f"{stem}.csv"] = guarded_csv(result.frame)
        files[f"{stem}.estimates.csv"] = guarded_csv(result.estimates)
    return files


def _publish(names: list[str], place: Path) -> None:
    """Move each of `names` out of a stage to its place; put the old ones back if a move fails."""
    target, new, old, mark = place.parent, place / disk.NEW, place / disk.OLD, place / disk.MARK
    old.mkdir()
    write_through(mark, b"")
    moved: list[str] = []
    try:
        for name in names:
            moved.append(name)
            _set_aside(target / name, old / name)
            (new / name).replace(target / name)
    except BaseException:  # an interrupt too: the stage is removed on the way out, with what was set aside
        mark.unlink()
        for name in moved:
            if not (new / name).exists():
                disk.remove(target / name)
            if (old / name).exists():
                (old / name).replace(target / name)
        raise


def _set_aside(file: Path, backup: Path) -> None:
    """Keep what stands in the way, whole or not at all: a folder is moved, a file copied so that none is missing."""
    if file.is_dir():
        file.replace(backup)
    elif file.exists():
        part = backup.parent.with_name("part")
        shutil.copy2(file, part)
        part.replace(backup)
