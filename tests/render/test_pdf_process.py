"""Printing apart: limits hold, nothing is left behind, every kind of caller works, and the child is light."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from uq_report.core.support.errors import InputError, RenderError
from uq_report.document.document import Attachment, Document, Paragraph, Section
from uq_report.render import pdf, printer
from uq_report.render.pdf import PdfRenderer, print_apart

posix = pytest.mark.skipif(os.name != "posix", reason="memory and CPU limits are POSIX only")
ROOT = Path(__file__).parents[2]
ENDLESS = "<style>@page { size: 100px 20px; margin: 0 }</style>" + "<p>word</p>" * 20_000
ONE_PAGE = "<html lang=en><title>t</title><h1>t</h1>"


def answer(head: dict[str, object], content: bytes) -> bytes:
    """Return what the child writes: a line of JSON, and the PDF."""
    return json.dumps(head).encode() + b"\n" + content


def processes() -> set[str]:
    """Return the ids of this process's children that still are there, the dead ones not waited for included."""
    if not Path("/proc/self/task").is_dir():
        return set()
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_a_page_printed_apart_is_the_page_printed_here(document: Document) -> None:
    apart = PdfRenderer().render(document)
    assert PdfRenderer(isolated=False).render(document) == apart


def test_a_page_without_end_is_stopped_and_its_process_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "CLOCK", 150)  # a busy machine may give little of its processors in 20 s
    before = processes()
    with pytest.raises(
        RenderError,
        match=r"pdf\.cpu_seconds must be enough for the page; 2 s of processor time were used up\. Raise it",
    ):
        print_apart(ENDLESS, (), "2026-11-21", PdfRenderer(cpu_seconds=2.0, memory_mb=2048))
    assert processes() == before


@posix
@pytest.mark.parametrize("megabytes", [32, 300])
def test_a_page_that_takes_too_much_memory_is_stopped(megabytes: int) -> None:
    """Too little to start, and too little to lay the page out, by far: both are told.

    CPython itself may spin for want of a few bytes; then the error of the time names the memory, too.
    """
    words = r"pdf\.memory_mb must be enough|raise memory_mb|memory_mb is 300"
    with pytest.raises(RenderError, match=words):
        print_apart(
            2 * ENDLESS.replace("20px", "900px"), (), "2026-11-21", PdfRenderer(cpu_seconds=60.0, memory_mb=megabytes)
        )


def test_a_machine_without_fonts_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pango ends the process that asks it for one."""
    (tmp_path / "fonts.conf").write_text("<?xml version='1.0'?><!DOCTYPE fontconfig SYSTEM 'x'><fontconfig/>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(tmp_path / "fonts.conf"))
    with pytest.raises(RenderError, match=r"pdf needs a font, and Fontconfig finds none .* fonts-dejavu-core"):
        print_apart(ONE_PAGE, (), "2026-11-21", PdfRenderer())


@posix
@pytest.mark.parametrize(("number", "words"), [(signal.SIGXCPU, "cpu_seconds"), (signal.SIGABRT, "SIGABRT")])
def test_a_child_that_dies_is_told_by_its_cause(number: signal.Signals, words: str) -> None:
    done = subprocess.CompletedProcess[bytes]([], -number, b"", b"out of memory")
    with pytest.raises(RenderError, match=words):
        pdf._read(done, PdfRenderer(cpu_seconds=1.0, memory_mb=100))


def test_an_answer_cut_off_is_no_page() -> None:
    whole = answer({"problems": [], "warnings": [], "size": 8}, b"%PDF-1.7")
    for cut in (whole[:-2], whole[:9], b""):
        done = subprocess.CompletedProcess[bytes]([], 0, cut, b"")
        with pytest.raises(RenderError, match=r"pdf\.process must end with a page; it ended with exit code 0"):
            pdf._read(done, PdfRenderer(cpu_seconds=1.0, memory_mb=100))


def test_a_python_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RenderError, match=r"pdf\.process must start; got .*nowhere"):
        print_apart(ONE_PAGE, (), "2026-11-21", PdfRenderer(cpu_seconds=9.0, memory_mb=2048))
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(RenderError, match="Set isolated=False to print in this process"):
        print_apart(ONE_PAGE, (), "2026-11-21", PdfRenderer(cpu_seconds=9.0, memory_mb=2048))


@pytest.mark.parametrize("options", [{"cpu_seconds": 0.0}, {"cpu_seconds": float("nan")}, {"memory_mb": -1}])
def test_limits_that_are_none_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=rf"pdf\.{next(iter(options))} must be a number of \w+ above 0; got"):
        PdfRenderer(**options)  # type: ignore[arg-type]


def test_warnings_of_the_child_are_raised_here() -> None:
    head = {"problems": ["p"], "warnings": [["DeprecationWarning", "old"], ["NoSuch", "odd"]], "size": 1}
    done = subprocess.CompletedProcess[bytes]([], 0, answer(head, b"x"), b"Fontconfig error: none\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert pdf._read(done, PdfRenderer(cpu_seconds=1.0, memory_mb=100)) == (b"x", ["p"])
    kinds = [(w.category, str(w.message)) for w in caught]
    expected = [(DeprecationWarning, "old"), (UserWarning, "odd"), (UserWarning, "pdf: Fontconfig error: none")]
    assert kinds == expected


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from uq_report.render.pdf import PdfRenderer
from uq_report.document.document import Document
made = PdfRenderer().render(Document(title="T", subtitle="", as_of="2026-11-21", generator="g", evidence_sha256="0"))
print(made[:5].decode(), "weasyprint" in sys.modules)
"""


