"""run.json: canonical, complete, refused where it is not ours; folders: all or nothing, guarded for spreadsheets."""

import csv
import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import KINDS
from uq_report.core.support.errors import InputError
from uq_report.evidence import codec, run_folder
from uq_report.evidence.codec import encode, migrated
from uq_report.evidence.run_folder import guarded_csv

from ..conftest import FullDisk
from ..ops import store_runs

REPORTS = {"report.html": b"<html>"}


def test_a_run_comes_back_equal_and_its_bytes_are_stable() -> None:
    run = store_runs.full()
    data = codec.dumps(run)
    again = codec.loads(data)
    assert codec.dumps(again) == data
    assert codec.sha256(run) == codec.sha256(again)
    assert [r.kind for r in again.results] == ["importance", *KINDS]
    for before, after in zip(run.results, again.results, strict=True):
        pd.testing.assert_frame_equal(before.frame, after.frame)
        pd.testing.assert_frame_equal(before.estimates, after.estimates)
        assert before.measures == after.measures
    rows, kept = run.results[0].rows, again.results[0].rows
    assert rows is not None
    assert kept is not None
    np.testing.assert_allclose(kept.values, rows.values, rtol=5e-10)  # ten significant digits
    assert (again.outcomes, again.not_run, again.plugins) == (run.outcomes, run.not_run, run.plugins)
    assert (again.methods, again.changes) == (run.methods, run.changes)
    assert again.challenger is not None
    assert again.challenger.as_of == run.as_of


def test_it_is_canonical_json() -> None:
    data = codec.dumps(store_runs.full())
    content = json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert data == json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    signed = content["results"][0]["estimates"]["columns"][4]
    assert str(signed["values"][0]) == "-0.0"


def test_it_follows_the_published_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="validating needs jsonschema")
    schema = json.loads(Path(codec.__file__).with_name("run.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(encode(store_runs.full()), schema)
    broken = encode(store_runs.full())
    broken["results"][0]["kind"] = "guess"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x04 a pickle", "must be JSON"),
        (b"[1]", "it has no format number"),
        (b'{"format": 99}', r"must have format 1; got format 99\. Upgrade uq_report"),
        (b'{"format": 0}', r"got format 0\. Run the audit again"),
        (b'{"format": 1}', "must follow the schema of format 1"),
        (b'{"format": true}', "must follow the schema of format 1"),
    ],
)
def test_what_is_no_run_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        codec.loads(data)


def test_an_earlier_format_is_migrated_step_by_step_with_its_challenger() -> None:
    migrations = {
        -1: lambda content: {**content, "hours": 1},
        0: lambda content: {**content, "seconds": content["hours"] * 3600},
    }
    old = {"format": -1, "challenger": {"format": 0, "hours": 2}}
    assert migrated(old, "run.json", migrations, target=1) == {
        "format": 1, "hours": 1, "seconds": 3600, "challenger": {"format": 1, "hours": 2, "seconds": 7200},
    }  # fmt: skip
    for textual in ("2", None, [2], 1.5):
        with pytest.raises(InputError, match=r"run\.json must have format 1; got format .*\. Run the audit again"):
            migrated({"format": -1, "challenger": {"format": textual}}, "run.json", migrations, target=1)
    with pytest.raises(InputError, match=r"got format 7\. Upgrade uq_report"):
        migrated({"format": 7}, "run.json", migrations, target=1)
    with pytest.raises(InputError, match=r"got format -5\. Run the audit again"):
        migrated({"format": -5}, "run.json", migrations, target=1)
    with pytest.raises(InputError, match=r"must follow the schema of format 0; .*KeyError: 'hours'"):
        migrated({"format": 0}, "run.json", migrations, target=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"meta": {"grid": {"a": [1.0, float("inf")]}}}, r"pfi\.meta\.grid\.a\[1\] must be finite"),
        ({"options": {"model": object()}}, r"pfi\.options\.model must be a JSON value to be saved; got a object"),
        (
            {"estimates": store_runs.estimates().assign(when=pd.Timestamp(0))},
            r"\['when'\] must hold numbers, booleans or",
        ),
    ],
)
def test_what_cannot_be_saved_is_told_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        codec.as_saved(replace(store_runs.importance(), **change))


