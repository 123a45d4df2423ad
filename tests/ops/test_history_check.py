"""A history notices: whatever is deleted, exchanged, added or edited is told, and what a kill leaves is not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from uq_report import cli
from uq_report.core.support.errors import InputError
from uq_report.evidence import disk
from uq_report.evidence.run import Run
from uq_report.ops.anchors import is_anchor, judge_anchor, sign_anchor, write_anchor
from uq_report.ops.history import FiledRun, Heads, History, Retention, delete, entry as entries
from uq_report.ops.history.entry import HEADS, heads_of_json, read_heads
from uq_report.reading.rating import FIT, UNFIT

from . import store_runs, verify_cases

# asyncio's loops, which pyHanko opens and closes, are told of late by the collector in some Python versions.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
BASE = replace(store_runs.run(), results=())
AUDITS = ("credit", "motor")


def run(day: int) -> Run:
    return replace(BASE, as_of=f"2026-01-{day:02d}")


def add(history: History, day: int, name: str = "credit") -> FiledRun:
    with history.filing(name) as filing:
        return filing.add(run(day), reports={"report.html": b"<html>"}, clock={"total_seconds": 1})


@pytest.fixture(scope="module")
def filed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of four runs of one audit, the first deleted by retention, and one of another."""
    history = History(tmp_path_factory.mktemp("filed") / "history")
    for day in (1, 2, 3, 4):
        add(history, day)
    delete(history, history.runs()[:1])
    add(history, 5, "motor")
    return history.root


@pytest.fixture
def history(filed: Path, tmp_path: Path) -> History:
    return History(shutil.copytree(filed, tmp_path / "history"))


def folder(history: History, number: int, name: str = "credit") -> Path:
    (place,) = (history.root / name).glob(f"{number:06d}_*")
    return place


def edited(file: Path, old: str, new: str) -> None:
    content = file.read_text()
    assert old in content
    file.write_text(content.replace(old, new, 1))


def listed_anew(place: Path) -> None:
    """Write the list of a run's hashes again, as a forger would who knows of it."""
    files = {name: (place / name).read_bytes() for name in disk.loads(place)}
    (place / disk.SUMS).write_bytes(disk.dumps(disk.hashes(files)))


def exchanged(place: Path, name: str, *, anew: bool = False) -> None:
    assert (place / name).is_file()
    (place / name).write_bytes(b"other")
    if anew:
        listed_anew(place)


def entered_anew(place: Path, **changed: Any) -> None:
    """Write an entry again with a hash that fits."""
    forged = replace(entries.read_entry(place), **changed)
    (place / "entry.json").write_bytes(replace(forged, hash=forged.expected_hash()).dumps())


def linked(file: Path) -> None:
    file.rename(file.with_name("moved"))
    file.symlink_to(file.with_name("moved"))


def copied(place: Path, over: Path) -> None:
    shutil.rmtree(over)
    shutil.copytree(place, over)


def marked_as_deleted(place: Path, note: bytes) -> None:
    for name in ("run.json", "report.html", "clock.json", "SHA256SUMS"):
        (place / name).unlink()
    shutil.rmtree(place / "evidence")
    (place / "pruned.txt").write_bytes(note)


def deleted(*folders: Path) -> None:
    for place in folders:
        shutil.rmtree(place)


