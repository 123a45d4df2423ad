"""Random alterations of run.json, of a signed PDF and of a history: none verifies, and none raises what is not meant.

A few in each run of the tests; UQ_STUDY_REPS, by default 1,000, of each with ``-m study``.
"""

from __future__ import annotations

import io
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pikepdf
import pytest

pytest.importorskip("pyhanko", reason="signing needs pyHanko: pip install 'uq_report[sign]'")

from pyhanko.pdf_utils.generic import StreamObject

from uq_report.core.support.errors import InputError
from uq_report.ops.history import History, delete
from uq_report.ops.signing import SignatureTerms, load_signer, sign
from uq_report.ops.verification import verify

from . import mutate, verify_cases
from .conftest import Rendering
from .test_history_check import add
from .test_verify_proof import another, appended, noted, painted, retitled

pytestmark = pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
FEW, MANY = 10, int(os.environ.get("UQ_STUDY_REPS", "1000"))
counts = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.study)])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run and its reports, one of them signed, and the authority of its signer."""
    folder = tmp_path_factory.mktemp("mutations")
    verify_cases.write(folder / "run")
    keys = verify_cases.Keys(folder)
    signer = load_signer(*keys.issue("validator"), [keys.authority], verify_cases.PASSPHRASE)
    sign(folder / "run/brief.pdf", folder / "signed.pdf", signer, SignatureTerms(field="Validator"))
    return folder


def outcomes(count: int, judge: Callable[[random.Random], str]) -> Counter[str]:
    """Return how many alterations ended how; what is raised and not meant is listed with the number of each."""
    ends: Counter[str] = Counter()
    raised: list[str] = []
    for number in range(count):
        try:
            ends[judge(random.Random(number))] += 1
        except InputError:
            ends["refused"] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not meant
            raised.append(f"{number}: {type(error).__name__}: {error}")
    assert raised == []
    return ends


@counts
def test_no_altered_run_verifies(count: int, place: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(place / "run", tmp_path / "run"))
    (folder / "brief.pdf").unlink()
    (folder / "SHA256SUMS").unlink()
    original = (folder / "run.json").read_bytes()

    def judge(rng: random.Random) -> str:
        (folder / "run.json").write_bytes(mutate.of_json(original, rng))
        return verify(folder, deep=rng.random() < 0.05).outcome

    ends = outcomes(count, judge)
    assert ends["verified"] == 0
    assert ends["failed"] > count / 2


def altered(data: bytes, rng: random.Random) -> bytes:
    """Return a PDF with other bytes, one more revision, or another attachment, which may be a revision too."""
    kind = rng.random()
    if kind < 0.8:
        return mutate.of_bytes(data, rng)
    if kind < 0.9:
        return appended(data, rng.choice((painted, noted, retitled, another)))
    if kind < 0.95:
        return appended(data, partial(reattached, rng))
    with pikepdf.open(io.BytesIO(data)) as pdf:
        name = rng.choice(sorted(pdf.attachments))
        content = mutate.of_bytes(pdf.attachments[name].get_file().read_bytes(), rng)
        pdf.attachments[name] = pikepdf.AttachedFileSpec(pdf, content, filename=name)
        pdf.save(out := io.BytesIO())
    return out.getvalue()


def reattached(rng: random.Random, writer: Any) -> None:
    """Exchange the content of an attachment."""
    spec = rng.choice(list(writer.root["/Names"]["/EmbeddedFiles"]["/Names"])[1::2]).get_object()
    files = spec["/EF"]
    other = StreamObject(dict(files["/F"].items()), stream_data=mutate.of_bytes(files["/F"].data, rng))
    made = writer.add_object(other)
    for key in list(files):
        files[key] = made
    writer.update_container(files)


@counts
def test_no_altered_pdf_verifies(
    count: int, place: Path, tmp_path: Path, rerender: Callable[[Rendering], None]
) -> None:
    made, original = (place / "run/brief.pdf").read_bytes(), (place / "signed.pdf").read_bytes()
    rerender(lambda *_: made)
    file = tmp_path / "signed.pdf"

    def judge(rng: random.Random) -> str:
        file.write_bytes(altered(original, rng))
        return verify(file, trust=[place / "ca.pem"], run=place / "run/run.json", deep=rng.random() < 0.05).outcome

    file.write_bytes(original)
    assert verify(file, trust=[place / "ca.pem"], deep=True).outcome == "verified"
    ends = outcomes(count, judge)
    assert ends["verified"] == 0


@counts
def test_no_altered_pdf_without_a_signature_verifies(
    count: int, place: Path, tmp_path: Path, rerender: Callable[[Rendering], None]
) -> None:
    """In the folder of its run the list of hashes shows it; alone the report that is made again."""
    folder = Path(shutil.copytree(place / "run", tmp_path / "run"))
    made = (folder / "brief.pdf").read_bytes()
    rerender(lambda *_: made)

    def judge(rng: random.Random) -> str:
        data, alone = altered(made, rng), rng.random() < 0.1
        file = (tmp_path if alone else folder) / "brief.pdf"
        file.write_bytes(data)
        return verify(file, run=folder / "run.json", deep=alone).outcome

    for file in (tmp_path / "brief.pdf", folder / "brief.pdf"):
        file.write_bytes(made)
        assert verify(file, run=folder / "run.json", deep=file.parent == tmp_path).outcome == "verified"
    ends = outcomes(count, judge)
    assert ends["verified"] == 0


@counts
def test_no_altered_history_passes(count: int, tmp_path: Path) -> None:
    history = History(tmp_path / "filed")
    for day in (1, 2, 3):
        add(history, day)
    delete(history, history.runs()[:1])
    add(history, 5, "motor")
    assert history.check() == []
    copy = tmp_path / "copy"
    passed: list[str] = []

    def judge(rng: random.Random) -> str:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(history.root, copy)
        done = mutate.of_folder(copy, rng)
        History(copy).runs()
        if not History(copy).check():
            passed.append(done)
        return "told"

    ends = outcomes(count, judge)
    assert (passed, ends["told"]) == ([], count)


def test_altered_bytes_are_other_bytes() -> None:
    data = io.BytesIO(b'{"a":[1,{"b":null}],"c":"d"}\n').getvalue()
    for number in range(200):
        assert mutate.of_bytes(data, random.Random(number)) != data
        assert mutate.of_json(data, random.Random(number)) != data
