"""Verification as a proof: what stands in a file beside report and signatures, what is missing, and faults."""

from __future__ import annotations

import io
import logging
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from typer.testing import CliRunner

pytest.importorskip("pyhanko", reason="signing needs pyHanko: pip install 'uq_report[sign]'")

from pyhanko.pdf_utils.generic import (
    ArrayObject,
    DictionaryObject,
    NumberObject,
    StreamObject,
    pdf_name,
    pdf_string,
)
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter as Writer
from pyhanko.sign import PdfSignatureMetadata, PdfSigner, SimpleSigner
from pyhanko.sign.fields import SigFieldSpec

from uq_report import cli
from uq_report.core.support.errors import InputError, RenderError, words_of
from uq_report.evidence import disk
from uq_report.ops import verification
from uq_report.ops.signing import SignatureTerms, Signed, load_signer, sign
from uq_report.ops.verification import Verification

from . import verify_cases
from .conftest import Rendering
from .verify_cases import PASSPHRASE, Keys

pytestmark = pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
deep = partial(verification.verify, deep=True)


@pytest.fixture(scope="module")
def signer(keys: Keys) -> SimpleSigner:
    return load_signer(*keys.issue("validator"), [keys.authority], PASSPHRASE)


@pytest.fixture(autouse=True)
def rendered_once(rerender: Callable[[Rendering], None], place: Path) -> None:
    """Take the unsigned file for its own rendering, which test_verify shows it is."""
    made = (place / "run/brief.pdf").read_bytes()
    rerender(lambda usual, form, suffix: made if suffix == ".pdf" else usual())


@pytest.fixture
def signed(place: Path, signer: SimpleSigner, tmp_path: Path) -> Signed:
    """Return a signed report in the folder of its run."""
    shutil.copytree(place / "run", tmp_path / "run")
    return sign(tmp_path / "run/brief.pdf", tmp_path / "run/signed.pdf", signer, SignatureTerms(field="Validator"))


def states(found: Verification) -> dict[str, str]:
    return {claim.name: claim.state for claim in found.claims}


def appended(data: bytes, change: Callable[[Writer], None]) -> bytes:
    """Return a PDF with one more revision."""
    out = io.BytesIO(data)
    writer = Writer(out)
    change(writer)
    writer.write_in_place()
    return out.getvalue()


def signed_by(data: bytes, signer: SimpleSigner, **spec: Any) -> bytes:
    """Return what pyHanko alone makes of a PDF, whatever stands in it."""
    meta = PdfSignatureMetadata(field_name="Forged")
    field = SigFieldSpec("Forged", **spec)
    return bytes(PdfSigner(meta, signer, new_field_spec=field).sign_pdf(Writer(io.BytesIO(data))).getvalue())


def page_of(writer: Writer) -> Any:
    return writer.root["/Pages"]["/Kids"][0]


def painted(writer: Writer) -> None:
    """Paint a white box over the first page."""
    box = writer.add_object(StreamObject(stream_data=b"1 g 0 0 600 900 re f"))
    page = page_of(writer)
    page[pdf_name("/Contents")] = ArrayObject([page.raw_get("/Contents"), box])
    writer.update_container(page)


def noted(writer: Writer) -> None:
    """Lay a note over the first page."""
    note = DictionaryObject({
        pdf_name("/Type"): pdf_name("/Annot"),
        pdf_name("/Subtype"): pdf_name("/FreeText"),
        pdf_name("/Contents"): pdf_string("all is well"),
        pdf_name("/Rect"): ArrayObject(map(NumberObject, (0, 0, 600, 900))),
    })  # fmt: skip
    page = page_of(writer)
    page[pdf_name("/Annots")] = ArrayObject([writer.add_object(note)])
    writer.update_container(page)


def acting(writer: Writer) -> None:
    """Have the file do something when it is opened."""
    action = {pdf_name("/S"): pdf_name("/URI"), pdf_name("/URI"): pdf_string("https://example.org")}
    writer.root[pdf_name("/OpenAction")] = DictionaryObject(action)
    writer.update_root()


def retitled(writer: Writer) -> None:
    """Exchange the title that viewers show."""
    info = writer.trailer["/Info"]
    info[pdf_name("/Title")] = pdf_string("another report")
    writer.update_container(info)


def another(writer: Writer) -> None:
    """Exchange all pages."""
    pages = writer.root["/Pages"]
    pages[pdf_name("/Kids")] = ArrayObject(list(pages["/Kids"])[1:])
    pages[pdf_name("/Count")] = NumberObject(int(pages["/Count"]) - 1)
    writer.update_container(pages)


