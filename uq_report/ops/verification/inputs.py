"""Model and data: the files at hand against the hashes the run recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core.digest import table_sha256, vector_sha256
from ...core.errors import InputError, UQReportError
from ...evidence.run import Run
from ...jobs import read_table
from .claims import Claim, sayer
from .evidence import sha256

_FILES = {"model": "model", "data": "data_file", "train": "train_file"}
_TABLES = {"data": ("X", "y"), "train": ("train_X", "train_y")}


def judge_inputs(run: Run, files: Mapping[str, str | Path | None], beside: Path, file: str) -> Iterator[Claim]:
    """Say of model, data and training data whether they are the ones audited.

    Parameters
    ----------
    run : Run
    given : mapping of str to path
        ``"model"``, ``"data"`` and ``"train"`` as the user named them, None for what was not named.
    beside : Path
        The folder where recorded file names are looked for.
    file : str
        What the claims are about.
    """
    for role in _FILES:
        if role != "train" or run.subject.get("has_train") or files.get(role) is not None:
            yield _judge(role, run.subject, files.get(role), beside, file)
    if run.challenger is not None:  # its rows are those of the champion
        claim = _judge("model", run.challenger.subject, None, beside, file)
        yield Claim(file, "challenger model", claim.state, claim.reason)


def _judge(role: str, subject: Mapping[str, Any], named: str | Path | None, beside: Path, file: str) -> Claim:
    say = sayer(file)
    hashes, names = _mapping(subject, "hashes"), _mapping(subject, "sources")
    recorded = str(hashes.get(_FILES[role], ""))
    place = Path(named) if named is not None else _beside(beside, str(names.get(role, "")))
    if place is None:
        return say(role, "not judged", f"not given; recorded: {recorded or _recorded_tables(role, hashes)}")
    try:
        content = place.read_bytes()
    except OSError as error:
        raise InputError(
            f"verify.{role} must be a file; got {str(place)!r} ({error.strerror}). Check the path."
        ) from error
    if len(recorded) == 64:
        same = sha256(content) == recorded
        reason = (
            f"SHA-256 {recorded[:16]}…" if same else f"the SHA-256 is {sha256(content)}; the run recorded {recorded}"
        )
        return say(role, "ok" if same else "FAILED", f"{place.name}: {reason}")
    if role in _TABLES and hashes.get(_TABLES[role][0]):
        return _judge_table(role, subject, place, file)
    return say(role, "not judged", f"no hash was recorded ({recorded or 'none'})")


def _judge_table(role: str, subject: Mapping[str, Any], place: Path, file: str) -> Claim:
    """Hold a file against the hash of rows that were audited in memory."""
    say = sayer(file)
    try:
        table, _ = read_table(str(place))
        features = [str(entry["name"]) for entry in subject.get("features", ())]
        rows = table[features]
    except (UQReportError, KeyError) as error:
        return say(role, "FAILED", f"{place.name} does not hold the audited features: {error}")
    hashes, (of_rows, of_target) = _mapping(subject, "hashes"), _TABLES[role]
    if hashes[of_rows] not in (table_sha256(rows), table_sha256(rows.to_numpy())):
        remark = "the rows were audited in memory, and a file may read back with other types or digits"
        return say(role, "FAILED", f"the features in {place.name} do not have the recorded hash; {remark}")
    others = (table[name].to_numpy() for name in table.columns if name not in features)
    target = any(vector_sha256(values) == hashes.get(of_target) for values in others)
    rest = "and the target" if target else "the target is not judged"
    return say(role, "ok", f"{place.name}: the features have the recorded hash {str(hashes[of_rows])[:16]}…; {rest}")


def _beside(folder: Path, name: str) -> Path | None:
    """Return the file of a recorded name in a folder; a name is never a path out of it."""
    place = folder / Path(name).name
    return place if name and place.is_file() else None


def _recorded_tables(role: str, hashes: Mapping[str, Any]) -> str:
    recorded = [f"{key} {hashes[key]}" for key in _TABLES.get(role, ()) if key in hashes]
    return ", ".join(recorded) or "no hash"


def _mapping(subject: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = subject.get(key)
    return value if isinstance(value, Mapping) else {}
