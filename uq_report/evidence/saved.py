"""The folder of one run: everything is written beside its place first, then moved there.

If anything fails before the move, the files of the last run are untouched; if a move fails, they are put back.
If the process is killed, every file is the old or the new one, and the next writer ends its work; see `stage`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ..core.errors import InputError
from ..core.text import file_stem
from . import stage, sums
from .codec import dumps, loads
from .run import Run

RUN, CLOCK, EVIDENCE = "run.json", "clock.json", "evidence"
# What a spreadsheet would take for a formula (OWASP ASVS 1.2.10), also behind blanks.
_FORMULA = re.compile(r"^(?:\s*[=+\-@]|[\t\r\x00])")

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
    listed = sums.hashes({name: content for name, content in files.items() if name != CLOCK})
    return write_files(folder, {**files, sums.SUMS: sums.dumps(listed)})


def write_reports(run: Run, folder: str | Path, reports: Mapping[str, bytes]) -> Path:
    """Write reports alone into a folder; its SHA256SUMS lists them if they are of the run that it lists."""
    return write_listed(folder, reports, dumps(run))


def write_listed(folder: str | Path, files: Mapping[str, bytes], run: bytes) -> Path:
    """Write files alone into a folder; its SHA256SUMS lists them if they are of `run`, a run.json, that it lists."""
    listed, more = sums.loads(Path(folder)), {}
    if listed:
        others = {name: digest for name, digest in listed.items() if name not in files}
        same = sums.hashes({RUN: run})[RUN] == listed.get(RUN)
        more = {sums.SUMS: sums.dumps({**others, **(sums.hashes(files) if same else {})})}
    return write_files(folder, {**files, **more})


def contents(run: Run, *, reports: Mapping[str, bytes], clock: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a run's folder by name; see `write`."""
    clock_text = json.dumps(clock, indent=2, sort_keys=True).encode() + b"\n"
    return {**evidence_files(run), **reports, CLOCK: clock_text, RUN: dumps(run)}


def write_files(folder: str | Path, files: Mapping[str, bytes]) -> Path:
    """Put files in a folder, all or none; a sub-folder is replaced as a whole. Return the folder."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target, prefix=stage.PREFIX) as place, stage.hold(Path(place)):
            for name, content in files.items():
                write_through(Path(place, stage.NEW, name), content)
            _publish(list(dict.fromkeys(Path(name).parts[0] for name in files)), Path(place))
    except OSError as error:
        raise InputError(f"run.write.folder must be writable; got {str(folder)!r}: {error}. Name another.") from error
    return target


def read(path: str | Path) -> tuple[Run, dict[str, Any]]:
    """Return the run of a run.json, or of a folder that holds one, and its clock if that is there."""
    place = Path(path)
    file = place / RUN if place.is_dir() else place
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"load.path must be a run.json, or a folder with one; got {str(path)!r} ({error.strerror}). Check the path."
        ) from error
    return loads(data, str(file)), _read_clock(file.with_name(CLOCK))


def guard(text: str) -> str:
    """Return text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> guard("=1+1"), guard("age")
    ("'=1+1", 'age')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def guarded_csv(frame: pd.DataFrame) -> bytes:
    """Return a frame as CSV for spreadsheets: text cells and headers guarded, numbers as they are."""
    safe = frame.rename(columns=lambda name: guard(str(name)))
    for position, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            cells = [guard(cell) if isinstance(cell, str) else cell for cell in frame.iloc[:, position]]
            safe.isetitem(position, cells)
    return safe.to_csv(index=False, lineterminator="\n").encode("utf-8", "backslashreplace")


def _read_clock(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(file.read_bytes()))
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


def write_through(file: Path, content: bytes) -> None:
    """Write a new file down to the disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _publish(names: list[str], place: Path) -> None:
    """Move each of `names` out of a stage to its place; put the old ones back if a move fails."""
    target, new, old, mark = place.parent, place / stage.NEW, place / stage.OLD, place / stage.MARK
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
                stage.remove(target / name)
            if (old / name).exists():
                (old / name).replace(target / name)
        raise


def _set_aside(file: Path, backup: Path) -> None:
    """Keep what stands in the way: a folder is moved, a file copied so that readers never miss it."""
    if file.is_dir():
        file.replace(backup)
    elif file.exists():
        shutil.copy2(file, backup)