@pytest.mark.parametrize("change", [painted, noted, acting, retitled, another])
def test_a_report_changed_and_then_signed_fails(
    change: Callable[[Writer], None], place: Path, keys: Keys, signer: SimpleSigner, tmp_path: Path
) -> None:
    """The signature holds and covers the whole file; the file is still no report with a signature."""
    forged = tmp_path / "forged.pdf"
    forged.write_bytes(signed_by(appended((place / "run/brief.pdf").read_bytes(), change), signer))
    for verify in (verification.verify, deep):
        found = verify(forged, trust=[keys.authority])
        assert states(found)["signer of 'Forged'"] == "verified"
        assert (found.outcome, states(found)["revisions"]) == ("failed", "failed")
    assert states(deep(forged))["bytes"] == "failed"


def test_a_change_and_the_signature_in_one_revision_fail(place: Path, signer: SimpleSigner, tmp_path: Path) -> None:
    writer = Writer(io.BytesIO((place / "run/brief.pdf").read_bytes()))
    painted(writer)
    meta, field = PdfSignatureMetadata(field_name="Forged"), SigFieldSpec("Forged")
    forged = tmp_path / "forged.pdf"
    forged.write_bytes(PdfSigner(meta, signer, new_field_spec=field).sign_pdf(writer).getvalue())
    (claim,) = [claim for claim in verification.verify(forged).claims if claim.name == "revisions"]
    assert (claim.state, "which is no part of a signature" in claim.reason) == ("failed", True)


def test_a_signature_drawn_over_the_page_fails(place: Path, signer: SimpleSigner, tmp_path: Path) -> None:
    forged = tmp_path / "forged.pdf"
    forged.write_bytes(signed_by((place / "run/brief.pdf").read_bytes(), signer, on_page=0, box=(0, 0, 600, 900)))
    (claim,) = [claim for claim in deep(forged).claims if claim.name == "revisions"]
    assert (claim.state, "drawn on a page" in claim.reason) == ("failed", True)


def test_other_pages_behind_the_rendered_bytes_fail(place: Path, signer: SimpleSigner, tmp_path: Path) -> None:
    """The file starts with the report, and its last part, which readers show, is another document."""
    report = (place / "run/brief.pdf").read_bytes()
    other = signed_by(report.replace(b"%PDF-1.7", b"%PDF-1.6", 1), signer)
    forged = tmp_path / "forged.pdf"
    forged.write_bytes(report + b"\n" + other)
    assert deep(forged, run=place / "run/run.json").outcome == "failed"


def test_trust_asks_for_a_signature_and_says_so_if_there_is_none(
    place: Path, keys: Keys, signed: Signed, tmp_path: Path
) -> None:
    report, page = place / "run/brief.pdf", place / "run/brief.html"
    for asked in ({"trust": [keys.authority]}, {"require_signature": True}):
        for file, reason in ((report, "there is none, and one is asked for"), (page, "only a PDF can have one")):
            found = verification.verify(file, **asked)
            (claim,) = found.failed
            assert (found.outcome, claim.name) == ("failed", "signature")
            assert reason in claim.reason
        assert verification.verify(signed.path, **asked).ok
        assert not verification.verify(place / "run", **asked).ok
    assert verification.verify(report).ok
    other = Keys(tmp_path).authority
    assert verification.verify(signed.path, require_signature=True, trust=[other]).outcome == "failed"


def test_without_the_library_a_signature_asked_for_could_not_be_judged(
    signed: Signed, without: Callable[..., None]
) -> None:
    without("pyhanko.pdf_utils.reader")
    assert verification.verify(signed.path).ok
    assert verification.verify(signed.path, require_signature=True).outcome == "not assessed"


@pytest.mark.parametrize("verify", [verification.verify, deep])
def test_a_signature_cut_off_is_told_where_the_folder_knows_of_it(
    verify: Callable[..., Verification], signed: Signed
) -> None:
    folder = signed.path.parent
    assert disk.match(folder, disk.loads(folder), ["signed.pdf", "brief.pdf", "run.json"])
    assert verify(folder).ok
    assert "signature 'Validator'" in states(verify(folder))
    signed.path.write_bytes(signed.path.read_bytes()[: signed.unsigned_bytes])
    for path in (folder, signed.path):
        (claim,) = verify(path).failed
        assert claim.reason.startswith("its signature was cut off: it is brief.pdf again")
    signed.path.unlink()
    (claim,) = verify(folder).failed
    assert (claim.file, claim.reason) == ("signed.pdf", "it is missing; SHA256SUMS lists it")


