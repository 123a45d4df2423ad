"""No retired word stands in names, docstrings, comments, error messages or report sentences of the package."""

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
IN_SENTENCES = re.compile("|".join(WORDS["sentences"]), re.IGNORECASE)
OBSERVATIONS = re.compile(r"\brows?\b", re.IGNORECASE)  # retired in sentences; tables have rows
IDENTIFIER = re.compile(r"[a-z0-9_]+[.-][a-z0-9_.-]+")  # of a section, a table, a slot
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SPOKEN = ("report", "reading", "document")  # rooms that make the sentences of a report


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


def sentences(tree: ast.Module) -> Iterator[str]:
    """Yield every text of a module that may be printed: constants and the fixed parts of formatted strings."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nested = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            fixed = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield "".join(str(part) for part in fixed)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare | nested:
            yield node.value


def spoken(source: str) -> list[str]:
    """Return the retired words in the sentences of one module."""
    found = []
    for text in sentences(ast.parse(source)):
        found += [] if IDENTIFIER.fullmatch(text) else [match[0] for match in IN_SENTENCES.finditer(text)]
        found += OBSERVATIONS.findall(text) if len(text.split()) > 3 else []
    return found


def modules(*rooms: str) -> list[Path]:
    """Return the modules of the package, or of these rooms."""
    return sorted(file for room in rooms or ("",) for file in (ROOT / "uq_report" / room).rglob("*.py"))


def test_the_package_has_no_retired_word() -> None:
    files = modules()
    found = {str(file.relative_to(ROOT)): retired(file.read_text(encoding="utf-8"), file.stem) for file in files}
    assert len(files) > 100
    assert {file: words for file, words in found.items() if words} == {}


def test_the_sentences_of_a_report_have_no_retired_word() -> None:
    files = modules(*SPOKEN)
    found = {str(file.relative_to(ROOT)): spoken(file.read_text(encoding="utf-8")) for file in files}
    assert len(files) > 35
    assert {file: words for file, words in found.items() if words} == {}


def test_a_retired_word_is_noticed() -> None:
    assert retired('class Halt:\n    """Its doubt."""\n    seed_share: int = 0  # a house\n', "core") == [
        "Halt",
        "seed_share",
        "doubt",
    ]
    assert retired('raise ValueError("no\\nhouse style")', "caller") == ["caller", "house style"]
    assert retired('"""What is in doubt."""', "core") == []


def test_a_retired_word_in_a_sentence_is_noticed() -> None:
    assert spoken('"""The rows tell nothing of it."""') == []  # a docstring is not printed
    assert spoken('x = f"{n} rows cannot tell whether it is right."') == ["rows cannot tell", "rows"]
    assert spoken('x = "The answer"') == ["The answer"]
    assert spoken('x = ("all rows", "The test sample has observations.")') == []
