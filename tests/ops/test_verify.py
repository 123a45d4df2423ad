"""Verifying: what is proven and what is not, and that one changed byte anywhere is seen."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pikepdf
import pytest
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli
from uq_report.api.views import AuditRun
from uq_report.core.support.digest import table_sha256, vector_sha256
from uq_report.core.support.errors import InputError
from uq_report.document.document import Document
from uq_report.evidence import codec
from uq_report.evidence.run import Run
from uq_report.ops import verification
from uq_report.ops.verification import Verification, rendering
from uq_report.ops.verification.evidence import sha256
from uq_report.report import EXTENTS, kinds

from . import verify_cases
from .conftest import Rendering

verify = partial(verification.verify, deep=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return verify_cases.write(tmp_path_factory.mktemp("written") / "run")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "run"))


@pytest.fixture
def rendered_once(written: Path, rerender: Callable[[Rendering], None]) -> None:
    """Take the PDF as written for its own rendering, which the first test shows it is; HTML is rendered each time."""
    made = (written / "brief.pdf").read_bytes()
    rerender(lambda usual, form, suffix: made if suffix == ".pdf" else usual())


def state(found: Verification, file: str, name: str) -> str:
    (claim,) = [claim for claim in found.claims if (claim.file, claim.name) == (file, name)]
    return claim.state


def flipped(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


@pytest.fixture
def keep_documents(rerender: Callable[[Rendering], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each form of document, and each file rendered from it, once for a whole test."""
    make = kinds.document
    documents: dict[kinds.DocumentForm, Document] = {}
    files: dict[tuple[kinds.DocumentForm, str], bytes] = {}

    def document(run: Run, kind: str, appendix: str) -> Document:
        form = kinds.DocumentForm(kind, appendix)
        return documents[form] if form in documents else documents.setdefault(form, make(run, kind, appendix=appendix))

    def rendered(usual: Callable[[], bytes], form: kinds.DocumentForm, suffix: str) -> bytes:
        key = form, suffix
        return files[key] if key in files else files.setdefault(key, usual())

    monkeypatch.setattr(rendering, "document", document)
    rerender(rendered)


def test_a_folder_as_written_is_proven_and_inputs_not_given_are_not_judged(folder: Path) -> None:
    found = uq.verify(folder, deep=True)
    assert found.ok
    assert found.run_sha256 == hashlib.sha256((folder / "run.json").read_bytes()).hexdigest()
    judged = {(claim.file, claim.name): claim.state for claim in found.claims}
    assert {name for (_, name), one in judged.items() if one != "verified"} == {"model", "data"}
    assert {one for (_, name), one in judged.items() if name in {"model", "data"}} == {"not assessed"}
    for file in ("brief.html", "brief.pdf"):
        assert judged[file, "bytes"] == judged[file, "evidence"] == "verified"
    assert (
        judged["brief.pdf", "attachments"] == judged["evidence", "tables"] == judged["run.json", "schema"] == "verified"
    )


def test_a_pdf_is_proven_without_its_folder(folder: Path, tmp_path: Path, rendered_once: None) -> None:
    alone = tmp_path / "elsewhere" / "renamed.pdf"
    alone.parent.mkdir()
    shutil.copy(folder / "brief.pdf", alone)
    assert verify(alone).ok
    other = folder / "other.json"
    other.write_bytes(codec.dumps(verify_cases.run(as_of="2026-02-01")))
    assert state(verify(alone, run=other), "renamed.pdf", "attachments") == "failed"


