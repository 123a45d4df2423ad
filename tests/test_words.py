"""No retired word stands in names, docstrings, comments or error messages of the package."""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = tomllib.loads((ROOT / "docs" / "words.toml").read_text(encoding="utf-8"))
RETIRED = re.compile("|".join(WORDS["text"]), re.IGNORECASE)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines for others: classes, functions, fields."""
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            yield node.name
        if isinstance(node, ast.ClassDef):
            fields = (field.target for field in node.body if isinstance(field, ast.AnnAssign))
            yield from (field.id for field in fields if isinstance(field, ast.Name))


def texts(source: str, tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings, the comments and the texts of raised errors."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITIONS)):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Raise):
            parts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            yield from (part for part in parts if isinstance(part, str))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def retired(source: str, module: str) -> list[str]:
    """Return the retired words of one module."""
    tree = ast.parse(source)
    defined = [module] * (module in WORDS["modules"]) + [name for name in names(tree) if name in WORDS["names"]]
    return defined + [match[0] for text in texts(source, tree) for match in RETIRED.finditer(" ".join(text.split()))]


def test_the_package_has_no_retired_word() -> None:
    files = sorted((ROOT / "uq_report").rglob("*.py"))
    found = {str(file.relative_to(ROOT)): retired(file.read_text(encoding="utf-8"), file.stem) for file in files}
    assert len(files) > 100
    assert {file: words for file, words in found.items() if words} == {}


def test_a_retired_word_is_noticed() -> None:
    assert retired('class Halt:\n    """Its doubt."""\n    seed_share: int = 0  # a house\n', "core") == [
        "Halt",
        "seed_share",
        "doubt",
    ]
    assert retired('raise ValueError("no\\nhouse style")', "caller") == ["caller", "house style"]
    assert retired('"""What is in doubt."""', "core") == []
