"""The history of audits: filed runs, their order, names, locks, retention, commands."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from uq_report import cli
from uq_report.core.support.errors import InputError, LockedError
from uq_report.evidence import codec, run_folder
from uq_report.evidence.run import Run
from uq_report.ops.history import FiledRun, History, Retention, delete, entry
from uq_report.ops.history.filing import inputs_key

from ..conftest import FullDisk
from . import store_runs

BASE = replace(store_runs.run(), results=())  # few files, since every file goes down to the disk


def run(day: int = 1, **changed: Any) -> Run:
    return replace(BASE, **{"as_of": f"2026-01-{day:02d}", **changed})


def add(history: History, one: Run, name: str = "credit") -> FiledRun:
    with history.filing(name) as filing:
        return filing.add(one, reports={"report.html": b"<html>"}, clock={"total_seconds": 1})


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Return a history of three runs of one audit."""
    made = History(tmp_path / "history")
    for day in (1, 2, 3):
        add(made, run(day))
    return made


def sequences(history: History, name: str | None = None) -> list[int]:
    return [one.entry.sequence for one in history.runs(name)]


def test_a_filed_run_is_whole_and_pointed_to(history: History) -> None:
    last = history.runs()[-1]
    assert {place.name for place in last.folder.iterdir()} == {
        "entry.json", "run.json", "report.html", "clock.json", "evidence", "SHA256SUMS",
    }  # fmt: skip
    assert run_folder.read(last.folder)[0].as_of == "2026-01-03"
    assert (last.folder.parent / "latest").read_text() == f"{last.folder.name}\n"
    assert last.entry.run_sha256 == codec.sha256(run(3))
    assert (last.entry.findings, last.entry.checks) == ({"high": 1}, {"found": 1, "passed": 1, "skipped": 1})
    assert history.check() == []


def test_numbers_and_no_clock_decide_what_is_previous(history: History) -> None:
    add(history, run(as_of="1999-12-31"))
    assert [(one.entry.sequence, one.entry.as_of) for one in history.runs("credit")][-1] == (4, "1999-12-31")
    with history.filing("credit") as filing:
        previous = filing.previous()
    assert previous is not None
    assert previous.as_of == "1999-12-31"
    assert history.find("credit").entry.sequence == 4
    assert history.find("credit@2").entry.as_of == "2026-01-02"


def test_the_same_run_is_filed_once_in_a_row_but_may_return_later(history: History) -> None:
    assert add(history, run(3)).entry.sequence == 3
    assert sequences(history) == [1, 2, 3]
    assert add(history, run(1)).entry.sequence == 4


def test_audits_do_not_meet(history: History) -> None:
    add(history, run(9), "credit-2")
    assert sequences(history, "credit") == [1, 2, 3]
    assert sequences(history, "credit-2") == [1]
    assert sequences(history, "none") == []
    with history.filing("fresh") as filing:
        assert filing.previous() is None
    with pytest.raises(InputError, match=r"Audits in .*: credit, credit-2"):
        history.find("none")


HOSTILE = [
    *("..", "../../etc/passwd", "/absolute", "a/../b", "C:\\temp", ".hidden", "-rf", "CON", "name with  blanks"),
    *(
        "Ünïcødé ☃",
        "credit ",
        "CREDIT",
        "credit-12345678",
        "%2e%2e%2f",
        "\u202eevil",
        "a@1",
        "x" * 200,
        "'; DROP TABLE",
    ),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_stays_in_its_place(tmp_path: Path, name: str) -> None:
    history = History(tmp_path / "history")
    folder = add(history, run(), name).folder
    assert folder.resolve().is_relative_to((tmp_path / "history").resolve())
    assert len(folder.relative_to(tmp_path / "history").parts) == 2
    assert folder.parent.name.isascii()
    assert history.runs(name)[0].entry.name == entry.checked(name)
    assert history.find(name).folder == folder
    assert {place.name for place in tmp_path.iterdir()} == {"history"}


def test_different_names_never_share_a_folder() -> None:
    given = {entry.checked(name) for name in [*HOSTILE, "credit", "credit!", "Credit", "credit-8c8b8a8d"]}
    given |= {entry.slug(name) for name in given}  # the folder name of another audit is a name as well
    assert len({entry.slug(name) for name in given}) == len(given)
    assert entry.slug("e\u0301") == entry.slug("\u00e9")


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "x" * 300, "two\nlines", "\x1b[31m", "\udcff"])
def test_names_that_cannot_be_printed_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"history\.name must be 1 to 200 characters"):
        add(History(tmp_path / "history"), run(), name)
    assert not (tmp_path / "history").exists()


