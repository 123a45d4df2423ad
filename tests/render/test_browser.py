"""Pages in a browser and under the validator: no fault axe-core knows, no error of HTML or CSS, no request.

They need Chromium, Node and Java, and the npm packages playwright-core, axe-core and vnu-jar in the directory that
UQ_NODE_MODULES names; without them these tests are skipped by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from uq_report.document.document import Attachment, Document
from uq_report.render.html import HtmlRenderer
from uq_report.testing.known import known_document

MODULES = Path(os.environ.get("UQ_NODE_MODULES", "node_modules"))
AXE = Path(__file__).with_name("browser") / "axe.mjs"
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


def test_axe_finds_nothing_on_phone_and_desk_light_and_dark(pages: list[str]) -> None:
    node, chromium = tool("node"), tool("chromium", "chromium-browser", "google-chrome")
    if not (MODULES / "axe-core").is_dir():
        pytest.skip(f"axe-core is not in {MODULES} (UQ_NODE_MODULES)")
    command = [node, str(AXE), chromium, str(MODULES.resolve()), *pages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