NOTE = b"Deleted by retention; entry.json stays as a link in the chain of hashes.\n"
# what is done to a history, and a part of what must be said of it
ALTERATIONS: dict[str, tuple[Callable[[History], object], str]] = {
    "the last run deleted": (lambda h: shutil.rmtree(folder(h, 4)), "credit: heads.json knows 4 runs"),
    "the last two deleted": (lambda h: deleted(folder(h, 3), folder(h, 4)), "it ends with number 2"),
    "a whole audit deleted": (lambda h: shutil.rmtree(h.root / "motor"), "motor: heads.json knows 1 runs; nothing"),
    "a run between deleted": (lambda h: shutil.rmtree(folder(h, 3)), "credit@4: it follows number 2"),
    "report exchanged": (lambda h: exchanged(folder(h, 4), "report.html"), "credit@4: report.html was changed"),
    "report and list": (lambda h: exchanged(folder(h, 4), "report.html", anew=True), "SHA256SUMS was changed"),
    "table exchanged": (lambda h: exchanged(folder(h, 2), "evidence/README.txt"), "credit@2: README.txt was changed"),
    "clock exchanged": (lambda h: exchanged(folder(h, 2), "clock.json"), "credit@2: clock.json was changed"),
    "list exchanged": (lambda h: exchanged(folder(h, 2), "SHA256SUMS"), "credit@2: SHA256SUMS was changed"),
    "list deleted": (lambda h: (folder(h, 2) / "SHA256SUMS").unlink(), "credit@2: SHA256SUMS is missing"),
    "report deleted": (lambda h: (folder(h, 2) / "report.html").unlink(), "credit@2: report.html is missing"),
    "file added": (lambda h: (folder(h, 2) / "more.csv").write_text("a"), "credit@2: more.csv was added"),
    "file linked": (lambda h: (folder(h, 2) / "more").symlink_to("/etc"), "credit@2: more was added"),
    "report a link": (lambda h: linked(folder(h, 2) / "report.html"), "credit@2: report.html is no file any longer"),
    "run.json deleted": (lambda h: (folder(h, 4) / "run.json").unlink(), "retention did not delete it"),
    "rating edited": (
        lambda h: edited(folder(h, 4) / "entry.json", UNFIT.text, FIT.text),
        "entry.json was changed",
    ),
    "last entry forged": (
        lambda h: entered_anew(folder(h, 4), recommendation=FIT.text),
        "not the run that heads.json knows",
    ),
    "field added": (lambda h: edited(folder(h, 4) / "entry.json", "{", '{"a":1,'), "credit@4: entry.json was changed"),
    "format lowered": (lambda h: entered_anew(folder(h, 4), format=0), "credit@4"),
    "heads edited": (lambda h: edited(h.root / HEADS, '"sequence":4', '"sequence":3'), "must be the heads"),
    "heads deleted": (lambda h: (h.root / HEADS).unlink(), "heads.json is missing"),
    "tombstone forged": (lambda h: marked_as_deleted(folder(h, 2), NOTE), "says that retention deleted it"),
    "tombstone edited": (lambda h: (folder(h, 1) / "pruned.txt").write_text("By mistake."), "pruned.txt was changed"),
    "tombstone deleted": (lambda h: (folder(h, 1) / "pruned.txt").unlink(), "credit@1: pruned.txt is missing"),
    "beside a tombstone": (lambda h: (folder(h, 1) / "report.html").write_text("<p>"), "report.html was added"),
    "run exchanged": (lambda h: copied(folder(h, 3), folder(h, 4)), "must belong to its folder"),
    "latest points back": (lambda h: (h.root / "credit/latest").write_text(f"{folder(h, 3).name}\n"), "credit: latest"),
    "latest deleted": (lambda h: (h.root / "credit/latest").unlink(), "credit: latest does not name the last run"),
    "beside the runs": (lambda h: (h.root / "credit/better.pdf").write_text("a"), "better.pdf is no part"),
    "an audit a link": (lambda h: (h.root / "more").symlink_to(h.root / "credit"), "more is a link"),
}  # fmt: skip


def test_a_history_as_filed_has_no_trouble(history: History) -> None:
    assert history.check() == []
    assert history.check(history.heads()) == []
    assert {name: head.sequence for name, head in history.heads().audits.items()} == {"credit": 4, "motor": 1}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_every_alteration_is_told(what: str, history: History) -> None:
    alter, said = ALTERATIONS[what]
    alter(history)
    assert said in " ".join(history.check())


def test_what_went_is_told_also_after_the_next_run_is_filed(history: History) -> None:
    shutil.rmtree(folder(history, 4))
    shutil.rmtree(history.root / "motor")
    assert (add(history, 6).entry.sequence, add(history, 7, "motor").entry.sequence) == (5, 2)
    told = " ".join(history.check())
    assert "credit@5: it follows number 3; runs between them are missing" in told
    assert "motor@2: it follows number 0; runs between them are missing" in told


