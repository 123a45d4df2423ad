"""Verifying: what is proven and what is not, and that one changed byte anywhere is seen."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
from dataclasses import replace
from functools import cache, partial
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
from uq_report.core.digest import table_sha256, vector_sha256
from uq_report.core.errors import InputError
from uq_report.document.document import Document
from uq_report.evidence import codec
from uq_report.evidence.run import Run
from uq_report.ops import verification
from uq_report.ops.verification import Verification, rendering
from uq_report.ops.verification.evidence import judge_files, sha256
from uq_report.ops.verification.pdf_words import pdf_text
from uq_report.ops.verification.words import absent, headings, html_blocks
from uq_report.render import html
from uq_report.report import EXTENTS, kinds

from . import verify_cases

verify = partial(verification.verify, deep=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return verify_cases.write(tmp_path_factory.mktemp("written") / "run")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "run"))


@pytest.fixture
def rendered_once(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the PDF as written for its own rendering, which the first test shows it is; HTML is rendered each time."""
    made, render = (written / "brief.pdf").read_bytes(), rendering.Maker._rendered

    def quick(self: rendering.Maker, form: kinds.Form, suffix: str) -> bytes:
        return made if suffix == ".pdf" else render(self, form, suffix)

    monkeypatch.setattr(rendering.Maker, "_rendered", quick)


def state(found: Verification, file: str, name: str) -> str:
    (claim,) = [claim for claim in found.claims if (claim.file, claim.name) == (file, name)]
    return claim.state


