"""Nothing new, nothing done: unchanged inputs are said and not run again; anything that differs is."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from uq_report import cli
from uq_report.api import auditing
from uq_report.evidence import disk
from uq_report.evidence.run import Run
from uq_report.ops.history import History
from uq_report.ops.history.filing import inputs_key

from ..jobs import audits_made
from ..packages import Packages
from . import store_runs
from .conftest import Outbox

AUDIT = """
[model]
source = "model.skops"
label = "credit"
[data]
source = "test.csv"
target = "risk"
train = "train.csv"
sample_weight = "exposure"
clusters = "household"
ignore = ["application", "sex"]
[run]
explainers = ["calibration"]
checks = ["calibration"]
as_of = "{as_of}"
seed = {seed}
{more}
[output]
formats = ["html"]
history = "filed"
"""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, its tables and an audit that was run once."""
    made = tmp_path_factory.mktemp("audited")
    audits_made.write(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        write()
        first = call()
    assert first.exit_code == 0, first.stderr
    assert json.loads(first.stdout)["unchanged"] is False
    return made


@pytest.fixture
def folder(audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder of one's own with all of that."""
    made = Path(shutil.copytree(audited, tmp_path / "work", symlinks=True))
    monkeypatch.chdir(made)
    return made


def write(as_of: str = "2026-01-31", seed: int = 0, more: str = "") -> None:
    Path("audit.toml").write_text(AUDIT.format(as_of=as_of, seed=seed, more=more))


def call(*more: str) -> Result:
    return CliRunner().invoke(cli.app, ["run", "audit.toml", "--json", "--quiet", *more])


def contents(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def test_unchanged_inputs_write_nothing_and_run_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "audit", lambda *_, **__: pytest.fail("the audit ran again"))
    before = contents(folder / "filed")
    write(as_of="2026-02-28")  # another day decides nothing
    done = call()
    told = json.loads(done.stdout)
    assert (done.exit_code, told["unchanged"], told["as_of"]) == (0, True, "2026-01-31")
    assert contents(folder / "filed") == before
    skipped = call("--exit-code-unchanged", "99")
    assert skipped.exit_code == json.loads(skipped.stdout)["exit_code"] == 99
    loud = CliRunner().invoke(cli.app, ["run", "audit.toml"])
    assert loud.stdout.startswith(
        "Unchanged: inputs, settings and versions are those of credit@1; nothing was written."
    )


def test_what_is_found_unchanged_counts_as_run(folder: Path) -> None:
    latest = folder / "filed" / "credit" / "latest"
    os.utime(latest, (0, 0))
    assert call().exit_code == 0
    last = History(folder / "filed").last("credit")
    assert last is not None
    assert abs((datetime.now(UTC) - last).total_seconds()) < 300


def another_row(folder: Path) -> None:
    table = pd.read_csv(folder / "test.csv")
    table.iloc[:-1].to_csv(folder / "test.csv", index=False)


def another_model(folder: Path) -> None:
    sio = pytest.importorskip("skops.io", reason="this test writes a skops file")
    sio.dump(audits_made.model(audits_made.table(100, 5)), folder / "model.skops")


@pytest.mark.parametrize(
    "change",
    [
        another_row,
        another_model,
        lambda _: write(seed=1),
        lambda _: write(more="[checks.calibration]\neffect = 0.03"),
        lambda _: write(more='[about]\nauthor = "somebody"'),
        lambda f: next((f / "filed" / "credit").glob("*/report.html")).write_text("half"),
        lambda f: next((f / "filed" / "credit").glob("*/evidence/calibration.csv")).unlink(),
        lambda f: next((f / "filed" / "credit").glob("*/SHA256SUMS")).unlink(),
    ],
    ids=["data", "model", "seed", "option", "text", "report", "evidence", "sums"],
)
def test_anything_that_differs_is_run(folder: Path, change: Callable[[Path], Any]) -> None:
    change(folder)
    done = call("--as-of", "2026-02-28")
    assert (done.exit_code, json.loads(done.stdout)["unchanged"]) == (0, False), done.stderr
    assert [one.entry.sequence for one in History(folder / "filed").runs("credit")] == [1, 2]
    assert json.loads(call("--as-of", "2026-02-28").stdout)["unchanged"] is True


def test_another_version_another_format_or_force_are_run(folder: Path, packages: Packages) -> None:
    assert json.loads(call("--format", "html", "--format", "markdown").stdout)["unchanged"] is False
    assert json.loads(call("--force").stdout)["unchanged"] is False
    packages.renderer("paper", "pass")
    assert json.loads(call().stdout)["unchanged"] is False
    assert json.loads(call().stdout)["unchanged"] is True
    (facts,) = packages.folder.glob("pkg_paper-*/METADATA")
    facts.write_text(facts.read_text().replace("Version: 1.0", "Version: 99"))
    facts.parent.rename(facts.parent.with_name("pkg_paper-99.dist-info"))
    assert json.loads(call().stdout)["unchanged"] is False


def test_a_waiver_that_expires_is_a_change(folder: Path) -> None:
    waiver = '[[waivers]]\ncode = "UQ101"\nowner = "o"\nreason = "r"\nexpires = "2026-02-15"'
    write(more=waiver)
    assert json.loads(call().stdout)["unchanged"] is False
    assert json.loads(call("--as-of", "2026-02-15").stdout)["unchanged"] is True
    assert json.loads(call("--as-of", "2026-02-16").stdout)["unchanged"] is False


def test_findings_do_not_pass_a_gate_by_being_old(folder: Path) -> None:
    rule = '[policy]\nrules = ["nll <= 0.0001"]\nfail_on = "observation"'
    Path("audit.toml").write_text(
        AUDIT.format(as_of="2026-01-31", seed=0, more=rule).replace('checks = ["calibration"]', 'checks = ["policy"]')
    )
    first, second = call(), call("--exit-code-unchanged", "99")
    assert [json.loads(one.stdout)["unchanged"] for one in (first, second)] == [False, True]
    assert [one.exit_code for one in (first, second)] == [1, 1]
    assert [json.loads(one.stdout)["exit_code"] for one in (first, second)] == [1, 1]


def test_an_output_folder_must_hold_the_same_report(folder: Path) -> None:
    assert json.loads(call("--output", "out").stdout)["unchanged"] is False
    assert json.loads(call("--output", "out").stdout)["unchanged"] is True
    Path("out/report.html").write_text("another")
    assert json.loads(call("--output", "out").stdout)["unchanged"] is False
    assert Path("out/report.html").read_bytes() != b"another"


MAIL = ["--set", 'email={host = "localhost", sender = "a@example.org", to = ["b@example.org"]}']


def test_a_run_is_mailed_and_not_when_nothing_changed(folder: Path, outbox: Outbox) -> None:
    assert json.loads(call("--force", *MAIL).stdout)["unchanged"] is False
    (mail,) = outbox
    assert [part.get_filename() for part in mail.iter_attachments()] == ["report.html"]
    assert call(*MAIL).exit_code == 0
    assert len(outbox) == 1


def test_a_mail_that_fails_is_told_and_costs_nothing(folder: Path, outbox: Outbox) -> None:
    outbox.error = ConnectionRefusedError("nobody listens")
    done = call("--force", *MAIL)
    assert done.exit_code == 0
    assert "Mail: email failed: ConnectionRefusedError: nobody listens" in done.stderr
    done = call("--force", "--set", 'email={host = "h", sender = "nobody", to = ["b@example.org"]}')
    assert (done.exit_code, "email.sender must be an address" in done.stderr) == (3, True)


def test_a_run_that_fails_is_mailed_with_its_reasons(folder: Path, outbox: Outbox) -> None:
    Path("test.csv").write_text("a,b\n1,2\n")
    assert call(*MAIL).exit_code == 3
    (mail,) = outbox
    assert "the audit failed (exit code 3)" in mail["Subject"]
    assert mail.get_content().count("\n- ") >= 1


def file_run(history: History, one: Run, inputs: str = "") -> Any:
    with history.filing("a") as filing:
        return filing.add(one, reports={"report.html": b"x"}, clock={"at": time.time()})


def test_a_run_cut_by_a_limit_is_tried_again(tmp_path: Path) -> None:
    base = store_runs.run()
    whole = replace(base, results=(), subject={**base.subject, "hashes": {"model": "0" * 64}})
    for one, expected in ((whole, True), (replace(whole, not_reproducible="time"), False)):
        history = History(tmp_path / str(expected))
        file_run(history, one)
        with history.filing("a") as filing:
            found = filing.unchanged(inputs_key(one), ["report.html"])
            assert (found is not None) is expected
            assert filing.unchanged("", ["report.html"]) is None
            assert filing.unchanged(inputs_key(one), ["report.pdf"]) is None


def test_the_same_run_is_filed_again_only_to_mend_it(tmp_path: Path) -> None:
    history = History(tmp_path / "h")
    one = replace(store_runs.run(), results=())
    assert file_run(history, one).entry.sequence == file_run(history, one).entry.sequence == 1
    (history.find("a").folder / "report.html").unlink()
    assert file_run(history, one).entry.sequence == 2
    assert history.check() == ["a@1: report.html is missing."]


@pytest.mark.parametrize("text", ["", "x", f"{'0' * 64}  ../up\n", f"{'0' * 64}  /etc/passwd\n", "\xff"])
def test_sums_that_are_none_list_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / disk.SUMS).write_bytes(text.encode("latin-1"))
    assert disk.loads(tmp_path) == {}
    assert disk.loads(tmp_path / "nowhere") == {}