def test_an_anchor_tells_of_a_history_that_was_forged_as_a_whole(history: History, tmp_path: Path) -> None:
    """Without one, whoever renews all hashes is not seen; with one, nothing filed before it can change."""
    anchor = write_anchor(history, tmp_path / "anchor.json")
    add(history, 8, "motor")
    assert history.check(anchor) == []  # a history may grow
    forged = History(tmp_path / "forged")
    for day in (1, 2, 3):
        add(forged, day)
    add(forged, 5, "motor")
    assert forged.check() == []
    told = forged.check(read_heads(tmp_path / "anchor.json"))
    assert "credit: the anchor knows 4 runs; it ends with number 3." in told
    add(forged, 9)
    assert "credit@4: it is not the run that the anchor knows." in forged.check(anchor)
    shutil.rmtree(forged.root / "motor")
    (forged.root / HEADS).unlink()
    assert "motor: the anchor knows 1 runs; nothing of it is there." in forged.check(anchor)


def test_heads_that_were_lost_are_made_again_and_that_is_told_until_an_anchor_bridges_it(
    history: History, tmp_path: Path
) -> None:
    before = history.heads()
    for content in (None, b"{", b"[]"):
        (history.root / HEADS).unlink() if content is None else (history.root / HEADS).write_bytes(content)
        add(history, 6 if content is None else 7)
        (told,) = history.check()
        assert "heads.json was missing or broken, and made of what was there on" in told
    assert history.check(before) == history.check()
    assert history.check(write_anchor(history, tmp_path / "new.json")) == []


def test_files_that_cannot_be_read_are_told_and_fifos_not_waited_for(history: History) -> None:
    place = folder(history, 2) / "report.html"
    place.unlink()
    os.mkfifo(place)
    assert history.check() == ["credit@2: report.html is no file any longer."]


GOOD = {"format": 1, "made_again": "", "sha256": "", "audits": {}}


@pytest.mark.parametrize(
    "changed",
    [
        {"audits": {"credit": {"name": "credit", "sequence": 0, "hash": "a" * 64, "deleted": []}}},
        {"audits": {"credit": {"name": "motor", "sequence": 1, "hash": "a" * 64, "deleted": []}}},
        {"audits": {"credit": {"name": "credit", "sequence": True, "hash": "a" * 64, "deleted": []}}},
        {"audits": {"credit": {"name": "credit", "sequence": 1, "hash": "a", "deleted": []}}},
        {"audits": {"credit": {"name": "credit", "sequence": 1, "hash": "a" * 64, "deleted": ["1"]}}},
        {"audits": []},
        {"made_again": 1},
        {"more": 1},
    ],
)
def test_heads_are_refused_unless_they_are_as_written(changed: dict[str, Any]) -> None:
    assert heads_of_json(Heads().dumps(), "f") == Heads()
    content = json.loads(Heads().dumps()) | changed
    with pytest.raises(InputError, match="must be the heads of a history"):
        heads_of_json(json.dumps(content, sort_keys=True, separators=(",", ":")).encode() + b"\n", "f")


def test_entries_of_wrong_types_are_refused(history: History) -> None:
    good = asdict(entries.read_entry(folder(history, 4)))
    for key, value in (
        ("sequence", True), ("sequence", 0), ("as_of", 1), ("findings", []), ("findings", {"high": "1"}),
        ("scores", {"nll": float("nan")}), ("filed", None), ("sums_sha256", 1), ("format", 1.5),
    ):  # fmt: skip
        with pytest.raises(InputError, match="Restore it from a copy"):
            entries.entry_of_json(json.dumps(good | {key: value}), "entry.json")


def call(*words: object) -> Result:
    return CliRunner().invoke(cli.app, [*map(str, words)])


