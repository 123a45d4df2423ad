"""Verifying without making the report again: what its hash, its evidence and the list of hashes show, and what not."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pikepdf
import pytest
from typer.testing import CliRunner

from uq_report import cli
from uq_report.api.views import AuditRun
from uq_report.evidence import codec, disk, schema
from uq_report.ops.verification import Verification, verify
from uq_report.ops.verification.evidence import judge_run

from . import verify_cases


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return verify_cases.write(tmp_path_factory.mktemp("written") / "run")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder."""
    return Path(shutil.copytree(written, tmp_path / "run"))


def states(found: Verification, file: str) -> dict[str, str]:
    return {claim.name: claim.state for claim in found.claims if claim.file == file}


def change(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(bytes(data))


def test_nothing_is_loaded_that_makes_reports_or_reads_what_is_listed(folder: Path) -> None:
    heavy = ["scipy", "joblib", "jinja2", "pypdf", "uq_report.runner", "uq_report.report.kinds"]
    code = f"""
import sys
from uq_report.ops.verification import verify
assert verify({str(folder)!r}).ok
print(sorted(set({heavy}) & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_a_folder_as_written_is_proven_by_its_list_and_says_that_no_page_was_made_again(folder: Path) -> None:
    found = verify(folder)
    assert found.ok
    for name in ("brief.html", "brief.pdf"):
        assert states(found, name) == {"evidence": "verified", "hash": "verified", "rendering": "not assessed"}
    assert states(found, "evidence") == {"tables": "verified"}
    run = {name: states(found, "run.json")[name] for name in ("hash", "canonical", "schema")}
    assert run == {"hash": "verified", "canonical": "not assessed", "schema": "verified"}
    assert {claim.reason for claim in found.claims if claim.name == "rendering"} == {
        "pages, figures and attached tables were not made again from run.json; --deep does"
    }


@pytest.mark.parametrize("name", ["brief.html", "brief.pdf", "evidence/pfi.csv"])
def test_any_changed_byte_of_a_listed_file_is_seen(name: str, folder: Path) -> None:
    for position in (0, (folder / name).stat().st_size // 2, -1):
        change(folder / name, position)
        found = verify(folder)
        assert not found.ok
        change(folder / name, position)
    assert verify(folder).ok


def test_a_run_written_another_way_together_with_the_list_is_seen_by_the_page_and_by_deep(
    written: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(written, tmp_path / "run"))
    (place / "brief.pdf").unlink()
    run = place / "run.json"
    run.write_text(json.dumps(json.loads(run.read_bytes()), indent=1))
    assert states(verify(place), "run.json")["canonical"] == "failed"  # the list has other bytes, and proves nothing
    listed = disk.loads(place) | disk.hashes({"run.json": run.read_bytes()})
    (place / disk.SUMS).write_bytes(disk.dumps(listed))
    quick, deep = verify(place), verify(place, deep=True)
    assert (states(quick, "run.json")["canonical"], states(quick, "brief.html")["evidence"]) == (
        "not assessed",
        "failed",
    )
    assert states(deep, "run.json")["canonical"] == "failed"


def test_a_table_missing_or_added_is_seen(folder: Path) -> None:
    (folder / "evidence" / "more.csv").write_text("a\n")
    assert states(verify(folder), "evidence") == {"tables": "failed"}
    (folder / "evidence" / "more.csv").unlink()
    (folder / "evidence" / "pfi.csv").unlink()
    assert states(verify(folder), "evidence") == {"tables": "failed"}


def test_without_a_list_pages_are_not_judged_and_the_evidence_is(folder: Path) -> None:
    (folder / disk.SUMS).unlink()
    found = verify(folder)
    assert found.ok
    for name in ("brief.html", "brief.pdf"):
        assert states(found, name) == {"evidence": "verified", "hash": "not assessed", "rendering": "not assessed"}
    assert states(found, "evidence") == {"tables": "verified"}  # made again from run.json
    run = folder / "run.json"
    run.write_bytes(codec.dumps(verify_cases.run(as_of="2026-02-01")))
    for name in ("brief.html", "brief.pdf"):
        assert states(verify(folder), name)["evidence"] == "failed"
    run.write_text(json.dumps(json.loads(run.read_bytes()), indent=1))
    assert states(verify(folder), "run.json")["canonical"] == "failed"


@pytest.mark.parametrize("instead", [b"", b"%b  other.html\n"])
def test_a_report_that_the_list_of_its_run_leaves_out_fails(instead: bytes, folder: Path) -> None:
    report = folder / "brief.html"
    report.write_bytes(report.read_bytes().replace(b"small model", b"large model"))
    lines = (folder / disk.SUMS).read_bytes().splitlines(keepends=True)
    left = [line if b"brief.html" not in line else instead.replace(b"%b", line[:64]) for line in lines]
    (folder / disk.SUMS).write_bytes(b"".join(left))
    for place in (folder, report):
        assert states(verify(place), "brief.html")["hash"] == "failed"
        assert not verify(place).ok


@pytest.mark.parametrize("damage", [b"", b"\xff", b"painted over", b"  brief.html\n"])
def test_a_damaged_list_fails_and_is_never_taken_for_none(damage: bytes, folder: Path) -> None:
    (folder / "brief.html").write_bytes((folder / "brief.html").read_bytes().replace(b"small model", b"large model"))
    listed = (folder / disk.SUMS).read_bytes()
    for content in (damage, listed + damage) if damage else (damage,):
        (folder / disk.SUMS).write_bytes(content)
        for place in (folder, folder / "brief.html", folder / "brief.pdf"):
            assert states(verify(place), disk.SUMS) == {"hash": "failed"}
            assert CliRunner().invoke(cli.app, ["verify", str(place)]).exit_code == 5
    (folder / disk.SUMS).write_bytes(listed.replace(b"  ", b" *"))  # as sha256sum --binary writes it
    assert states(verify(folder), disk.SUMS) == {}
    assert states(verify(folder), "brief.html")["hash"] == "failed"


def test_the_run_inside_a_pdf_alone_must_be_the_evidence(folder: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(folder / "brief.pdf", tmp_path / "alone.pdf"))
    assert verify(alone).ok
    with pikepdf.open(folder / "brief.pdf") as pdf:
        del pdf.attachments["run.json"]
        saved = io.BytesIO()
        pdf.save(saved)
    alone.write_bytes(saved.getvalue())
    (claim,) = [claim for claim in verify(alone, run=folder / "run.json").claims if claim.name == "evidence"]
    assert (claim.state, "there is no run.json inside" in claim.reason) == ("failed", True)


def test_what_only_deep_sees(written: Path, tmp_path: Path) -> None:
    """A page changed together with the list; the same page is disproven when it is made again."""
    place = Path(shutil.copytree(written, tmp_path / "run"))
    (place / "brief.pdf").unlink()
    page = place / "brief.html"
    page.write_bytes(page.read_bytes().replace(b"small model", b"large model"))
    listed = disk.loads(place) | disk.hashes({"brief.html": page.read_bytes()})
    del listed["brief.pdf"]
    (place / disk.SUMS).write_bytes(disk.dumps(listed))
    assert states(verify(place), "brief.html") == {
        "evidence": "verified",
        "hash": "verified",
        "rendering": "not assessed",
    }
    deep = states(verify(place, deep=True), "brief.html")
    assert deep["bytes"] == "failed"


def test_reports_written_later_are_listed_if_they_are_of_the_listed_run(written: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(written, tmp_path / "run"))
    AuditRun(verify_cases.run()).write_reports(place, ["markdown"], template="brief")
    assert disk.match(place, disk.loads(place), ["brief.md", "brief.html", "run.json"])
    AuditRun(verify_cases.run(as_of="2026-02-01")).write_reports(place, ["html"], template="brief")
    assert "brief.html" not in disk.loads(place)
    assert states(verify(place), "brief.html")["evidence"] == "failed"


def test_the_command_says_that_pages_were_not_made_again(folder: Path) -> None:
    called = CliRunner().invoke(cli.app, ["verify", str(folder)])
    assert called.exit_code == 0
    assert "not made again from run.json; --deep does" in called.stdout
    change(folder / "brief.html", 1000)
    assert CliRunner().invoke(cli.app, ["verify", str(folder), "-q"]).exit_code == 5


@pytest.mark.parametrize("wrong", ["text", -1, 1.5, True])
def test_one_wrong_number_among_many_breaks_the_schema(wrong: object) -> None:
    """The quick judging of arrays finds what the library finds, wherever it stands."""
    rule = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    for place in (0, 500, 999):
        numbers: list[object] = [3] * 1000
        assert not schema.fault(numbers, rule)
        numbers[place] = wrong
        assert schema.fault(numbers, rule).startswith(f"run[{place}]: must be ")
        assert not jsonschema.Draft202012Validator(rule).is_valid(numbers)


def test_the_schema_of_a_run_is_judged(written: Path) -> None:
    assert [verdict.state for verdict in judge_run((written / "run.json").read_bytes(), "run.json")[1]] == [
        "verified",
        "verified",
    ]
