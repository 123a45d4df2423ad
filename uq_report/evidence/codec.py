"""A Run as canonical JSON and back: sorted keys, no NaN, ten significant digits in the numbers of results.

Frames are stored by column with their dtype. Text columns hold each distinct value once
(``levels``) and a code per row, since measures and features repeat thousands of times.
The published schema is ``run.schema.json`` beside this file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.explainer import Card
from ..core.results import KINDS, MeasureFacts, Omission, Result, RowValues
from .finding import Finding, Outcome, RuleRecord, Symptom, Waived, Waiver
from .migrations import BROKEN, broken, migrated
from .run import (
    FORMAT,
    Changes,
    FindingChange,
    InputChange,
    MethodRecord,
    NotRun,
    PluginRecord,
    Run,
    ValueChange,
)

# Numbers of results have ten significant digits: far more than their intervals allow, at 60 % of the bytes of all.
_DIGITS = ".10g"
_TEXT_DTYPES = ("object", "str", "string")


def dumps(run: Run) -> bytes:
    """Return the canonical bytes of a run: equal runs give equal bytes.

    Raises
    ------
    InputError
        If a result holds something that is no JSON value; the message names the place.
    """
    return canonical(encode(run))


def loads(data: bytes, source: str = "run.json") -> Run:
    """Return the run that `dumps` wrote; refuse anything else, and formats this version does not know."""
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InputError(f"{source} must be JSON; got something else ({error}). Name a run.json.") from error
    found = content.get("format") if isinstance(content, dict) else None
    if not isinstance(found, int):
        raise InputError(f"{source} must be a run that uq_report wrote; it has no format number. Name its run.json.")
    content = migrated(content, source)
    try:
        return decode(content)
    except BROKEN as error:
        raise broken(source, FORMAT, error) from error


def sha256(run: Run) -> str:
    """Return the SHA-256 of a run's canonical bytes, which is that of its run.json."""
    return hashlib.sha256(dumps(run)).hexdigest()


def as_saved(result: Result) -> Result:
    """Return a result exactly as `loads` will give it back; refuse one that cannot be saved."""
    return _decode_result(_encode_result(result))


def outcome_as_saved(outcome: Outcome) -> Outcome:
    """Return an outcome exactly as `loads` will give it back; refuse one that cannot be saved."""
    return _decode_outcome(_encode_outcome(outcome))


def encode(run: Run) -> dict[str, Any]:
    """Return a run as JSON values."""
    return {
        "format": run.format,
        "as_of": run.as_of,
        "subject": plain(run.subject, "run.subject"),
        "settings": plain(run.settings, "run.settings"),
        "environment": plain(run.environment, "run.environment"),
        "results": [_encode_result(result) for result in run.results],
        "outcomes": [_encode_outcome(outcome) for outcome in run.outcomes],
        "not_run": [asdict(entry) for entry in run.not_run],
        "plugins": [asdict(record) for record in run.plugins],
        "methods": [plain(asdict(record), f"run.methods.{record.name}") for record in run.methods],
        "not_reproducible": run.not_reproducible,
        "changes": None if run.changes is None else plain(asdict(run.changes), "run.changes"),
        "challenger": None if run.challenger is None else encode(run.challenger),
    }


def decode(content: Mapping[str, Any]) -> Run:
    """Return the run of `encode`."""
    return Run(
        format=content["format"],
        as_of=content["as_of"],
        subject=content["subject"],
        settings=content["settings"],
        environment=content["environment"],
        results=tuple(map(_decode_result, content["results"])),
        outcomes=tuple(map(_decode_outcome, content["outcomes"])),
        not_run=tuple(NotRun(**entry) for entry in content["not_run"]),
        plugins=tuple(PluginRecord(**record) for record in content["plugins"]),
        methods=tuple(MethodRecord(**{**record, "card": Card(**record["card"])}) for record in content["methods"]),
        not_reproducible=content["not_reproducible"],
        changes=None if content["changes"] is None else _decode_changes(content["changes"]),
        challenger=None if content["challenger"] is None else decode(content["challenger"]),
    )


