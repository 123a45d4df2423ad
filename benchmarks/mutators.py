"""Small changes of a module's source that its tests should notice: comparisons, arithmetic, numbers, order."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

LOOSER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITE = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
CALLS = {
    "min": "max", "max": "min", "sum": "mean", "mean": "sum", "any": "all", "all": "any", "minimum": "maximum",
    "maximum": "minimum", "argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor",
}  # fmt: skip
THRESHOLDS = "thresholds"  # the key of a rule that holds its numbers
NUMBER = re.compile(rb"= (-?[\d.e-]+)(?=[ ,}])")
SHARE = 0.1  # that a number grows by
UNTOUCHED = {"annotation", "returns", "decorator_list"}
SILENT = (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)
WORDS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)  # what + joins


@dataclass(frozen=True)
class Mutant:
    """One change of one file: `after` in place of the bytes `start` to `stop`, within the statement on `lines`."""

    file: str
    lines: tuple[int, int]
    start: int
    stop: int
    before: str
    after: str
    names: tuple[str, ...]  # what the statement defines where it runs on import; () in a function
    text: str  # of the first line of the statement

    @property
    def line(self) -> int:
        """The line on which the statement starts."""
        return self.lines[0]

    @property
    def key(self) -> tuple[str, str, str]:
        """What the mutant is, wherever its file is changed elsewhere."""
        return self.file, self.text, f"{self.before} -> {self.after}"

    def apply(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.after.encode() + source[self.stop :]


def mutants(file: str, source: bytes) -> list[Mutant]:
    r"""Return every mutant of a module, in the order of its source.

    >>> [mutant.after for mutant in mutants("a.py", b"def f(x, k=2):\n    return x < k\n")]
    ['(3)', '(x <= k)', '(x >= k)', '(not x < k)']
    """
    texts, starts = source.decode().splitlines(), [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def made(statement: tuple[int, int], names: tuple[str, ...], node: ast.expr, after: ast.expr) -> Mutant:
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = texts[statement[0] - 1].strip()
        return Mutant(file, statement, start, stop, ast.unparse(node), f"({ast.unparse(after)})", names, text)

    return [
        made(lines, names, node, after)
        for lines, names, node, parent in _expressions(ast.parse(source), False, (1, 1), ())
        for after in _changes(node, parent)
    ]


def stated(file: str, source: bytes) -> list[Mutant]:
    r"""Return a mutant of every threshold that a data file of rules states, named by the code of its rule.

    >>> [mutant.after for mutant in stated("a.toml", b"[UQ1]\nthresholds = { some = 0.5, least = 9 }\n")]
    ['0.55', '10']
    """
    found, code, start = [], "", 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        text = line.decode().strip()
        code = text.strip("[]") if text.startswith("[") else code
        for match in NUMBER.finditer(line) if text.startswith(f"{THRESHOLDS} =") else ():
            before = match[1].decode()
            (after,) = _constants(ast.Constant(ast.literal_eval(before)), ast.Dict())
            place = start + match.start(1), start + match.end(1)
            found.append(Mutant(file, (number, number), *place, before, f"{after.value:g}", (code,), text))  # type: ignore[attr-defined]
        start += len(line)
    return found


Place = tuple[tuple[int, int], tuple[str, ...], ast.expr, ast.AST]


def _expressions(node: ast.AST, within: bool, lines: tuple[int, int], names: tuple[str, ...]) -> Iterator[Place]:
    """Yield the expressions below a node that compute; `within` says whether the node is in a function."""
    for child in _children(node):
        spot, defined = lines, names
        if isinstance(child, ast.stmt):
            spot, defined = _lines(child), () if within else _defined(child)
        if isinstance(child, ast.FunctionDef):
            yield from _expressions(child.args, within, spot, (child.name,))
            yield from _expressions(ast.Module(child.body, []), True, spot, ())
            continue
        if isinstance(child, ast.expr):
            yield spot, defined, child, node
        yield from _expressions(child, within, spot, defined)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node but annotations, decorators, errors, imports and texts."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            checking = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            if isinstance(child, ast.AST) and field not in UNTOUCHED and not isinstance(child, SILENT) and not checking:
                yield child


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, of a compound one those of its head."""
    body = getattr(statement, "body", None)
    last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno
    return statement.lineno, last


def _defined(statement: ast.stmt) -> tuple[str, ...]:
    """Return the names that a statement outside functions defines."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return tuple(node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name))


def _changes(node: ast.expr, parent: ast.AST) -> Iterator[ast.expr]:
    """Yield what may stand in place of an expression."""
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.Constant):
        yield from _constants(node, parent)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield _with(node, lambda new: setattr(new, "op", ast.And() if isinstance(new.op, ast.Or) else ast.Or()))
    elif isinstance(node, ast.BinOp) and _computes(node, parent):
        yield _with(node, lambda new: setattr(new, "op", ARITHMETIC[type(new.op)]()))
        if isinstance(parent, ast.Return):
            yield ast.UnaryOp(ast.USub(), node)
    if isinstance(parent, ast.Return) and isinstance(node, (ast.Compare, ast.BoolOp)):
        yield ast.UnaryOp(ast.Not(), node)


def _comparisons(node: ast.Compare) -> Iterator[ast.expr]:
    for place, operator in enumerate(node.ops):
        for other in (LOOSER.get(type(operator)), OPPOSITE.get(type(operator))):
            if other:
                yield _with(node, lambda new, at=place, op=other: new.ops.__setitem__(at, op()))


def _computes(node: ast.BinOp, parent: ast.AST) -> bool:
    """Return whether an operation is one of numbers, not of texts or types."""
    if type(node.op) not in ARITHMETIC or (
        isinstance(node.op, ast.BitOr) and isinstance(parent, (ast.Call, ast.Assign))
    ):
        return False
    sides = (node.left, node.right)
    return not any(isinstance(s, WORDS) or (isinstance(s, ast.Constant) and isinstance(s.value, str)) for s in sides)


def _constants(node: ast.Constant, parent: ast.AST) -> Iterator[ast.expr]:
    value = node.value
    if isinstance(parent, ast.keyword) and parent.arg == "strict":  # lengths that always agree
        return
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(parent, ast.keyword) and parent.arg == "axis" and isinstance(value, int):
        yield ast.Constant(1 - value)
    elif isinstance(value, int):
        yield ast.Constant(value + max(1, round(SHARE * value)))
    elif isinstance(value, float):
        yield ast.Constant(value * (1 + SHARE) if value else 1.0)


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == "sorted" and not any(keyword.arg == "reverse" for keyword in node.keywords):
        yield _with(node, lambda new: new.keywords.append(ast.keyword("reverse", ast.Constant(value=True))))
    if isinstance(node.func, ast.Attribute) and name in CALLS:
        yield _with(node, lambda new: setattr(new.func, "attr", CALLS[name]))
    elif isinstance(node.func, ast.Name) and name in {"min", "max", "any", "all"}:
        yield _with(node, lambda new: setattr(new.func, "id", CALLS[name]))


def _with(node: ast.expr, change: Callable[[Any], object]) -> ast.expr:
    """Return a changed copy of an expression."""
    new = copy.deepcopy(node)
    change(new)
    return new
