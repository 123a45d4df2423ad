"""Which test runs which line of the parts that mutants.py judges: recorded once, and read to judge mutants."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mutators import THRESHOLDS, Mutant

ROOT = Path(__file__).parents[1]
PARTS = ("core", "distributions", "methods", "checks")
SECONDS = 25.0  # of tests that judge one mutant


@dataclass
class Record:
    """Which test runs which line, and how long it takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def add(self, file: Path) -> None:
        """Take in what was recorded of one folder of tests."""
        made = json.loads(file.read_text(encoding="utf-8"))
        nodes = [node for node, _ in made["seconds"]]
        self.seconds |= dict(made["seconds"])
        for name, lines in made["lines"].items():
            for line, places in lines.items():
                self.lines.setdefault(name, {}).setdefault(int(line), set()).update(nodes[place] for place in places)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a mutant, those of its name first, then the quickest, up to `SECONDS`."""
        first, last = mutant.lines
        own = self.lines.get(mutant.file, {})
        of = set().union(*(own.get(line, ()) for line in range(first, last + 1)))
        if mutant.names:
            of |= self._using(mutant) or set().union(*own.values())
        path = Path(mutant.file)
        named = {path.stem, path.parent.name, THRESHOLDS} - set(PARTS)
        order = sorted(of, key=lambda node: (not any(name in node for name in named), self.seconds[node], node))
        spent, kept = 0.0, []
        for node in order:
            spent += self.seconds[node]
            if spent > SECONDS and kept:
                break
            kept.append(node)
        return kept

    def _using(self, mutant: Mutant) -> set[str]:
        """Return the tests of lines that use a name which is defined on import, and those of files that name it.

        An option of a check may be a threshold of its rules by another name: so all tests of thresholds are among them.
        """
        names = _following(mutant)
        word = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
        of_lines = (
            self.lines[name].get(number, set())
            for name in self.lines
            for number, text in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
            if word.search(text)
        )
        files = {node.partition("::")[0] for node in self.seconds if node.startswith("tests")}
        naming = {file for file in files if word.search((ROOT / file).read_text(encoding="utf-8"))}
        if re.search(rf" = rule\(|^{THRESHOLDS} = ", (ROOT / mutant.file).read_text(encoding="utf-8"), re.MULTILINE):
            naming |= {file for file in files if THRESHOLDS in file}
        return set().union(*of_lines, (node for node in self.seconds if node.partition("::")[0] in naming))


def _following(mutant: Mutant) -> list[str]:
    """Return the names that a statement defines, and those that its module makes of them."""
    names = list(mutant.names)
    if not mutant.file.endswith(".py"):
        return names
    for statement in ast.parse((ROOT / mutant.file).read_bytes()).body:
        if isinstance(statement, ast.Assign):
            ids = [
                [node.id for node in ast.walk(part) if isinstance(node, ast.Name)]
                for part in ast.iter_child_nodes(statement)
            ]
            if set(ids[-1]) & set(names):
                names += ids[0]
    return names


def record(folder: str, file: Path) -> None:
    """Run a folder of tests, and the examples of the part of its name, and write which test ran which line."""
    import coverage

    measured = coverage.Coverage(
        data_file=None, config_file=False, include=[str(ROOT / "uq_report" / part / "*") for part in PARTS]
    )
    seconds: dict[str, float] = {}
    failed: set[str] = set()

    class Watch:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: pytest.Item) -> Iterable[object]:
            measured.switch_context(item.nodeid)
            start = time.process_time()
            done = yield
            seconds[item.nodeid] = time.process_time() - start
            return done

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            failed.update({report.nodeid} if report.failed else ())

    measured.start()
    paths = [ROOT / "tests" / folder, *([ROOT / "uq_report" / folder] if folder in PARTS else [])]
    pytest.main(["-q", "-p", "no:cacheprovider", *(str(p) for p in paths if p.exists())], plugins=[Watch()])
    measured.stop()
    nodes = [node for node in seconds if node not in failed]
    place = {node: at for at, node in enumerate(nodes)}
    data = measured.get_data()
    lines = {
        str(Path(name).relative_to(ROOT)): {
            line: [place[node] for node in ran if node in place] for line, ran in data.contexts_by_lineno(name).items()
        }
        for name in data.measured_files()
    }
    file.write_text(
        json.dumps({"seconds": [[node, seconds[node]] for node in nodes], "lines": lines}), encoding="utf-8"
    )