@pytest.mark.parametrize("as_of", ["../../x", "2026-01-01/..", "", "tomorrow"])
def test_a_date_cannot_lead_out_either(tmp_path: Path, as_of: str) -> None:
    history = History(tmp_path / "history")
    with pytest.raises(InputError, match=r"run\.as_of must be a date"):
        add(history, run(as_of=as_of))
    assert history.runs() == []


def test_folders_that_come_and_go_are_followed(history: History, tmp_path: Path) -> None:
    shutil.rmtree(history.find("credit@2").folder)
    assert sequences(history) == [1, 3]
    assert any("runs between them are missing" in line for line in history.check())
    elsewhere = History(shutil.copytree(history.root, tmp_path / "copy"))
    shutil.rmtree(elsewhere.root / "credit")
    assert elsewhere.runs() == []


def test_changes_after_filing_are_noticed(history: History) -> None:
    run_json = history.find("credit@3").folder / "run.json"
    run_json.write_bytes(run_json.read_bytes().replace(b'"seed":0', b'"seed":1'))
    entry_json = history.find("credit@1").folder / "entry.json"
    entry_json.write_text(entry_json.read_text().replace('"high":1', '"high":0'))
    found = " ".join(history.check())
    assert "credit@3: run.json was changed" in found
    assert "credit@1: entry.json was changed" in found
    with history.filing("credit") as filing:
        previous = filing.previous()
    assert previous is not None
    assert previous.as_of == "2026-01-02"


def test_a_forged_entry_breaks_the_chain(history: History) -> None:
    folder = history.find("credit@2").folder
    forged = replace(history.find("credit@2").entry, findings={})
    (folder / "entry.json").write_bytes(replace(forged, hash=forged.expected_hash()).dumps())
    assert history.check() == ["credit@3: the run before it was changed after this one was filed."]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 99}', b'{"format": 1, "name": "x"}'])
def test_an_unreadable_entry_is_told_and_the_next_run_succeeds(history: History, content: bytes) -> None:
    (history.find("credit@3").folder / "entry.json").write_bytes(content)
    assert add(history, run(4)).entry.sequence == 4
    assert sequences(history) == [1, 2, 4]
    assert any("entry.json" in line for line in history.check())


def test_an_entry_of_another_folder_is_refused(history: History) -> None:
    first, third = history.find("credit@1").folder, history.find("credit@3").folder
    shutil.copy(first / "entry.json", third / "entry.json")
    with pytest.raises(InputError, match="must belong to its folder"):
        entry.read_entry(third)


