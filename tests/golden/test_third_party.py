"""What a stranger's plugins add to the report, word for word: see `test_golden` for how it is written anew."""

from __future__ import annotations

from pathlib import Path

from ..strangers import audit, install, part
from .test_golden import compare

PARTS = (
    "Findings",
    "Rules and severities",
    "Log loss in excess of the entropy, by feature",
    "Permutation importance",
    "Screen",
)


def test_the_words_of_a_stranger(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    text = (audit(install(tmp_path / "site"), tmp_path) / "report.md").read_text(encoding="utf-8")
    compare("third-party.md", "\n".join(part(text, title) for title in PARTS).encode())