def plain(value: Any, where: str = "value") -> Any:
    """Return `value` as run.json gives it back: keys sorted, tuples and sets lists, numpy scalars Python's, NaN null.

    Examples
    --------
    >>> plain({"grid": (1, np.float64(2.5)), "missing": float("nan")})
    {'grid': [1, 2.5], 'missing': None}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError(f"{where} must be finite to be saved; got {value}. Leave it out, with a note.")
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], f"{where}.{key}") for key in sorted(value, key=str)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InputError(f"{where} must be a JSON value to be saved; got a {type(value).__name__}. Use text or numbers.")


def canonical(content: Any) -> bytes:
    """Return JSON values as bytes: equal values give equal bytes."""
    text = json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _encode_result(result: Result) -> dict[str, Any]:
    return {
        "kind": result.kind,
        "id": result.id,
        "explainer": result.explainer,
        "title": result.title,
        "frame": _encode_frame(result.frame, f"{result.id}.frame"),
        "estimates": _encode_frame(result.estimates, f"{result.id}.estimates"),
        "rows": _encode_rows(result.rows, f"{result.id}.rows"),
        "options": plain(result.options, f"{result.id}.options"),
        "notes": list(result.notes),
        "omissions": [asdict(omission) for omission in result.omissions],
        "meta": plain(result.meta, f"{result.id}.meta"),
        "measures": {name: asdict(facts) for name, facts in sorted(result.measures.items())},
    }


def _decode_result(content: Mapping[str, Any]) -> Result:
    return KINDS[content["kind"]](
        id=content["id"],
        explainer=content["explainer"],
        title=content["title"],
        frame=_decode_frame(content["frame"]),
        estimates=_decode_frame(content["estimates"]),
        rows=_decode_rows(content["rows"]),
        options=content["options"],
        notes=tuple(content["notes"]),
        omissions=tuple(Omission(**omission) for omission in content["omissions"]),
        meta=content["meta"],
        measures={name: MeasureFacts(**facts) for name, facts in content["measures"].items()},
    )


def _encode_rows(rows: RowValues | None, where: str) -> dict[str, Any] | None:
    if rows is None:
        return None
    array = rows.values
    return {
        "measures": list(rows.measures),
        "features": list(rows.features),
        "shape": list(array.shape),
        "values": _numbers(array.ravel(), where),
    }


def _decode_rows(content: Mapping[str, Any] | None) -> RowValues | None:
    if content is None:
        return None
    array = np.array(content["values"], dtype=float).reshape(content["shape"])
    return RowValues(tuple(content["measures"]), tuple(content["features"]), array)


def _encode_outcome(outcome: Outcome) -> dict[str, Any]:
    encoded: dict[str, Any] = plain(asdict(outcome), f"outcome of {outcome.check}")
    return encoded


def _decode_outcome(content: Mapping[str, Any]) -> Outcome:
    waived = ((_decode_finding(w["finding"]), Waiver(**w["waiver"])) for w in content["waived"])
    return Outcome(
        check=content["check"],
        state=content["state"],
        reason=content["reason"],
        findings=tuple(_decode_finding(finding) for finding in content["findings"]),
        waived=tuple(Waived(finding=finding, waiver=waiver) for finding, waiver in waived),
        title=content["title"],
        rules=tuple(RuleRecord(**rule) for rule in content["rules"]),
    )


def _decode_finding(content: Mapping[str, Any]) -> Finding:
    symptoms = tuple(Symptom(**symptom) for symptom in content["explains"])
    finding: Finding = _decoded(Finding, {**content, "explains": symptoms})
    return finding


def _decode_changes(content: Mapping[str, Any]) -> Changes:
    return Changes(
        previous=content["previous"],
        findings=tuple(_decoded(FindingChange, entry) for entry in content["findings"]),
        values=tuple(ValueChange(**entry) for entry in content["values"]),
        inputs=tuple(InputChange(**entry) for entry in content["inputs"]),
        not_compared=tuple(content["not_compared"]),
    )


def _decoded(cls: Callable[..., Any], content: Mapping[str, Any]) -> Any:
    """Return an object of a plain dataclass, whose sequences are tuples."""
    return cls(**{key: tuple(part) if isinstance(part, list) else part for key, part in content.items()})


def _encode_frame(frame: pd.DataFrame, where: str) -> dict[str, Any]:
    columns = [_encode_column(str(name), frame[name], f"{where}[{name!r}]") for name in frame.columns]
    return {"rows": len(frame), "columns": columns}


def _encode_column(name: str, values: pd.Series[Any], where: str) -> dict[str, Any]:
    dtype = str(values.dtype)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        return {"name": name, "dtype": dtype, "values": _numbers(values.to_numpy(), where)}
    if dtype not in _TEXT_DTYPES:
        raise InputError(f"{where} must hold numbers, booleans or text; got dtype {dtype}. Convert the column.")
    levels: dict[tuple[type, Any], int] = {}
    cells = [None if value is None or value != value else value for value in values]  # noqa: PLR0124 - NaN is itself not
    codes = [levels.setdefault((type(cell), cell), len(levels)) for cell in cells]
    return {"name": name, "dtype": dtype, "levels": [plain(cell, where) for _, cell in levels], "codes": codes}


def _decode_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    columns = {column["name"]: _decode_column(column) for column in content["columns"]}
    return pd.DataFrame(columns, index=pd.RangeIndex(content["rows"]))


def _decode_column(content: Mapping[str, Any]) -> pd.Series[Any]:
    if "values" in content:
        return pd.Series(np.array(content["values"], dtype=content["dtype"]))
    levels = [np.nan if level is None else level for level in content["levels"]]
    own_text_type = int(pd.__version__.partition(".")[0]) >= 3
    return pd.Series([levels[code] for code in content["codes"]], dtype=content["dtype"] if own_text_type else object)


def _numbers(values: Any, where: str) -> list[Any]:
    if values.dtype.kind != "f":
        return list(values.tolist())
    if np.isinf(values).any():
        raise InputError(f"{where} must be finite to be saved; got infinite values. List them as omissions.")
    return [None if value != value else float(format(value, _DIGITS)) for value in values.tolist()]  # noqa: PLR0124 - NaN