def test_the_command_exports_compares_and_moves_an_anchor_on(history: History, tmp_path: Path) -> None:
    anchor, words = tmp_path / "anchor.json", ("history", "--history", history.root)
    made = call(*words, "--anchor", anchor)
    assert made.exit_code == 0, made.output
    head = read_heads(anchor).sha256
    assert f"head {head}. Keep it elsewhere." in made.stdout
    good = call(*words, "--check", "--anchor", anchor)
    assert (good.exit_code, f"All that the anchor {head} knows is there." in good.stdout) == (0, True)
    add(history, 6)
    assert call(*words, "--anchor", anchor).exit_code == 0
    assert read_heads(anchor).audits["credit"].sequence == 5
    kept = anchor.read_bytes()
    shutil.rmtree(history.root / "motor")
    (history.root / HEADS).unlink()
    for refused in (call(*words, "--anchor", anchor), call(*words, "--check", "--anchor", anchor)):
        assert refused.exit_code == 5
        assert "motor: the anchor knows 1 runs; nothing of it is there." in refused.stderr
    assert anchor.read_bytes() == kept
    assert call(*words, "--check", "--anchor", tmp_path / "none.json").exit_code == 3
    assert call(*words, "--check", "--trust", anchor).exit_code == 3


def failures(anchor: Path, *trust: Path) -> list[str]:
    return [verdict.reason for verdict in judge_anchor(anchor, trust) if verdict.state == "failed"]


@pytest.fixture
def stamped(history: History, tmp_path: Path) -> tuple[Path, Path, verify_cases.Keys]:
    """Return an anchor, its time stamp by a service of our own, and the authority of that."""
    pytest.importorskip("pyhanko", reason="time stamps need pyHanko")
    from pyhanko.keys import load_cert_from_pemder, load_private_key_from_pemder
    from pyhanko.sign.timestamps import DummyTimeStamper

    keys, anchor = verify_cases.Keys(tmp_path), tmp_path / "anchor.json"
    key, certificate = keys.issue("clock", rsa=True)
    service = DummyTimeStamper(
        load_cert_from_pemder(str(certificate)),
        load_private_key_from_pemder(str(key), verify_cases.PASSPHRASE.encode()),
    )
    write_anchor(history, anchor)
    _, request = service.request_cms(hashlib.sha256(anchor.read_bytes()).digest(), "sha256")
    beside = tmp_path / "anchor.json.tsr"
    beside.write_bytes(service.request_tsa_response(request).dump())
    return anchor, beside, keys


def test_a_time_stamp_is_judged_by_its_authority_and_told_without_one(
    stamped: tuple[Path, Path, verify_cases.Keys], history: History, tmp_path: Path
) -> None:
    anchor, beside, keys = stamped
    (good,), (bare,) = judge_anchor(anchor, [keys.authority]), judge_anchor(anchor)
    assert (good.name, good.state, bare.state) == ("time stamp", "verified", "not assessed")
    assert datetime.now(UTC).isoformat()[:10] in good.reason
    assert "name the certificate this must lead to by --trust" in bare.reason
    (tmp_path / "other").mkdir()
    other = verify_cases.Keys(tmp_path / "other").authority
    assert "who does not lead to a trusted certificate" in failures(anchor, other)[0]
    words = ("history", "--history", history.root, "--check", "--anchor", anchor)
    assert "Time stamp not assessed: anchor.json.tsr is " in call(*words).stdout
    assert "Time stamp verified: anchor.json.tsr is " in call(*words, "--trust", keys.authority).stdout
    assert call(*words, "--trust", other).exit_code == 5
    with pytest.raises(InputError, match=r"has anchor\.json\.tsr"):
        write_anchor(history, anchor)
    openssl = ["openssl", "ts", "-verify", "-data", str(anchor), "-in", str(beside), "-CAfile", str(keys.authority)]
    assert subprocess.run(openssl, capture_output=True, check=False).returncode == 0, "others read it so too"


def test_a_time_stamp_beside_a_signature_may_be_of_a_service_nobody_named(
    stamped: tuple[Path, Path, verify_cases.Keys], tmp_path: Path
) -> None:
    from uq_report.ops.signing import load_signer

    anchor, _, _ = stamped
    (tmp_path / "other").mkdir()
    keys = verify_cases.Keys(tmp_path / "other")
    sign_anchor(anchor, tmp_path / "anchor.json.p7s", load_signer(*keys.issue("officer"), (), verify_cases.PASSPHRASE))
    states = [(verdict.name, verdict.state) for verdict in judge_anchor(anchor, [keys.authority])]
    assert states == [("signature", "verified"), ("time stamp", "not assessed")]