def test_links_are_refused(history: History, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (history.root / "linked").symlink_to(outside)
    with pytest.raises(InputError, match="got a link"):
        add(history, run(), "linked")
    (history.root / "credit" / "000009_2026-01-01_aaaaaaaaaaaa").symlink_to(outside)
    assert add(history, run(4)).entry.sequence == 4
    assert sequences(history) == [1, 2, 3, 4]
    lock = history.root / "credit" / ".lock"
    lock.unlink()
    (outside / "file").write_text("mine")
    lock.symlink_to(outside / "file")
    with pytest.raises(InputError, match="no link"):
        add(history, run(5))
    lock.unlink()
    latest = history.root / "credit" / "latest"
    latest.unlink()
    latest.symlink_to(outside / "file")
    add(history, run(6))
    assert len(history.runs()) == 5
    assert (outside / "file").read_text() == "mine"
    assert {place.name for place in outside.iterdir()} == {"file"}


def test_one_writer_at_a_time(history: History) -> None:
    with history.filing("credit"):
        with pytest.raises(LockedError, match=r"audit 'credit' must not be in work elsewhere; process \d+"):
            add(history, run(4))
        assert add(history, run(4), "other").entry.sequence == 1
    assert (history.root / "credit" / ".lock").exists()
    assert add(history, run(4)).entry.sequence == 4


def test_waiting_for_the_lock(history: History) -> None:
    entered = threading.Event()

    def hold() -> None:
        with history.filing("credit"):
            entered.set()
            threading.Event().wait(0.3)

    other = threading.Thread(target=hold)
    other.start()
    entered.wait(5)
    with history.filing("credit", wait=5) as filing:
        assert filing.previous() is not None
    other.join()


def test_a_full_disk_leaves_nothing_behind(history: History, full_disk: FullDisk) -> None:
    with full_disk("run.json"), pytest.raises(InputError, match=r"No space left on device.*Nothing was filed"):
        add(history, run(4))
    assert {p.name for p in (history.root / "credit").iterdir() if p.name.startswith(".")} == {".lock"}
    assert add(history, run(4)).entry.sequence == 4


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="history must be a folder to write to"):
        add(History(tmp_path / "file"), run())
    with pytest.raises(InputError, match="history must be a folder with filed runs"):
        History(tmp_path / "none").runs()


def due(history: History, now: datetime | None = None, **rules: int) -> list[int]:
    return [one.entry.sequence for one in Retention(**rules).due(history.runs(), now)]


def test_retention_lists_before_it_deletes(history: History) -> None:
    later = datetime.now(UTC) + timedelta(days=10)
    assert due(history, last=2) == [1]
    assert due(history, last=9) == []
    assert due(history, later, days=5) == [1, 2]  # the latest is always kept
    assert due(history, later, days=11) == []
    assert due(history, later, last=2, days=5) == [1]
    assert due(history, datetime.now(UTC) - timedelta(days=900), days=5) == []  # a clock that jumped back
    assert all(one.present for one in history.runs())
    for rules in ({}, {"last": 0}, {"days": -1}):
        with pytest.raises(InputError, match="retention"):
            Retention(**rules)


def test_what_retention_deletes_leaves_its_entry(history: History) -> None:
    chosen = Retention(last=1).due(history.runs())
    assert delete(history, chosen) == 2
    assert delete(history, chosen) == 0
    runs = history.runs()
    assert [one.present for one in runs] == [False, False, True]
    assert {place.name for place in runs[0].folder.iterdir()} == {"entry.json", "pruned.txt"}
    assert history.check() == []
    with pytest.raises(InputError, match="deleted by retention"):
        history.find("credit@1")
    assert add(history, run(4)).entry.sequence == 4
    assert due(history, last=1) == [3]
    (runs[2].folder / "run.json").unlink()
    assert any("retention did not delete it" in line for line in history.check())


def test_the_key_of_inputs_holds_all_that_decides_the_numbers() -> None:
    hashes = {"model": "a" * 64, "X": "1"}
    base = run(subject={**BASE.subject, "hashes": hashes}, settings={"seed": 0, "as_of": "2026-01-01"})
    key = inputs_key(base)
    assert len(key) == 64
    assert inputs_key(replace(base, as_of="2027-01-01", settings={"seed": 0, "as_of": "2027-01-01"}, results=())) == key
    changed = [
        replace(base, subject={**base.subject, "hashes": hashes | {"model": "b" * 64}}),
        replace(base, subject={**base.subject, "hashes": hashes | {"X": "2"}}),
        replace(base, subject={**base.subject, "positive_class": "good"}),
        replace(base, settings={"seed": 1}),
        replace(base, environment={**base.environment, "uq_report": "9"}),
    ]
    assert len({key, *map(inputs_key, changed)}) == 6
    assert inputs_key(run(subject={**BASE.subject, "hashes": {"model": "not available", "X": "1"}})) == ""