def test_a_signature_cut_off_is_told_where_run_json_names_it(
    place: Path, keys: Keys, signer: SimpleSigner, rerender: Callable[[Rendering], None]
) -> None:
    """Alone, without the folder that lists it: two signatures, of which the last and then both are cut off."""
    about = {"status": "final", "title": "t", "signers": " Validator, Owner ,"}
    made = verify_cases.run(settings={"seed": 0, "about": about})
    folder = verify_cases.write(place / "named", made)
    unsigned = (folder / "brief.pdf").read_bytes()
    rerender(lambda *_: unsigned)
    one, two = place / "one.pdf", place / "two.pdf"
    sign(folder / "brief.pdf", one, signer, SignatureTerms(field="Validator", certify="fill-forms"))
    sign(one, two, load_signer(*keys.issue("owner"), (), PASSPHRASE), SignatureTerms(field="Owner", certify="approval"))
    expected = {
        two: ("verified", "it bears 'Validator', 'Owner', which run.json names"),
        one: ("not assessed", "it lacks 'Owner', which run.json names: not signed yet, or the signature was cut off"),
        folder / "brief.pdf": ("not assessed", "it lacks 'Validator', 'Owner', which run.json names"),
    }
    for file, (state, reason) in expected.items():
        found = verification.verify(file)
        (claim,) = [claim for claim in found.claims if claim.name == "signers"]
        assert (claim.state, claim.reason.startswith(reason), found.ok) == (state, True, True)
        asked = verification.verify(file, require_signature=True)
        assert (asked.ok, states(asked)["signers"]) == (
            state == "verified",
            "verified" if state == "verified" else "failed",
        )
    assert "signers" not in states(verification.verify(place / "run/brief.pdf"))


def test_listed_files_that_are_gone_or_others_are_told(place: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(place / "run", tmp_path / "run"))
    (folder / "note.txt").write_text("a")
    (folder / "SHA256SUMS").write_bytes(disk.dumps(disk.loads(folder) | disk.hashes({"note.txt": b"a"})))
    assert verification.verify(folder).ok
    (folder / "note.txt").write_text("b")
    assert [claim.file for claim in verification.verify(folder).failed] == ["note.txt"]
    shutil.rmtree(folder / "evidence")
    (folder / "brief.pdf").unlink()
    failed = verification.verify(folder).failed
    assert [claim.file for claim in failed] == ["brief.pdf", "note.txt", "evidence"]


@pytest.mark.parametrize(
    "error",
    [RenderError("pdf.memory_mb must be enough for the page"), OSError("libpango"), MemoryError(), KeyError("x")],
)
def test_what_cannot_be_rendered_here_is_neither_verified_nor_failed(
    error: Exception, place: Path, rerender: Callable[[Rendering], None]
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    rerender(fail)
    found = deep(place / "run/brief.pdf")
    assert (found.ok, found.failed, found.outcome) == (False, (), "not assessed")
    assert found.summary.startswith("Not assessed: ")
    assert "1 error" in found.summary
    told = CliRunner().invoke(cli.app, ["verify", "--deep", "-q", str(place / "run/brief.pdf")])
    assert (told.exit_code, told.stdout) == (6, "")
    assert words_of(error) in told.stderr
    with pytest.raises(InputError, match=r"sign\.report must verify; got error"):
        sign(place / "run/brief.pdf", place / "no.pdf", SimpleSigner(None, None, None))


def test_a_failure_stands_above_a_fault(place: Path, tmp_path: Path, rerender: Callable[[Rendering], None]) -> None:
    folder = Path(shutil.copytree(place / "run", tmp_path / "run"))
    (folder / "brief.html").write_bytes((folder / "brief.html").read_bytes() + b" ")
    rerender(lambda *_: bytes(1 // 0))
    found = deep(folder)
    assert (found.outcome, found.as_dict()["outcome"]) == ("failed", "failed")


def test_logs_of_the_readers_stay_out_of_the_terminal(
    signed: Signed, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any handler, Python prints warnings on stderr; a damaged file makes both readers complain."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    damaged = tmp_path / "damaged.pdf"
    damaged.write_bytes(signed.path.read_bytes().replace(b"startxref", b"startxxxx").replace(b"/Root", b"/Roos"))
    logging.getLogger("pypdf._reader").warning("incorrect startxref pointer")
    logging.getLogger("pyhanko.sign").warning("no")
    told = CliRunner().invoke(cli.app, ["verify", str(damaged)])
    assert told.exit_code in (3, 5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": 99}', b"\xff", None])
def test_a_signed_report_whose_attachment_was_replaced_fails(
    content: bytes | None, signed: Signed, tmp_path: Path
) -> None:
    forged = tmp_path / "forged.pdf"
    with pikepdf.open(signed.path) as pdf:
        if content is None:
            del pdf.attachments["run.json"]
        else:
            pdf.attachments["run.json"] = pikepdf.AttachedFileSpec(pdf, content, filename="run.json")
        pdf.save(forged)
    told = CliRunner().invoke(cli.app, ["verify", str(forged)])
    assert told.exit_code == 5, told.output
    assert "failed        forged.pdf" in told.output
