"""Model and data: the files at hand against the hashes the run recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core.support.errors import InputError, UQReportError
from ...core.support.text import is_sha256
from .claims import VerificationVerdict
from .evidence import sha256

_FILES = {"model": "model", "data": "data_file", "train": "train_file"}
_TABLES = {"data": ("X", "y"), "train": ("train_X", "train_y")}


def judge_inputs(
    run: Mapping[str, Any], files: Mapping[str, str | Path | None], folder: Path
) -> Iterator[VerificationVerdict]:
    """Say of model, data and training data whether they are the ones audited.

    Parameters
    ----------
    run : mapping
        The JSON of one.
    files : mapping of str to path
        ``"model"``, ``"data"`` and ``"train"`` as the user named them, None for what was not named.
    folder : Path
        Where recorded file names are looked for.
    """
    for role in _FILES:
        if role != "train" or run["subject"].get("has_train") or files.get(role) is not None:
            yield _judge(role, run["subject"], files.get(role), folder)
    if run["challenger"] is not None:  # its rows are those of the champion
        yield _judge("model", run["challenger"]["subject"], None, folder)._replace(name="challenger model")


def _judge(role: str, subject: Mapping[str, Any], named: str | Path | None, folder: Path) -> VerificationVerdict:
    hashes, names = _mapping(subject, "hashes"), _mapping(subject, "sources")
    recorded = str(hashes.get(_FILES[role], ""))
    place = Path(named) if named is not None else _recorded_file(folder, str(names.get(role, "")))
    if place is None:
        listed = recorded or ", ".join(f"{key} {hashes[key]}" for key in _TABLES.get(role, ()) if key in hashes)
        return VerificationVerdict(role, "not judged", f"not given; recorded: {listed or 'no hash'}")
    try:
        digest = sha256(place.read_bytes())
    except OSError as error:
        raise InputError(
            f"verify.{role} must be a file; got {str(place)!r} ({error.strerror}). Check the path."
        ) from error
    if recorded == digest:
        return VerificationVerdict(role, "ok", f"{place.name}: SHA-256 {recorded[:16]}…")
    if is_sha256(recorded):
        return VerificationVerdict(
            role, "FAILED", f"{place.name}: the SHA-256 is {digest}; the run recorded {recorded}"
        )
    if role in _TABLES and hashes.get(_TABLES[role][0]):
        return _judge_table(role, subject, place)
    return VerificationVerdict(role, "not judged", f"no hash was recorded ({recorded or 'none'})")


def _judge_table(role: str, subject: Mapping[str, Any], place: Path) -> VerificationVerdict:
    """Compare a file with the hash of rows that were audited in memory; only then what reads tables is loaded."""
    from ...core.support.digest import table_sha256, vector_sha256
    from ...jobs import read_table

    try:
        table, _ = read_table(str(place))
        features = [str(entry["name"]) for entry in subject.get("features", ())]
        rows = table[features]
    except (UQReportError, KeyError) as error:
        return VerificationVerdict(role, "FAILED", f"{place.name} does not hold the audited features: {error}")
    hashes, (of_rows, of_target) = _mapping(subject, "hashes"), _TABLES[role]
    if hashes[of_rows] not in (table_sha256(rows), table_sha256(rows.to_numpy())):
        remark = "the rows were audited in memory, and a file may read back with other types or digits"
        return VerificationVerdict(
            role, "FAILED", f"the features in {place.name} do not have the recorded hash; {remark}"
        )
    others = (table[name].to_numpy() for name in table.columns if name not in features)
    target = any(vector_sha256(values) == hashes.get(of_target) for values in others)
    rest = "and the target" if target else "the target is not judged"
    reason = f"{place.name}: the features have the recorded hash {str(hashes[of_rows])[:16]}…; {rest}"
    return VerificationVerdict(role, "ok", reason)


def _recorded_file(folder: Path, name: str) -> Path | None:
    """Return the file of a recorded name in a folder; a name is never a path out of it."""
    place = folder / Path(name).name
    return place if name and place.is_file() else None


def _mapping(subject: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = subject.get(key)
    return value if isinstance(value, Mapping) else {}