def test_a_waiver_that_ends_is_a_change_of_inputs() -> None:
    subject = {**BASE.subject, "hashes": {"model": "a" * 64}}
    settings = {"waivers": [{"code": "UQ101", "expires": "2026-01-31"}], "actions": []}
    keys = [
        inputs_key(run(as_of=day, subject=subject, settings=settings))
        for day in ("2026-01-30", "2026-01-31", "2026-02-01")
    ]
    assert keys[0] == keys[1] != keys[2]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


@pytest.fixture
def folder(history: History) -> str:
    """Return the place of a history with two audits."""
    add(history, run(1, subject={**BASE.subject, "label": "\x1b[31mred"}), "evil\u202ename")
    return str(history.root)


def test_history_lists_runs_as_text_and_json(folder: str) -> None:
    result = call("history", "--history", folder)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert re.split(r" {2,}", lines[0]) == ["RUN", "AS OF", "FILED (UTC)", "RATING", "FINDINGS", "INPUTS", "LABEL"]
    assert [line.split()[0] for line in lines[1:]] == ["credit@1", "credit@2", "credit@3", "evil[U+202E]name@1"]
    filed = [one.entry for one in History(folder).runs()]
    cells = [re.split(r" {2,}", line) for line in lines[1:]]
    assert [row[2] for row in cells] == [one.filed.replace("T", " ")[:16] for one in filed]
    assert [row[3] for row in cells] == [one.recommendation for one in filed]
    assert cells[1][4:] == ["1 high", "not known", "m"]
    assert cells[3][-1] == "[31mred"
    assert "\x1b" not in result.stdout
    assert len(call("history", "credit", "--history", folder).stdout.splitlines()) == 4
    listed = json.loads(call("history", "--history", folder, "--json").stdout)
    assert [one["sequence"] for one in listed] == [1, 2, 3, 1]
    assert listed[0]["kept"] is True
    assert call("history", "--history", f"{folder}/none").exit_code == 3
    assert call("history").exit_code == 2


def test_history_checks_and_prunes_only_when_told(folder: str) -> None:
    assert call("history", "--history", folder, "--check").exit_code == 0
    told = call("history", "credit", "--history", folder, "--prune", "--keep", "1")
    assert told.stdout.splitlines() == [
        "Would delete: credit@1 of 2026-01-01",
        "Would delete: credit@2 of 2026-01-02",
        "2 runs would be deleted; nothing was. Add --yes to delete them.",
    ]
    assert all(one.present for one in History(folder).runs())
    assert call("history", "--history", folder, "--prune", "--yes").exit_code == 3
    done = call("history", "credit", "--history", folder, "--prune", "--keep", "1", "--yes")
    assert done.stdout.splitlines()[0] == "Deleted: credit@1 of 2026-01-01"
    assert "deleted by retention" in call("history", "--history", folder).stdout
    (History(folder).find("credit").folder / "run.json").unlink()
    check = call("history", "--history", folder, "--check")
    assert check.exit_code == 5
    assert "credit@3: run.json is missing" in check.stderr


def test_show_and_compare_name_runs_by_audit_or_place(folder: str, tmp_path: Path) -> None:
    result = call("show", "credit@1", "--history", folder)
    assert result.exit_code == 0
    assert result.stdout.startswith("m, 2026-01-01: a.B, 2 rows\n")
    assert "UQ101 (high) S" in result.stdout
    by_place = call("show", str(History(folder).find("credit@1").folder))
    assert by_place.stdout == result.stdout
    assert json.loads(call("show", "credit", "--history", folder, "--json").stdout)["as_of"] == "2026-01-03"
    assert call("show", "none", "--history", folder).exit_code == 3
    assert call("show", str(tmp_path / "none")).exit_code == 3