def flipped(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


def keep_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each form of document and page once for a whole test."""
    documents: dict[kinds.Form, Document] = {}
    pages: dict[tuple[int, bool], str] = {}
    make, draw = kinds.document, html.page

    def document(run: Run, kind: str, annex: str) -> Document:
        form = kinds.Form(kind, annex)
        return documents[form] if form in documents else documents.setdefault(form, make(run, kind, annex=annex))

    def page(made: Document, templates: Path | None, *, paged: bool) -> str:
        key = id(made), paged
        return pages[key] if key in pages else pages.setdefault(key, draw(made, templates, paged=paged))

    monkeypatch.setattr(rendering, "document", document)
    monkeypatch.setattr(rendering, "page", page)
    monkeypatch.setattr(rendering, "headings", cache(headings))


def test_a_folder_as_written_is_proven_and_inputs_not_given_are_not_judged(folder: Path) -> None:
    found = uq.verify(folder, deep=True)
    assert found.ok
    assert found.run_sha256 == hashlib.sha256((folder / "run.json").read_bytes()).hexdigest()
    judged = {(claim.file, claim.name): claim.state for claim in found.claims}
    assert {name for (_, name), one in judged.items() if one != "ok"} == {"model", "data"}
    assert {one for (_, name), one in judged.items() if name in {"model", "data"}} == {"not judged"}
    for file in ("brief.html", "brief.pdf"):
        assert judged[file, "numbers"] == judged[file, "bytes"] == judged[file, "evidence"] == "ok"
    assert judged["brief.pdf", "attachments"] == judged["evidence", "tables"] == judged["run.json", "schema"] == "ok"


def test_a_pdf_is_proven_without_its_folder(folder: Path, tmp_path: Path, rendered_once: None) -> None:
    alone = tmp_path / "elsewhere" / "renamed.pdf"
    alone.parent.mkdir()
    shutil.copy(folder / "brief.pdf", alone)
    assert verify(alone).ok
    other = folder / "other.json"
    other.write_bytes(codec.dumps(verify_cases.run(as_of="2026-02-01")))
    assert state(verify(alone, run=other), "renamed.pdf", "attachments") == "FAILED"


@pytest.mark.parametrize("name", ["brief.html", "brief.pdf", "run.json"])
def test_one_changed_byte_is_seen_anywhere(
    name: str, folder: Path, rendered_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "_wrong_words", lambda *_: "words are not what this test is about")
    if name != "run.json":  # the evidence is the same all along
        keep_documents(monkeypatch)
    data = (folder / name).read_bytes()
    marks = {0, 1, len(data) - 1, *range(0, len(data), max(1, len(data) // 24))}
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
    assert state(found, "run.json", "canonical") == state(found, "brief.html", "evidence") == "FAILED"
    run.write_bytes(original)
    content = table.read_bytes()
    for position in range(0, len(content), 37):
        table.write_bytes(flipped(content, position))
        assert state(verify(folder), "evidence", "tables") == "FAILED"
    table.write_bytes(content)
    (folder / "evidence" / "more.csv").write_text("a\n")
    assert state(verify(folder), "evidence", "tables") == "FAILED"


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
        assert state(found, place.name, "attachments") == state(found, place.name, "bytes") == "FAILED"


def test_bytes_appended_without_a_signature_are_seen(folder: Path, rendered_once: None) -> None:
    for name, more in (("brief.pdf", b"\n%%EOF\n"), ("brief.html", b"<!-- -->")):
        with (folder / name).open("ab") as file:
            file.write(more)
        found = verify(folder / name)
        assert state(found, name, "bytes") == state(found, name, "numbers") == "FAILED"


def test_other_versions_leave_bytes_unjudged_and_words_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = verify_cases.run()
    elsewhere = replace(recorded, environment={**recorded.environment, "weasyprint": "69.0"})
    folder = verify_cases.write(tmp_path / "run", elsewhere)
    page = (folder / "brief.html").read_text()
    (folder / "brief.html").write_text(page.replace("<style>", "<style> ", 1))
    monkeypatch.setattr(rendering.Maker, "_rendered", _repainted(rendering.Maker._rendered))
    found = verify(folder)
    for name in ("brief.html", "brief.pdf"):
        assert (state(found, name, "numbers"), state(found, name, "bytes")) == ("ok", "not judged")
    (reason,) = [c.reason for c in found.claims if (c.file, c.name) == ("brief.pdf", "bytes")]
    assert "weasyprint 69.0, here" in reason
    number = re.search(r"0\.\d\d+", page)
    assert number is not None
    (folder / "brief.html").write_text(page.replace(number[0], number[0][:-1] + "x", 1))
    assert state(verify(folder / "brief.html"), "brief.html", "numbers") == "FAILED"


def test_a_report_of_an_older_format_is_judged_by_what_stands_in_its_file(tmp_path: Path) -> None:
    old = gzip.decompress((Path(__file__).parents[1] / "evidence" / "format3" / "run.json.gz").read_bytes())
    run, page = tmp_path / "run.json", tmp_path / "brief.html"
    run.write_bytes(old)
    made = uq.load(run)
    words = made.render("html", template="brief").decode().replace(codec.sha256(made.run), sha256(old))
    page.write_text(words.replace("</h1>", " of old</h1>", 1))  # as a version with other words wrote it
    claims = {(claim.file, claim.name): claim for claim in verify(tmp_path).claims}
    assert claims["run.json", "canonical"].state == claims["brief.html", "evidence"].state == "ok"
    assert claims["run.json", "schema"].reason == (
        "it was written in format 3; this version has the schema of format 4"
    )
    for name in ("numbers", "bytes"):
        assert claims["brief.html", name].state == "not judged"
        assert "format 3, here 4" in claims["brief.html", name].reason
    assert {claim.state for claim in claims.values()} == {"ok", "not judged"}
    run.write_bytes(old.replace(b":", b": ", 1))
    found = verify(tmp_path)
    assert state(found, "run.json", "canonical") == state(found, "brief.html", "evidence") == "FAILED"


@pytest.mark.parametrize("annex", EXTENTS)
def test_a_report_is_proven_whatever_its_annex(tmp_path: Path, annex: str) -> None:
    """Fails where the report is held against another annex: its headings then differ, and its bytes do."""
    made = AuditRun(verify_cases.run())
    made.write(tmp_path / "run", formats=["html"], annex=annex)
    found = verify(tmp_path / "run")
    assert found.ok
    assert state(found, "report.html", "bytes") == state(found, "report.html", "numbers") == "ok"


def test_a_pdf_is_held_against_the_annex_its_bookmarks_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[kinds.Form] = []
    render = rendering.Maker._rendered

    def told(self: rendering.Maker, form: kinds.Form, suffix: str) -> bytes:
        rendered.append(form)
        return render(self, form, suffix)

    monkeypatch.setattr(rendering.Maker, "_rendered", told)
    AuditRun(verify_cases.run()).write(tmp_path / "run", formats=["pdf"], annex="none")
    assert verify(tmp_path / "run").ok
    assert rendered == [kinds.Form("audit", "none")]


def test_other_files_disprove_nothing_where_they_have_an_excuse() -> None:
    made, expected = {"run.json": b"1", "a.csv": b"old"}, {"run.json": b"1", "a.csv": b"new"}
    excused = judge_files(made, expected, "attachments", "format 1, here 2")
    assert (excused.state, excused.reason) == (
        "not judged", "format 1, here 2, which may make other files: a.csv: first change at byte 0"
    )  # fmt: skip
    failed = judge_files(made, expected, "attachments")
    assert failed.state == "FAILED"


def _repainted(original: Any) -> Any:
    """Return a renderer whose PDF has other bytes and the same words, as another version's has."""

    def render(self: rendering.Maker, kind: str, suffix: str) -> bytes:
        made: bytes = original(self, kind, suffix)
        if suffix != ".pdf":
            return made
        saved = io.BytesIO()
        with pikepdf.open(io.BytesIO(made)) as pdf:
            pdf.save(saved)
        return saved.getvalue()

    return render


def test_the_words_of_a_pdf_are_found_and_a_changed_one_is_not(folder: Path) -> None:
    text = pdf_text((folder / "brief.pdf").read_bytes())
    words = ["Audit of a small model"]
    assert absent(words, text) == []
    assert absent(words, text.replace("small", "smell")) == words
    assert html_blocks(b"<style>p</style><p>a<b>b</b></p><ul><li>c<li>d</ul>") == ["ab", "c", "d"]


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
        from uq_report.ops.verification.inputs import judge_inputs

        return judge_inputs(codec.encode(made), given, place)

    assert judged(files, {"model": "m.skops", "data": "test.csv"}) == ("ok", "ok")  # found beside the report
    assert judged(files, {}) == ("not judged", "not judged")
    assert judged(files, {"model": "../../m.skops"}) == ("ok", "not judged")  # a name is never a path
    assert judged(files, {}, model=folder / "test.csv", data=folder / "test.csv") == ("FAILED", "ok")
    assert judged(memory, {}, model=folder / "m.skops", data=folder / "test.csv") == ("not judged", "ok")
    table.assign(a=[1.5, 2.6]).to_csv(folder / "test.csv", index=False)
    assert judged(memory, {}, data=folder / "test.csv") == ("not judged", "FAILED")
    assert judged(files, {}, data=folder / "test.csv") == ("not judged", "FAILED")


def test_the_command_tells_each_claim_and_its_exit_code(folder: Path, rendered_once: None, tmp_path: Path) -> None:
    def call(*words: str) -> Any:
        return CliRunner().invoke(cli.app, ["verify", "--deep", *words])

    good = call(str(folder))
    assert good.exit_code == 0, good.output
    assert good.stdout.splitlines()[-1].startswith("Verified: ")
    told = json.loads(call(str(folder), "--json").stdout)
    assert told["ok"]
    assert {claim["state"] for claim in told["claims"]} == {"ok", "not judged"}
    assert call(str(folder), "--quiet").output == ""
    page = (folder / "brief.html").read_bytes()
    (folder / "brief.html").write_bytes(flipped(page, len(page) // 2))
    bad = call(str(folder), "-q")
    assert (bad.exit_code, bad.stdout) == (5, "")
    assert "FAILED" in bad.stderr
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "alone.html").write_text("<!DOCTYPE html>")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    for name in ("note.txt", "alone.html", "broken.pdf", "missing.pdf"):
        unreadable = call(str(tmp_path / name))
        assert unreadable.exit_code == 3, name
        assert unreadable.stderr.startswith("Error: verify.")
