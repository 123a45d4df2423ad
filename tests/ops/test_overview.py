"""The page over many audits: one row each, safe links, read again only where something changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import html5lib
import pytest
from typer.testing import CliRunner

from uq_report import cli
from uq_report.evidence.finding import Finding, Outcome, Severity
from uq_report.evidence.run import Run
from uq_report.ops.history import History, Retention, delete
from uq_report.ops.overview import check_page, spark, write_overview

from . import store_runs

HOSTILE = '<script>alert(1)</script> "q" ' + "\u202e"
MODULES = Path(os.environ.get("UQ_NODE_MODULES", "node_modules"))
AXE = Path(__file__).parents[1] / "render" / "browser" / "axe.mjs"


def run(day: int, severity: Severity | None = None, label: str = "m") -> Run:
    check = Outcome(check="a", state="passed")
    if severity:
        found = Finding(code="UQ1", title="T", severity=severity, statement="S", evidence=("pfi",), rests_on="")
        check = Outcome(check="a", state="found", findings=(found,))
    outcomes = (Outcome(check="calibration", state="passed"), check)
    base = store_runs.run()
    subject = {**base.subject, "label": label}
    return replace(base, results=(), subject=subject, outcomes=outcomes, as_of=f"2026-01-{day:02d}")


def add(history: History, name: str, one: Run, **reports: bytes) -> None:
    named = {f"{stem}.html": data for stem, data in (reports or {"report": b"<p>"}).items()}
    with history.filing(name) as filing:
        filing.add(one, reports=named, clock={})


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Return a history of three audits: not to be used, to be used, and one of hostile names."""
    made = History(tmp_path / "a history")
    add(made, "credit", run(1, "high"))
    add(made, "credit", run(2, "critical"))
    add(made, "motor", run(5))
    add(made, HOSTILE, run(3, "medium", HOSTILE))
    return made


def rows(page: Path) -> dict[str, list[str]]:
    """Return the text of each row's cells, by its first word."""
    tree = html5lib.parse(page.read_text(encoding="utf-8"), namespaceHTMLElements=False)
    found = [["".join(cell.itertext()).strip() for cell in row] for row in tree.iterfind(".//tbody/tr")]
    return {cells[0].split()[0]: cells for cells in found}


