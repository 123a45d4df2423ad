"""The check of the sample reports notices numbers, structure and pages, and nothing smaller."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from uq_report.jobs.demo import SAMPLES

ROOT = Path(__file__).parents[2]
PAGE = "<h1>T</h1><section id='a'><h2>A</h2><p>1</p><figure id='f'></figure></section>"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_build", ROOT / "sample_reports" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sample(folder: Path, value: float = 1.0, page: str = PAGE, pages: int = 1, version: str = "1") -> Path:
    pikepdf = pytest.importorskip("pikepdf", reason="counting pages needs pikepdf")
    folder.mkdir()
    run = {"results": [{"values": [0.0, value, None]}], "environment": {"numpy": version}}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "report.html").write_text(page)
    pdf = pikepdf.new()
    for _ in range(pages):
        pdf.add_blank_page()
    pdf.save(folder / "report.pdf")
    return folder


def test_equal_builds_of_other_versions_pass(build: ModuleType, tmp_path: Path) -> None:
    old = sample(tmp_path / "old")
    new = sample(tmp_path / "new", value=1 + 5e-7, page=PAGE.replace("<p>1</p>", "<p>2</p>"), version="2")
    assert list(build.differences(old, new)) == []


def test_a_number_a_heading_and_a_page_are_noticed(build: ModuleType, tmp_path: Path) -> None:
    old = sample(tmp_path / "old")
    number = list(build.differences(old, sample(tmp_path / "number", value=1 + 5e-6)))
    assert number == ["run.json.results[0].values[1]: 1.0, now 1.000005"]
    heading = list(build.differences(old, sample(tmp_path / "heading", page=PAGE.replace("A</h2>", "B</h2>"))))
    assert heading == ["report.html: element 4 was A, now B"]
    figure = list(
        build.differences(old, sample(tmp_path / "figure", page=PAGE.replace("<figure id='f'></figure>", "")))
    )
    assert figure == ["report.html: element 5 was <figure id=f>, now the end"]
    assert list(build.differences(old, sample(tmp_path / "page", pages=2))) == ["report.pdf: 1 pages, now 2"]


@pytest.mark.parametrize("name", [*SAMPLES])
def test_the_committed_samples_are_whole_and_small(build: ModuleType, name: str) -> None:
    folder = ROOT / "sample_reports" / name
    sizes = {file: (folder / file).stat().st_size for file in build.kept(name)}
    assert sizes["report.html"] <= 3e6
    assert sizes["report.pdf"] <= 2e6
    assert json.loads((folder / "run.json").read_bytes())["as_of"] == build.AS_OF
    assert [p.name for p in sorted(folder.iterdir())] == sorted(build.kept(name))


def test_the_samples_together_are_below_15_megabytes() -> None:
    assert sum(file.stat().st_size for file in (ROOT / "sample_reports").rglob("*") if file.is_file()) < 15e6