def test_saved_results_equal_loaded_ones() -> None:
    result = replace(store_runs.importance(), options={"grid": (1, np.float64(2))}, meta={"x": {3: frozenset("ba")}})
    kept = codec.as_saved(result)
    assert kept.options == {"grid": [1, 2.0]}
    assert kept.meta == {"x": {"3": ["a", "b"]}}


def test_a_folder_holds_everything_and_is_read_back(tmp_path: Path) -> None:
    run = store_runs.run()
    place = run_folder.write(run, tmp_path / "new" / "out", reports=REPORTS, clock={"host": "h"})
    names = sorted(p.name for p in place.iterdir())
    assert names == ["SHA256SUMS", "clock.json", "evidence", "report.html", "run.json"]
    assert (place / "evidence" / "pfi.csv").is_file()
    for path in (place, str(place / "run.json")):
        again, clock = run_folder.read(path)
        assert codec.dumps(again) == codec.dumps(run)
        assert clock == {"host": "h"}


def test_csv_cells_and_headers_are_guarded_and_numbers_are_not() -> None:
    frame = pd.DataFrame({"=x": ["=1+1", " =1", "@a", "\tb", "-c", "+d", "e"], "n": [-1.5, 2, 3, 4, 5, 6, np.nan]})
    lines = guarded_csv(frame).decode().splitlines()
    assert lines[0] == '"\'=x","n"'
    assert lines[1:4] == ['"\'=1+1",-1.5', '"\' =1",2.0', '"\'@a",3.0']
    assert [line[:3] for line in lines[4:7]] == ["\"'\t", "\"'-", "\"'+"]
    assert lines[7] == '"e",""'


@pytest.mark.parametrize(
    "formula", ["=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "\ufe661", "\x00=1", "\r=1", "\t=1"]
)
@pytest.mark.parametrize("before", ["", "a\r", "a\n", "a\r\n", "a,", 'a"', "a\x0b", "a\x85", "a\u2028", ";", "\u200b"])
def test_no_cell_of_a_csv_begins_with_a_formula_however_its_lines_are_split(formula: str, before: str) -> None:
    text = guarded_csv(pd.DataFrame({before + formula: [before + formula], "b": [1.5]})).decode()
    assert len(text.splitlines()) == 2
    for line in text.splitlines():
        cells = next(csv.reader([line]))
        assert len(cells) == 2
        for cell in cells:
            assert unicodedata.normalize("NFKC", cell.strip())[:1] not in {*"=+-@"}


@pytest.mark.parametrize("broken", ["report.pdf", "run.json"])
def test_an_old_report_stays_whole_if_writing_fails(tmp_path: Path, full_disk: FullDisk, broken: str) -> None:
    old = replace(store_runs.run(), as_of="2020-01-01")
    run_folder.write(old, tmp_path, reports={"report.html": b"old", "report.pdf": b"old"}, clock={})
    before = _content(tmp_path)
    with full_disk(broken), pytest.raises(InputError, match=r"must be writable.*No space left"):
        run_folder.write(store_runs.run(), tmp_path, reports={"report.html": b"new", "report.pdf": b"new"}, clock={})
    assert _content(tmp_path) == before


def test_an_old_report_is_put_back_if_moving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_folder.write(replace(store_runs.run(), as_of="2020-01-01"), tmp_path, reports={"report.html": b"old"}, clock={})
    before = _content(tmp_path)
    real = Path.replace

    def torn(self: Path, target: Path) -> Path:
        if self.name == "run.json" and self.parent.name == "new":
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", torn)
    with pytest.raises(InputError, match="Input/output error"):
        run_folder.write(store_runs.run(), tmp_path, reports={"report.html": b"new"}, clock={})
    assert _content(tmp_path) == before


def test_evidence_of_an_earlier_run_goes(tmp_path: Path) -> None:
    run_folder.write(store_runs.run(), tmp_path, reports=REPORTS, clock={})
    run_folder.write(replace(store_runs.run(), results=()), tmp_path, reports=REPORTS, clock={})
    assert [p.name for p in (tmp_path / "evidence").iterdir()] == ["README.txt"]


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"run\.write\.folder must be writable; got '.*file'"):
        run_folder.write(store_runs.run(), tmp_path / "file", reports={}, clock={})
    with pytest.raises(InputError, match=r"load\.path must be a run\.json, or a folder with one"):
        run_folder.read(tmp_path / "nothing")


def _content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