@pytest.mark.parametrize("name", ["brief.html", "brief.pdf", "run.json"])
def test_one_changed_byte_is_seen_anywhere(
    name: str, folder: Path, rendered_once: None, request: pytest.FixtureRequest
) -> None:
    if name != "run.json":  # the evidence is the same all along
        request.getfixturevalue("keep_documents")
    data = (folder / name).read_bytes()
    marks = {0, 1, len(data) - 1, *range(0, len(data), max(1, len(data) // 12))}
    for mark in (b"xref", b"startxref", b"/EmbeddedFile", b"rdf:Description", b"-->", b"\n", b": ", b","):
        marks |= {data.find(mark), data.rfind(mark)} - {-1}
    for position in sorted(marks):
        (folder / name).write_bytes(flipped(data, position))
        try:
            assert not verify(folder / name if name != "run.json" else folder / "brief.html").ok, position
        except InputError:
            assert name == "run.json"  # its format is no longer one that is known


def test_white_space_in_run_json_and_any_change_of_the_tables_are_seen(folder: Path, rendered_once: None) -> None:
    run, table = folder / "run.json", folder / "evidence" / "pfi.csv"
    original = run.read_bytes()
    run.write_text(json.dumps(json.loads(original), indent=1))
    found = verify(folder / "brief.html")
    assert state(found, "run.json", "canonical") == state(found, "brief.html", "evidence") == "failed"
    run.write_bytes(original)
    content = table.read_bytes()
    for report in folder.glob("brief.*"):  # tables are judged by themselves
        report.unlink()
    for position in range(0, len(content), 37):
        table.write_bytes(flipped(content, position))
        assert state(verify(folder), "evidence", "tables") == "failed"
    table.write_bytes(content)
    (folder / "evidence" / "more.csv").write_text("a\n")
    assert state(verify(folder), "evidence", "tables") == "failed"


def test_an_attachment_exchanged_or_removed_is_seen(folder: Path, rendered_once: None) -> None:
    for change in ("exchange", "remove"):
        with pikepdf.open(folder / "brief.pdf") as pdf:
            name = next(name for name in pdf.attachments if name.endswith(".csv"))
            del pdf.attachments[name]
            if change == "exchange":
                pdf.attachments[name] = b"a,b\n"
            saved = io.BytesIO()
            pdf.save(saved)
        place = folder / f"{change}.pdf"
        place.write_bytes(saved.getvalue())
        found = verify(place)
        assert state(found, place.name, "attachments") == state(found, place.name, "bytes") == "failed"


def test_bytes_appended_without_a_signature_are_seen(folder: Path, rendered_once: None) -> None:
    for name, more in (("brief.pdf", b"\n%%EOF\n"), ("brief.html", b"<!-- -->")):
        with (folder / name).open("ab") as file:
            file.write(more)
        found = verify(folder / name)
        assert state(found, name, "bytes") == "failed"


def test_with_other_versions_other_bytes_are_not_assessed(
    tmp_path: Path, rerender: Callable[[Rendering], None], keep_documents: None
) -> None:
    recorded = verify_cases.run()
    elsewhere = replace(recorded, environment={**recorded.environment, "weasyprint": "69.0"})
    folder = verify_cases.write(tmp_path / "run", elsewhere)
    (folder / "SHA256SUMS").unlink()
    assert (
        state(verify(folder / "brief.html"), "brief.html", "bytes") == "verified"
    )  # equal bytes need no equal versions
    page = (folder / "brief.html").read_text()
    (folder / "brief.html").write_text(page.replace("<style>", "<style> ", 1))
    rerender(lambda usual, form, suffix: repainted(usual()) if suffix == ".pdf" else usual())
    for name in ("brief.html", "brief.pdf"):
        found = verify(folder / name)
        (claim,) = [claim for claim in found.claims if claim.name == "bytes"]
        assert (claim.state, found.ok, found.outcome) == ("error", False, "not assessed")
        assert claim.reason.startswith("not assessed: ")
        assert "weasyprint 69.0, here" in claim.reason
    (folder / "brief.html").write_text(page.replace(found.run_sha256, "0" * 64))
    assert verify(folder / "brief.html").outcome == "failed"
    with pikepdf.open(folder / "brief.pdf", allow_overwriting_input=True) as pdf:
        name = next(name for name in pdf.attachments if name.endswith(".csv"))
        pdf.attachments[name] = b"a,b\n"
        pdf.save(folder / "brief.pdf")
    found = verify(folder / "brief.pdf")  # what no other library writes is judged with any version
    assert (state(found, "brief.pdf", "attachments"), found.outcome) == ("failed", "failed")


@pytest.mark.parametrize("hidden", ["<!-- {} -->", "<style>/* {} */</style>", "<script>{}</script>", "<p title='{}'>"])
def test_a_digest_that_no_reader_sees_does_not_tie_a_page_to_its_evidence(hidden: str, folder: Path) -> None:
    page = folder / "brief.html"
    digest = sha256((folder / "run.json").read_bytes())
    page.write_text(page.read_text().replace(digest, "0" * 64) + hidden.format(digest))
    assert state(verification.verify(page), "brief.html", "evidence") == "failed"


@pytest.mark.parametrize("appendix", EXTENTS)
def test_a_report_is_proven_whatever_its_annex(tmp_path: Path, appendix: str) -> None:
    """Fails where the report is held against another appendix: its headings then differ, and its bytes do."""
    made = AuditRun(verify_cases.run())
    made.write(tmp_path / "run", formats=["html"], appendix=appendix)
    found = verify(tmp_path / "run")
    assert found.ok
    assert state(found, "report.html", "bytes") == "verified"


def test_a_pdf_is_held_against_the_annex_its_bookmarks_show(
    tmp_path: Path, rerender: Callable[[Rendering], None]
) -> None:
    rendered: list[kinds.DocumentForm] = []

    def told(usual: Callable[[], bytes], form: kinds.DocumentForm, suffix: str) -> bytes:
        rendered.append(form)
        return usual()

    rerender(told)
    AuditRun(verify_cases.run()).write(tmp_path / "run", formats=["pdf"], appendix="none")
    assert verify(tmp_path / "run").ok
    assert rendered == [kinds.DocumentForm("audit", "none")]


def repainted(made: bytes) -> bytes:
    """Return a PDF with other bytes and the same words, as another version makes it."""
    saved = io.BytesIO()
    with pikepdf.open(io.BytesIO(made)) as pdf:
        pdf.save(saved)
    return saved.getvalue()


def test_model_and_data_are_held_against_their_hashes(folder: Path, rendered_once: None) -> None:
    table = pd.DataFrame({"a": [1.5, 2.5], "b": [0.1, 0.2], "y": [0, 1]})
    table.to_csv(folder / "test.csv", index=False)
    (folder / "m.skops").write_bytes(b"model")
    files = {
        "model": hashlib.sha256(b"model").hexdigest(),
        "data_file": hashlib.sha256((folder / "test.csv").read_bytes()).hexdigest(),
    }
    hashes = {"X": table_sha256(table[["a", "b"]]), "y": vector_sha256(np.array([0, 1]))}
    memory = {"model": "not available: it was in memory", **hashes}

    base = verify_cases.run()
    features = [{"name": "a"}, {"name": "b"}]

    def judged(hashes: dict[str, str], sources: dict[str, str], **given: Path) -> tuple[str, str]:
        made = replace(base, subject={**base.subject, "hashes": hashes, "sources": sources, "features": features})
        claims = list(rendering_free(made, folder, given))
        return claims[0].state, claims[1].state

    def rendering_free(made: Any, place: Path, given: dict[str, Path]) -> Any:
        from uq_report.ops.verification import judge_inputs

        return judge_inputs(made, given, place)

    assert judged(files, {"model": "m.skops", "data": "test.csv"}) == (
        "verified",
        "verified",
    )  # found beside the report
    assert judged(files, {}) == ("not assessed", "not assessed")
    assert judged(files, {"model": "../../m.skops"}) == ("verified", "not assessed")  # a name is never a path
    assert judged(files, {}, model=folder / "test.csv", data=folder / "test.csv") == ("failed", "verified")
    assert judged(memory, {}, model=folder / "m.skops", data=folder / "test.csv") == ("not assessed", "verified")
    table.assign(a=[1.5, 2.6]).to_csv(folder / "test.csv", index=False)
    assert judged(memory, {}, data=folder / "test.csv") == ("not assessed", "failed")
    assert judged(files, {}, data=folder / "test.csv") == ("not assessed", "failed")


def test_the_command_tells_each_claim_and_its_exit_code(
    folder: Path, rendered_once: None, keep_documents: None, tmp_path: Path
) -> None:
    def call(*words: str) -> Any:
        return CliRunner().invoke(cli.app, ["verify", "--deep", *words])

    good = call(str(folder))
    assert good.exit_code == 0, good.output
    assert good.stdout.splitlines()[-1].startswith("Verified: ")
    told = json.loads(call(str(folder), "--json").stdout)
    assert told["ok"]
    assert {claim["state"] for claim in told["claims"]} == {"verified", "not assessed"}
    assert call(str(folder), "--quiet").output == ""
    page = (folder / "brief.html").read_bytes()
    (folder / "brief.html").write_bytes(flipped(page, len(page) // 2))
    bad = call(str(folder), "-q")
    assert (bad.exit_code, bad.stdout) == (5, "")
    assert "failed" in bad.stderr
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "alone.html").write_text("<!DOCTYPE html>")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    for name in ("note.txt", "alone.html", "broken.pdf", "missing.pdf"):
        unreadable = call(str(tmp_path / name))
        assert unreadable.exit_code == 3, name
        assert unreadable.stderr.startswith("Error: verify.")