def test_an_altered_anchor_or_time_stamp_fails(stamped: tuple[Path, Path, verify_cases.Keys], history: History) -> None:
    from asn1crypto.tsp import TimeStampResp

    anchor, beside, keys = stamped
    stamp, (good,) = beside.read_bytes(), judge_anchor(anchor, [keys.authority])
    signed = TimeStampResp.load(stamp)["time_stamp_token"]["content"]
    signer = signed["signer_infos"][0]
    covered = (signed["encap_content_info"]["content"], signer["signed_attrs"], signer["signature"])
    ranges = [range(at, at + len(part)) for part in (one.contents for one in covered) for at in [stamp.index(part)]]
    for position in range(0, len(stamp), 11):
        beside.write_bytes(stamp[:position] + bytes([stamp[position] ^ 1]) + stamp[position + 1 :])
        (found,) = judge_anchor(anchor, [keys.authority])
        # Bytes of the envelope that no signature covers (RFC 5652, section 5.4) say neither when nor who.
        assert found.state == "failed" or (found == good and not any(position in part for part in ranges)), position
    beside.write_bytes(stamp)
    add(history, 6)
    anchor.write_bytes(history.heads().dumps())
    for trust in ((), (keys.authority,)):
        assert "is not a time stamp of anchor.json: one of them was changed." in failures(anchor, *trust)[0]


def test_an_anchor_is_signed_and_its_signature_checked(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyhanko", reason="signing needs pyHanko")
    from uq_report.ops.signing import load_signer

    keys = verify_cases.Keys(tmp_path)
    key, certificate = keys.issue("officer")
    monkeypatch.setenv("UQ_REPORT_KEY_PASSPHRASE", verify_cases.PASSPHRASE)
    anchor, beside = tmp_path / "anchor.json", tmp_path / "anchor.json.p7s"
    write_anchor(history, anchor)
    assert "no signature anchor.json.p7s beside it" in failures(anchor, keys.authority)[0]
    assert judge_anchor(anchor) == []
    assert (is_anchor(anchor), is_anchor(certificate)) == (True, False)
    assert call("sign", anchor, "--key", key, "--cert", certificate, "-o", beside).exit_code == 0
    words = ("history", "--history", history.root, "--check", "--anchor", anchor, "--trust")
    good = call(*words, keys.authority)
    assert (good.exit_code, "Signature verified: anchor.json.p7s is signed by" in good.stdout) == (0, True)
    bare = call(*words[:-1])
    assert (bare.exit_code, "Signature not assessed: anchor.json.p7s is signed by" in bare.stdout) == (0, True)
    (tmp_path / "other").mkdir()
    other = call(*words, verify_cases.Keys(tmp_path / "other").authority)
    assert (other.exit_code, "who does not lead to a trusted certificate" in other.stderr) == (5, True)
    for file in keys.no_certificates():
        assert call(*words, file).exit_code == 3
    with pytest.raises(InputError, match="must be no signed anchor"):
        write_anchor(history, anchor)
    signature = beside.read_bytes()
    for position in range(0, len(signature), 97):
        beside.write_bytes(signature[:position] + bytes([signature[position] ^ 1]) + signature[position + 1 :])
        assert failures(anchor, keys.authority), position
    beside.unlink()
    sign_anchor(anchor, beside, load_signer(key, certificate, (), verify_cases.PASSPHRASE))
    add(history, 6)
    anchor.write_bytes(history.heads().dumps())
    assert "one of them was changed" in failures(anchor)[0]


def test_retention_goes_on_where_heads_know_more(history: History) -> None:
    delete(history, Retention(last=1).due(history.runs()))
    assert history.heads().audits["credit"].deleted == (1, 2, 3)
    assert history.check() == []