def test_compare_tells_and_writes_what_changed(folder: str, tmp_path: Path) -> None:
    add(History(folder), run(4, settings={"seed": 5}, outcomes=()))
    result = call("compare", "credit@3", "credit@4", "--history", folder)
    assert result.exit_code == 0
    assert result.stdout.startswith("Recommendation: Not fit for purpose -> Inconclusive\nNow: ")
    assert "\nChanges since m of 2026-01-03\n" in result.stdout
    assert "Input: setting seed: 0 -> 5" in result.stdout
    assert "UQ101, found before, is not cleared: its check is not installed." in result.stdout
    found = json.loads(call("compare", "credit@3", "credit@4", "--history", folder, "--json").stdout)
    assert [one["what"] for one in found["inputs"]] == ["setting seed"]
    out = tmp_path / "out"
    written = call("compare", "credit@3", "credit@4", "--history", folder, "-o", str(out), "--format", "html")
    assert written.stdout.splitlines()[-1] == f"Report in {out}"
    page = (out / "report.html").read_text()
    assert "Changes since the last audit" in page
    assert "setting seed" in page
    same = call("compare", "credit@3", "credit@3", "--history", folder)
    assert "0 findings changed, 1 unchanged; 0 of 0 values changed" in same.stdout


def changes_of(printed: str) -> list[str]:
    """Return the lines from "Changes since" on; before them stand the recommendation and the drivers."""
    lines = printed.splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith("Changes since")) :]


def test_compare_prints_ten_lines_at_most_and_the_worst_first(tmp_path: Path) -> None:
    place = History(tmp_path / "history")
    add(place, run(1))
    add(place, run(2, settings={f"key {k}": k for k in range(40)}, outcomes=()))
    result = call("compare", "credit@1", "credit@2", "--history", str(tmp_path / "history"))
    lines = changes_of(result.stdout)
    assert len(lines) == 10
    assert "inputs changed" in lines[1]
    assert re.fullmatch(r"\.\.\. and \d+ further lines: .*", lines[-1])
    back = call("compare", "credit@2", "credit@1", "--history", str(tmp_path / "history"))
    assert changes_of(back.stdout)[2].startswith("New: UQ101 (none -> high), the model:")


FACTORY = """
from uq_report.distributions import Normal
def model():
    return lambda X: Normal(X["a"].to_numpy(), 1.0 + 0.0 * X["b"].to_numpy())
"""


@pytest.fixture
def audit(tmp_path: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the arguments of a small audit, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "made_for_history", raising=False)
    Path("made_for_history.py").write_text(FACTORY)
    Path("rows.csv").write_text("a,b,y\n" + "\n".join(f"{i},{i % 3},{i + i % 2}" for i in range(40)))
    base = ["run", "--model", "made_for_history:model", "--data", "rows.csv", "--target", "y"]
    return [*base, "--explainers", "calibration", "--format", "html", "--label", "M"]


def test_run_files_its_audit_and_compares_with_the_last_one(audit: list[str]) -> None:
    for _ in range(2):
        result = call(*audit, "--history", "kept", "--name", "nightly")
        assert result.exit_code == 0, result.stderr
        assert result.stdout.startswith("Report in kept/nightly/")
    assert not Path("uq-report").exists()
    first, second = History("kept").runs("nightly")
    assert run_folder.read(first.folder)[0].changes is None
    found = run_folder.read(second.folder)[0].changes
    assert found is not None
    assert found.previous["sha256"] == first.entry.run_sha256
    assert found.inputs == ()
    assert [value for value in found.values if value.changed] == []
    assert call(*audit, "--history", "kept", "-o", "out", "-q").output == ""
    assert Path("out/report.html").exists()
    assert [one.entry.name for one in History("kept").runs("M")] == ["M"]


def test_run_compares_with_a_named_run(audit: list[str]) -> None:
    assert call(*audit, "-o", "before").exit_code == 0
    assert call(*audit, "-o", "after", "--previous", "before", "--seed", "1").exit_code == 0
    found = run_folder.read("after")[0].changes
    assert found is not None
    assert [one.what for one in found.inputs] == ["setting seed"]
    assert call(*audit, "--previous", "none").exit_code == 3


def test_run_exits_with_75_while_the_audit_is_in_work(audit: list[str]) -> None:
    with History("kept").filing("nightly"):
        result = call(*audit, "--history", "kept", "--name", "nightly")
    assert result.exit_code == 75
    assert "must not be in work elsewhere" in result.stderr
    assert History("kept").runs() == []
