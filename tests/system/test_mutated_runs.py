"""Mutated files: whatever is done to a run.json, each reader of it takes it or refuses it by one error of ours."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli, testing
from uq_report.api.reports import reports_of
from uq_report.checks.rule import Check
from uq_report.core.support import safe_loading
from uq_report.core.support.errors import EXIT_CODES, FINDINGS, INTERNAL, InputError, UQReportError
from uq_report.evidence import codec, run_folder, schema
from uq_report.evidence.canonical import canonical
from uq_report.evidence.run import Run
from uq_report.ops.history import History
from uq_report.runner import plugins
from uq_report.runner.judge import judge
from uq_report.runner.prepare import prepare
from uq_report.runner.settings import Settings

from ..evidence import mutations, runs

SETTINGS = Settings(as_of="2026-01-01")


@cache
def checks() -> Mapping[str, Check]:
    return prepare(plugins.catalog(), SETTINGS).checks


@cache
def contents() -> tuple[dict[str, Any], ...]:
    """Return runs as JSON."""
    return tuple(map(codec.encode, runs.runs().values()))


def ends(data: bytes) -> str:
    """Return how far a run gets: what is raised must be an error of ours."""
    stage = "load"
    try:
        run = codec.loads(data)
        stage = "judge"
        judge(plugins.catalog(), checks(), run, SETTINGS)
        stage = "report"
        return f"{len(dict(reports_of(['html']).of(run)))} files"
    except UQReportError as error:
        return stage if str(error) else "without a word"


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="uq_report")


@cache
def small() -> Run:
    return uq.audit(testing.linear_subject(30), explainers=["calibration"], as_of="2026-01-01", progress=False).run


def test_a_mutated_run_is_taken_or_refused() -> None:
    outcomes = {ends(data) for _, data in mutations.mutations(codec.encode(small()), 3, 20)}
    assert {"load", "1 files"} <= outcomes <= {"load", "judge", "report", "1 files"}


@pytest.mark.study
@pytest.mark.parametrize("seed", range(10))
def test_many_mutated_runs_are_taken_or_refused(seed: int) -> None:
    """A thousand in all, fewer where UQ_STUDY_REPS asks for less than 25."""
    for place in range(4 * int(os.environ.get("UQ_STUDY_REPS", "25"))):
        ((what, data),) = mutations.mutations(contents()[place % len(contents())], 1000 * seed + place, 1)
        assert ends(data) in {"load", "judge", "report", "1 files"}, what


def commands(place: Path, whole: Path) -> Iterator[list[str]]:
    yield ["show", str(place)]
    yield ["compare", str(whole), str(place), "--json"]
    yield ["render", str(place), "--format", "markdown", "--quiet"]
    yield ["verify", str(place)]


def test_every_command_takes_a_mutated_run_or_refuses_it(tmp_path: Path) -> None:
    run = small()
    whole = run_folder.write(run, tmp_path / "whole", reports={}, clock={})
    with History(tmp_path / "filed").filing("a") as filing:
        filed = filing.add(run, reports={}, clock={})
    content = json.loads((whole / "run.json").read_bytes())
    for number, (what, data) in enumerate(mutations.mutations(content, 11, 4)):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "run.json").write_bytes(data)
        (filed.folder / "run.json").write_bytes(data)
        for words in (*commands(place, whole), ["history", "--history", str(tmp_path / "filed"), "--check"]):
            done = CliRunner().invoke(cli.app, words)
            assert done.exit_code in EXIT_CODES.keys() - {FINDINGS, INTERNAL}, f"{words[0]} of {what}: {done.output}"


def test_a_mutated_entry_or_note_of_a_history_is_told(tmp_path: Path) -> None:
    root = tmp_path / "filed"
    with History(root).filing("a") as filing:
        filed = filing.add(small(), reports={}, clock={})
    entry = filed.folder / "entry.json"
    content = json.loads(entry.read_bytes())
    for what, data in mutations.mutations(content, 5, 15):
        entry.write_bytes(data)
        (root / "ratings.json").write_bytes(data)
        for words in (["history", "--history", str(root)], ["index", str(root), "-o", str(tmp_path / "i.html")]):
            done = CliRunner().invoke(cli.app, words)
            assert done.exit_code in EXIT_CODES.keys() - {FINDINGS, INTERNAL}, f"{words[0]} of {what}: {done.output}"


def changed(**parts: Any) -> bytes:
    """Return the run with its first frame changed."""
    content = json.loads(codec.dumps(small()))
    content["results"][0]["frame"] |= parts
    return canonical(content)


def test_sizes_are_refused_before_anything_is_allocated() -> None:
    with pytest.raises(InputError, match=r"rows must be the size of what follows, \d+; got 1000000000\)"):
        codec.loads(changed(rows=10**9))
    with pytest.raises(InputError, match=r"frame\.rows: must fit 64 bits"):
        codec.loads(changed(rows=10**30))
    assert codec.loads(changed(more=1)) is not None, "a field of a later version is ignored"


def test_size_and_nesting_of_a_file_are_bounded(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"12345")
    assert safe_loading.bytes_of(file, 5) == b"12345"
    with pytest.raises(InputError, match=r"x\.json must have at most 4 bytes; it has more"):
        safe_loading.bytes_of(file, 4)
    deep = safe_loading.DEEPEST
    assert safe_loading.json_of(b"[" * deep + b"]" * deep, "x")
    for depth in (deep + 1, 10**6):
        with pytest.raises(InputError, match=rf"x must be nested at most {deep} deep; got {depth}"):
            safe_loading.json_of(b"[" * depth + b"]" * depth, "x")
    for bad in (b"NaN", b"[Infinity]", b'{"a": 1, "a": 1}', b"9" * 5000, b"\xff", b"[", b""):
        with pytest.raises(InputError, match="x must be JSON"):
            safe_loading.json_of(bad, "x")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("as_of",), "2026-13-45", "run.as_of: must be a 'date'; got '2026-13-45'"),
        (("subject", "n"), 0, "run.subject.n: must be at least 1; got 0"),
        (("subject", "n"), True, "run.subject.n: must be of type integer; got True"),
        (("subject", "n"), 2.5, "run.subject.n: must be of type integer; got 2.5"),
        (("settings",), [], "run.settings: must be of type object; got []"),
        (("environment", "python"), 3, "run.environment.python: must be of type string; got 3"),
        (("subject", "task"), "x", "run.subject.task: must be one of "),
        (("changes",), 1, "run.changes: must be of type object; got 1"),
        (("subject", "classes"), [float("inf")], "run.subject.classes[0]: must be finite; got inf"),
        (
            ("not_run",),
            [{"name": "a", "group": "b", "reason": "", "cause": "data"}],
            "run.not_run[0].reason: must have at least 1 char",
        ),
    ],
)
def test_the_schema_says_where_and_what(place: tuple[str, ...], value: Any, message: str) -> None:
    content = json.loads(codec.dumps(small()))
    assert schema.fault(content) == ""
    parent = content
    for step in place[:-1]:
        parent = parent[step]
    parent[place[-1]] = value
    assert schema.fault(content).startswith(message)


def test_the_schema_is_read_as_jsonschema_reads_it() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="this test compares with jsonschema")
    validator = jsonschema.Draft202012Validator(schema.run_schema())
    content = json.loads(codec.dumps(small()))
    for what, data in mutations.mutations(content, 7, 25):
        try:
            changed = safe_loading.json_of(data, "x")
        except InputError:
            continue
        if any(error.validator != "additionalProperties" for error in validator.iter_errors(changed)):
            assert schema.fault(changed), what
