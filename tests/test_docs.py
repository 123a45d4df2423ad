"""What the pages for maintainers name is there."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import uq_report

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/decisions/README.md"]
PAGES += [f"docs/decisions/{page.name}" for page in sorted((ROOT / "docs" / "decisions").glob("0*.md"))]


def places(text: str) -> set[str]:
    """Return what looks like a path of the checkout: in code marks with a slash, or the target of a link."""
    marked = {word.split(":")[0] for word in re.findall(r"`([\w.]+/[\w./-]*)(?::[^`]*)?`", text)}
    return marked | {link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link}


def there(page: Path, place: str) -> bool:
    return any((base / place).exists() for base in (page.parent, ROOT, ROOT / "uq_report"))


@pytest.mark.parametrize("page", PAGES)
def test_every_path_a_page_names_exists(page: str) -> None:
    named = places((ROOT / page).read_text(encoding="utf-8"))
    assert not [place for place in sorted(named) if not there(ROOT / page, place)]


def test_a_path_that_is_gone_is_noticed() -> None:
    assert places("see `core/gone.py`, `methods/x/y.py: name` and [it](docs/no.md)") == {
        "core/gone.py",
        "methods/x/y.py",
        "docs/no.md",
    }
    assert not there(ROOT / "README.md", "core/gone.py")


def test_the_table_of_rooms_has_every_room_in_the_order_of_the_arrows() -> None:
    rooms = re.findall(r"^\| `uq_report/(\w+)/`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE)
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    floors = {room: floor for floor, layer in enumerate(reversed(layers)) for room in re.split(r" [|:] ", layer)}
    assert set(rooms) == set(floors)
    assert [floors[room] for room in rooms] == sorted(floors[room] for room in rooms)


def test_the_page_of_hooks_has_every_optional_protocol_and_no_other() -> None:
    hooks = set()
    for file in (ROOT / "uq_report").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
                hooks |= {node.name} if (ast.get_docstring(node) or "").startswith("Optional") else set()
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    named = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert hooks
    assert hooks <= named


def test_the_version_is_one() -> None:
    version = PROJECT["project"]["version"]
    assert version == uq_report.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_commits_are_styled_by_the_version_that_the_check_uses() -> None:
    revisions = re.findall(r"rev: v(\S+)", (ROOT / ".pre-commit-config.yaml").read_text())
    pinned = [
        extra.partition("==")[2] for extra in PROJECT["project"]["optional-dependencies"]["lint"] if "ruff" in extra
    ]
    assert pinned == revisions[:1]


def test_links_of_the_readme_work_outside_of_the_checkout() -> None:
    home = PROJECT["project"]["urls"]["Homepage"]
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert all(link.startswith(("https://", "#")) for link in links)
    ours = [
        re.sub(r"^/(?:blob|tree)/main/", "", link.removeprefix(home)) for link in links if link.startswith(home + "/")
    ]
    assert not [place for place in ours if not (ROOT / place).exists()]


def test_the_list_of_decisions_is_whole() -> None:
    listed = re.findall(r"\((\d{4}-[\w-]+\.md)\)", (ROOT / "docs" / "decisions" / "README.md").read_text())
    assert listed == [page.removeprefix("docs/decisions/") for page in PAGES if re.search(r"/\d{4}-", page)]


def test_licences_of_what_extras_bring_are_said_where_it_is_installed() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ((install, without),) = re.findall(
        r"`(\w+)` adds [^;]*\bDALEX \(GPL-3[^;]*; `pip install 'uq_report\[([\w,]+)\]'` leaves DALEX\sout", readme
    )
    assert f"pip install 'uq_report[{install}]'" in readme
    parts = extras[install][0].removeprefix("uq_report[").removesuffix("]").split(",")
    assert set(parts) - set(without.split(",")) == {"dalex"}
    assert set(without.split(",")) < set(parts)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert any(line.startswith("outloud") for line in extras["test"])
    assert "outloud, which checks PDF/UA and needs PyMuPDF: AGPL-3" in contributing
    assert not [name for name, lines in extras.items() if name != "test" and any("outloud" in line for line in lines)]


def test_a_release_has_a_list_of_components_and_a_contact_for_weaknesses() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert (
        workflow.index("python -m build") < workflow.index("cyclonedx-py environment") < workflow.index("pypi-publish")
    )
    assert "gh release upload" in workflow
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "https://github.com/uq-report/uq_report/security/advisories/new" in security
