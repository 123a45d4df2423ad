"""Pages in a browser and under the validator: no fault axe-core knows, no error of HTML or CSS, no request.

They need Chromium, Node and Java, and the npm packages playwright-core, axe-core and vnu-jar in the directory that
UQ_NODE_MODULES names; without them these tests are skipped by name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from uq_report.document.document import Attachment, Block, Column, Document, Figure, Fold, Paragraph, Section, Table
from uq_report.render.html import HtmlRenderer
from uq_report.testing.known import known_document

from .conftest import make

MODULES = Path(os.environ.get("UQ_NODE_MODULES", "node_modules"))
AXE = Path(__file__).with_name("browser") / "axe.mjs"
SCRIPT = AXE.with_name("script.mjs")
VNU = MODULES / "vnu-jar" / "build" / "dist" / "vnu.jar"
FILES = (Attachment("pfi.csv", b"feature,value\nage,1\n", "text/csv", "Estimates of pfi"),)
KINDS = ("audit", "brief", "model-card")


def tool(*names: str) -> str:
    """Return the path of the first of these programs that is installed."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"{names[0]} is not installed")
    return found


@pytest.fixture(scope="module")
def pages(document: Document, hostile: Document, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Each kind of document with a banner, one of hostile text, and one with every block and files."""
    folder = tmp_path_factory.mktemp("pages")
    made = {kind: replace(document, kind=kind, banner="Internal · DRAFT") for kind in KINDS}
    more = {"hostile": hostile, "known": replace(known_document(), attachments=FILES)}
    for name, one in {**made, **more}.items():
        (folder / f"{name}.html").write_bytes(HtmlRenderer().render(one))
    return sorted(map(str, folder.glob("*.html")))


def test_axe_finds_nothing_on_phone_and_desk_light_and_dark_with_and_without_script(pages: list[str]) -> None:
    node, chromium = tool("node"), tool("chromium", "chromium-browser", "google-chrome")
    if not (MODULES / "axe-core").is_dir():
        pytest.skip(f"axe-core is not in {MODULES} (UQ_NODE_MODULES)")
    command = [node, str(AXE), chromium, str(MODULES.resolve()), *pages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_script_sorts_filters_switches_reveals_follows_and_reads_off(tmp_path: Path) -> None:
    node, chromium = tool("node"), tool("chromium", "chromium-browser", "google-chrome")
    if not (MODULES / "playwright-core").is_dir():
        pytest.skip(f"playwright-core is not in {MODULES} (UQ_NODE_MODULES)")
    (tmp_path / "page.html").write_bytes(HtmlRenderer().render(_busy()))
    command = [node, str(SCRIPT), chromium, str(MODULES.resolve()), str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert "error" not in told
    assert told["up"] == ["−11", "−10", "−9", "−8"]
    assert (told["down"], told["last"]) == (["8", "7", "6", "5"], "–")
    assert told["sorted"] == [None, "descending", None, None]
    assert (told["filtered"], told["count"]) == (["f1", *(f"f1{k}" for k in range(10))], "11 of 21")
    assert (told["shown"], told["again"]) == (["Feature", "loss nats"], 4)
    assert (told["closed"], told["revealed"]) == (False, True)
    assert told["current"] == ["3 Last"]
    assert set(told["open"]) == {True}
    assert told["read"] == "months 36.0 · risk 0.75"


def _busy() -> Document:
    """A page with a long table about three measures, a table in a fold, and a figure that says its scales."""
    measures = (Column("prediction", "number"), Column("loss", "number", "nats"), Column("uncertainty"))
    columns = (Column("Feature"), *measures)
    cells = tuple((f"f{k}", 8.0 - k if k < 20 else None, k / 10, "about 0") for k in range(21))
    ranks = Table(id="ranks", caption="Ranks", columns=columns, rows=cells)
    inner = Table(id="inside", caption="Inside", columns=columns[:1], rows=(("age",),))
    axes = escape('[{"box":[0,0,100,100],"x":["months",0,72],"y":["risk",0,1]}]', {'"': "&quot;"})
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="300" height="300" data-axes="{axes}"/>'
    drawn = Figure(id="drawn", caption="Drawn", alt="A line.", svg=svg.encode())
    blocks: tuple[tuple[Block, ...], ...] = (
        (ranks,),
        (Fold(title="More", blocks=(inner,)), drawn),
        (Paragraph(text="End."),),
    )
    titles = ("First", "Second", "Last")
    sections = [Section(id=title, title=title, blocks=held) for title, held in zip(titles, blocks, strict=True)]
    return make(*sections)


def test_the_validator_finds_no_error_in_html_and_css(pages: list[str]) -> None:
    """Its one warning is left out: it takes the policy's ``data:`` for a host, and so our images for blocked."""
    java = tool("java")
    if not VNU.is_file():
        pytest.skip(f"vnu.jar is not in {MODULES} (UQ_NODE_MODULES)")
    command = [java, "-jar", str(VNU), "--stdout", "--format", "gnu", *pages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    told = [
        line for line in done.stdout.splitlines() if "image “data:" not in line or "“img-src” directive" not in line
    ]
    assert (told, done.stderr) == ([], "")