def test_each_audit_has_a_row_with_the_recommendation_for_its_last_run(history: History, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    assert write_overview(history.root, page) == 3
    found = rows(page)
    assert found["credit"][1:3] == ["■ Not fit for purpose", "1 critical"]
    assert found["motor"][1:3] == ["● Fit for purpose", "none"]
    assert found["<script>alert(1)</script>"][1:3] == ["▲ Fit for purpose with conditions", "1 medium"]
    assert [found[name][6] for name in ("credit", "motor")] == ["2", "1"]
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert "[U+202E]" in text
    assert "3 audits, the newest as of 2026-01-05" in text
    assert 'alt="Open findings over 2 runs: 1, now 1"' in text


def test_links_are_relative_and_lead_to_the_reports(history: History, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "deep" / "index.html"
    write_overview(history.root, page)
    links = re.findall(r'href="([^"]+)"', page.read_text(encoding="utf-8"))
    assert len(links) == 3
    for link in links:
        assert link.startswith("./../../a%20history/")
        assert (page.parent / link.replace("%20", " ")).resolve().is_file()


def test_a_report_that_is_a_link_is_not_offered(history: History, tmp_path: Path) -> None:
    report = history.find("motor").folder / "report.html"
    report.unlink()
    report.symlink_to("/etc/passwd")
    write_overview(history.root, tmp_path / "index.html")
    assert rows(tmp_path / "index.html")["motor"][7] == "–"


def test_ratings_are_those_of_the_entries_and_a_note_is_not_believed(history: History, tmp_path: Path) -> None:
    """What an earlier version kept beside the folders, and anybody could edit, changes nothing."""
    (history.root / "ratings.json").write_text(json.dumps({history.find("credit").entry.hash: "Fit for purpose"}))
    page = tmp_path / "index.html"
    write_overview(history.root, page)
    before = page.stat().st_mtime_ns
    assert rows(page)["credit"][1] == "■ Not fit for purpose"
    write_overview(history.root, page)
    assert page.stat().st_mtime_ns == before  # nothing was written


def test_an_entry_without_a_known_rating_has_that_of_its_run(history: History, tmp_path: Path) -> None:
    unfit = "■ Not fit for purpose"
    for rating, shown in (("", unfit), ("Splendid", unfit), ("Fit for purpose", "● Fit for purpose")):
        last = history.find("credit")
        bare = replace(last.entry, recommendation=rating)
        (last.folder / "entry.json").write_bytes(replace(bare, hash=bare.expected_hash()).dumps())
        write_overview(history.root, tmp_path / "index.html")
        assert rows(tmp_path / "index.html")["credit"][1] == shown


def test_a_page_that_was_edited_or_is_of_before_is_told(history: History) -> None:
    page = history.root / "index.html"
    write_overview(history.root, page)
    assert check_page(history.root, page) == []
    assert CliRunner().invoke(cli.app, ["history", "--history", str(history.root), "--check"]).exit_code == 0
    made = page.read_bytes()
    page.write_bytes(made.replace(b"Not fit for purpose", b"Fit for purpose"))
    told = CliRunner().invoke(cli.app, ["history", "--history", str(history.root), "--check"])
    assert told.exit_code == 5
    assert "index.html is not the page over these runs" in told.stderr
    page.write_bytes(made)
    add(history, "motor", run(9, "low"))
    assert len(check_page(history.root, page)) == 1


def test_a_lost_run_and_one_deleted_by_retention_are_never_rated(
    history: History, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (history.find("motor").folder / "run.json").write_text("{")
    delete(history, Retention(last=1).due(history.runs("credit")))
    (history.find("credit").folder / "pruned.txt").write_text("gone")
    (history.find("credit").folder / "run.json").unlink()
    write_overview(history.root, tmp_path / "index.html")
    found = rows(tmp_path / "index.html")
    assert (found["motor"][1], found["credit"][1]) == ("◆ Cannot be read", "○ Deleted")
    assert "Not rated: motor@1" in caplog.text


def test_the_command_says_how_many_and_refuses_links(history: History, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    done = CliRunner().invoke(cli.app, ["index", str(history.root), "-o", str(page)])
    assert (done.exit_code, done.stdout) == (0, f"Page in {page} (3 audits)\n")
    (tmp_path / "link.html").symlink_to(page)
    done = CliRunner().invoke(cli.app, ["index", str(history.root), "-o", str(tmp_path / "link.html")])
    assert done.exit_code == 3
    assert "must be a file, no link" in done.stderr
    assert CliRunner().invoke(cli.app, ["index", str(tmp_path / "nowhere"), "-o", str(page)]).exit_code == 3


def test_a_spark_shows_its_range_and_a_flat_one_is_in_the_middle() -> None:
    line, flat = spark("x", [1.0, 3.0, 2.0]), spark("x", [2.0, 2.0])
    assert line is not None
    assert b'points="4.0,24.0 60.0,4.0 116.0,14.0"' in line.svg
    assert line.alt == "x over 3 runs: 1, now 2"
    assert flat is not None
    assert b'points="4.0,14.0 116.0,14.0"' in flat.svg
    assert spark("x", []) is None


def test_axe_finds_nothing(history: History, tmp_path: Path) -> None:
    node = shutil.which("node")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if node is None or chromium is None or not (MODULES / "axe-core").is_dir():
        pytest.skip(f"node, chromium and axe-core in {MODULES} (UQ_NODE_MODULES) are needed")
    page = tmp_path / "index.html"
    write_overview(history.root, page)
    command = [node, str(AXE), chromium, str(MODULES.resolve()), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