@pytest.mark.parametrize("how", ["a file without guard", "standard input", "-c", "a thread"])
def test_every_kind_of_caller_prints_once(tmp_path: Path, how: str) -> None:
    """The caller's main module is not imported by the child, and need not be a file; modules beside it do no harm."""
    script = SCRIPT.format(root=str(ROOT))
    if how == "a thread":
        lines = script.strip().splitlines()
        body = "\n".join(f"    {line}" for line in lines)
        script = f"import threading\ndef work():\n{body}\nthread = threading.Thread(target=work)\nthread.start()\n"
        script += "thread.join()\n"
    (tmp_path / "html.py").write_text("raise SystemExit('a module of the user')")
    file = tmp_path / "main.py"
    file.write_text(script)
    command = [
        sys.executable,
        "-P",
        *(["-c", script] if how == "-c" else ["-"] if how == "standard input" else [str(file)]),
    ]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, input=script, capture_output=True, text=True, cwd=tmp_path, env=env, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("%PDF- False\n", "")


def test_the_child_imports_what_printing_needs_and_nothing_more() -> None:
    code = "import sys, uq_report.render.printer; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).split())
    assert "weasyprint" in loaded
    assert not loaded & {"numpy", "pandas", "scipy", "sklearn", "matplotlib", "jinja2", "pydantic", "multiprocessing"}


def test_a_house_style_is_filled_without_numbers_or_frames() -> None:
    code = "import sys, uq_report.render.filler; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).split())
    assert "jinja2" in loaded
    assert not loaded & {"numpy", "pandas", "scipy", "sklearn", "matplotlib", "weasyprint", "pydantic"}


def answered(html: str, files: Sequence[Attachment], as_of: str) -> tuple[dict[str, object], bytes]:
    """Answer a job in this process, without limits."""
    out = io.BytesIO()
    assert printer.main(["9", "2048"], io.BytesIO(pickle.dumps((html, files, as_of))), out) == 0
    line, _, content = out.getvalue().partition(b"\n")
    return json.loads(line), content


def test_a_job_is_answered_with_the_page_or_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printer, "limit", lambda *_: None)
    file = Attachment("a.csv", b"a\n", "text/csv", "d")
    head, content = answered(ONE_PAGE, [file], "2026-11-21")
    assert head == {"problems": [], "warnings": [], "size": len(content)}
    assert content.startswith(b"%PDF-1.7")
    head, content = answered(ONE_PAGE, [file], "yesterday")
    assert head == {"error": "document.as_of must be an ISO date; got 'yesterday'. Write it as YYYY-MM-DD."}
    assert content == b""

    def short_of_memory(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(printer, "print_page", short_of_memory)
    assert answered(ONE_PAGE, [file], "2026-11-21") == ({"memory": True}, b"")


@pytest.mark.parametrize("names", [("a.csv", "a.csv"), ("../a.csv",), ("",), ("a\\b",), ("ü.csv",), ("x" * 300,)])
def test_attachments_have_plain_names(document: Document, names: tuple[str, ...]) -> None:
    files = tuple(Attachment(name, b"", "text/csv", "d") for name in names)
    with pytest.raises(RenderError, match=r"document\.attachments must have plain file names, each once"):
        PdfRenderer(isolated=False).render(replace(document, attachments=files))


def test_a_report_with_large_attachments_is_printed(document: Document) -> None:
    """More than a pipe holds, both ways."""
    big = Attachment("big.bin", os.urandom(3_000_000), "application/octet-stream", "d")
    text = Section(id="s", title="S", blocks=(Paragraph(text="T"),))
    printed = PdfRenderer().render(replace(document, sections=(text,), attachments=(big,)))
    assert len(printed) > 3_000_000
