"""The check of the sample reports notices numbers, structure and pages, and nothing smaller."""

import json
import tomllib
from pathlib import Path

import pytest

from uq_report.jobs.demo import SAMPLES

from .. import samples

ROOT = Path(__file__).parents[2]
PAGE = "<h1>T</h1><section id='a'><h2>A</h2><p>1</p><figure id='f'></figure></section>"


def sample(folder: Path, value: float = 1.0, page: str = PAGE, pages: int = 1, version: str = "1") -> Path:
    pikepdf = pytest.importorskip("pikepdf", reason="counting pages needs pikepdf")
    folder.mkdir()
    run = {"results": [{"values": [0.0, value, None]}], "environment": {"numpy": version}}
    (folder / "report.html").write_text(page)
    pdf = pikepdf.new()
    for _ in range(pages):
        pdf.add_blank_page()
    pdf.attachments["run.json"] = json.dumps(run).encode()
    pdf.save(folder / "report.pdf")
    return folder


def test_equal_builds_of_other_versions_pass(tmp_path: Path) -> None:
    old = sample(tmp_path / "old")
    new = sample(tmp_path / "new", value=1 + 5e-7, page=PAGE.replace("<p>1</p>", "<p>2</p>"), version="2")
    assert list(samples.differences(old, new)) == []


def test_a_number_a_heading_and_a_page_are_noticed(tmp_path: Path) -> None:
    old = sample(tmp_path / "old")
    number = list(samples.differences(old, sample(tmp_path / "number", value=1 + 5e-6)))
    assert number == ["run.json.results[0].values[1]: 1.0, now 1.000005"]
    heading = list(samples.differences(old, sample(tmp_path / "heading", page=PAGE.replace("A</h2>", "B</h2>"))))
    assert heading == ["report.html: element 4 was A, now B"]
    figure = list(
        samples.differences(old, sample(tmp_path / "figure", page=PAGE.replace("<figure id='f'></figure>", "")))
    )
    assert figure == ["report.html: element 5 was <figure id=f>, now the end"]
    assert list(samples.differences(old, sample(tmp_path / "page", pages=2))) == ["report.pdf: 1 pages, now 2"]


@pytest.mark.parametrize("name", [*SAMPLES])
def test_the_committed_samples_are_whole_and_small(name: str) -> None:
    folder = ROOT / "sample_reports" / name
    sizes = {file: (folder / file).stat().st_size for file in samples.KEPT}
    assert sizes["report.html"] <= 3e6
    assert sizes["report.pdf"] <= 2e6
    assert json.loads(samples.saved_run(name))["as_of"] == samples.AS_OF
    assert [p.name for p in sorted(folder.iterdir())] == sorted(samples.KEPT)


def test_the_samples_together_are_small() -> None:
    def size(folder: str) -> int:
        return sum(file.stat().st_size for file in (ROOT / folder).rglob("*") if file.is_file())

    replication = size("sample_reports/replication")
    assert replication < 3 * 2**20
    assert size("sample_reports") - replication < 6 * 2**20  # with run.json in each PDF, and the evidence in each page


def test_the_replication_document_judges_every_claim() -> None:
    folder = ROOT / "sample_reports" / "replication"
    rows = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    claims = tomllib.loads((ROOT / "benchmarks" / "papers" / "claims.toml").read_text(encoding="utf-8"))
    assert [row["claim"] for row in rows] == list(claims)
    assert not [row["claim"] for row in rows if row["verdict"] == "not run"]
    page = (folder / "replication.html").read_text(encoding="utf-8")
    for verdict in ("in part", "does not agree"):
        assert f"{sum(row['verdict'] == verdict for row in rows)} {verdict}" in page
