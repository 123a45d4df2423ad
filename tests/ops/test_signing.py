"""Signing: both standards kept, rules of certification, clear refusals, and every way to tamper is seen."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from typer.testing import CliRunner

pytest.importorskip("pyhanko", reason="signing needs pyHanko: pip install 'uq_report[sign]'")

from uq_report import cli
from uq_report.core.support.errors import InputError
from uq_report.ops import signing, verification
from uq_report.ops.history.entry import ENTRY
from uq_report.ops.signing import SignatureTerms, Signed, load_signer, sign
from uq_report.ops.verification import Verification
from uq_report.ops.verification.signatures import judge_signatures

from ..render.structure import programs
from . import verify_cases
from .conftest import Rendering
from .verify_cases import PASSPHRASE, Keys

verify = partial(verification.verify, deep=True)

# asyncio's loops, which pyHanko opens and closes, are told of late by the collector in some Python versions.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")


@pytest.fixture(scope="module")
def validator(keys: Keys) -> Any:
    return load_signer(*keys.issue("validator"), [keys.authority], PASSPHRASE)


@pytest.fixture(autouse=True)
def rendered_once(rerender: Callable[[Rendering], None], place: Path) -> None:
    """Take the unsigned file for its own rendering, which test_verify shows it is."""
    made = (place / "run/brief.pdf").read_bytes()
    rerender(lambda *_: made)


@pytest.fixture(scope="module")
def signed(place: Path, validator: Any) -> Signed:
    return sign(
        place / "run/brief.pdf", place / "signed.pdf", validator, SignatureTerms(field="Validator", reason="Checked")
    )


def states(found: Verification) -> dict[str, str]:
    return {claim.name: claim.state for claim in found.claims}


def test_the_signed_file_starts_with_the_unsigned_one_and_verifies(place: Path, keys: Keys, signed: Signed) -> None:
    unsigned = (place / "run/brief.pdf").read_bytes()
    assert signed.path.read_bytes().startswith(unsigned)
    assert signed.unsigned_bytes == len(unsigned)
    found = verify(signed.path, trust=[keys.authority])
    assert found.ok
    judged = states(found)
    assert {judged[name] for name in ("evidence", "bytes", "attachments")} == {"verified"}
    assert (judged["signature 'Validator'"], judged["signer of 'Validator'"]) == ("verified", "verified")
    (claim,) = [claim for claim in found.claims if claim.name == "signature 'Validator'"]
    assert claim.reason == "intact, covers the whole file; certifies: no changes allowed"


def test_a_signer_is_not_trusted_unless_named_and_refused_if_of_another_authority(
    signed: Signed, tmp_path: Path
) -> None:
    found = verify(signed.path)
    assert (found.ok, states(found)["signer of 'Validator'"]) == (True, "not assessed")
    other = verify(signed.path, trust=[Keys(tmp_path).authority])
    assert (other.ok, states(other)["signer of 'Validator'"]) == (False, "failed")


def test_trust_in_a_file_without_a_certificate_is_refused_and_never_taken_for_no_trust(
    signed: Signed, keys: Keys
) -> None:
    for file in keys.no_certificates():
        for trust in ([file], [keys.authority, file]):
            with pytest.raises(InputError, match=r"verify\.trust must be a file with certificates"):
                verify(signed.path, trust=trust)
        told = CliRunner().invoke(cli.app, ["verify", str(signed.path), "--trust", str(file)])
        assert (told.exit_code, "Verified" in told.output) == (3, False)
        with pytest.raises(InputError, match=r"sign\.chain must be a file with certificates"):
            load_signer(*keys.issue("another"), [file], PASSPHRASE)


def test_the_marks_of_both_standards_are_kept(signed: Signed) -> None:
    assert list(programs(signed.path.read_bytes())) == []
    with pikepdf.open(signed.path) as pdf:
        assert pdf.Root.Lang == "en"
        assert pdf.Root.MarkInfo.Marked
        assert "/StructTreeRoot" in pdf.Root
        assert len(pdf.Root.OutputIntents) == 1
        with pdf.open_metadata() as xmp:
            assert (xmp["pdfaid:part"], xmp["pdfaid:conformance"]) == ("3", "A")
            assert xmp["{http://www.aiim.org/pdfua/ns/id/}part"] == "1"
        (field,) = pdf.Root.AcroForm.Fields
        assert "/NeedAppearances" not in pdf.Root.AcroForm
        assert (str(field.T), str(field.FT)) == ("Validator", "/Sig")
        assert [float(edge) for edge in field.Rect] == [-9999] * 4
        assert int(field.F) & 4, "PDF/A asks for the print flag"
        assert not int(field.F) & (1 | 32), "PDF/A forbids invisible and no-view"
        assert str(field.V.SubFilter) == "/ETSI.CAdES.detached"
        for page in pdf.pages:
            assert "/Annots" not in page or page.get("/Tabs") == "/S"


def test_tampering_three_ways_fails_with_exit_code_5(place: Path, signed: Signed) -> None:
    data = signed.path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    saved, updated = io.BytesIO(), io.BytesIO(data)
    with pikepdf.open(io.BytesIO(data)) as pdf:
        pdf.save(saved)
    from pyhanko.pdf_utils.generic import pdf_name, pdf_string
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter

    writer = IncrementalPdfFileWriter(updated)
    writer.root[pdf_name("/Lang")] = pdf_string("de")
    writer.update_root()
    writer.write_in_place()
    for name, content in (("flip", bytes(flipped)), ("save", saved.getvalue()), ("update", updated.getvalue())):
        file = place / f"{name}.pdf"
        file.write_bytes(content)
        told = CliRunner().invoke(cli.app, ["verify", "--deep", str(file)])
        assert told.exit_code == 5, (name, told.output)
        assert "failed" in told.stdout


def test_a_flip_anywhere_in_the_signature_is_seen(keys: Keys, signed: Signed) -> None:
    data = signed.path.read_bytes()
    for position in range(signed.unsigned_bytes, len(data), 131):
        flipped = bytearray(data)
        flipped[position] ^= 0x20 if position % 2 else 1
        if b"/ByteRange" in flipped:  # without it there is no signature, and the bytes are unaccounted for
            claims = list(judge_signatures(bytes(flipped), [keys.authority]))
            assert any(claim.state == "failed" for claim in claims), position


def test_who_may_sign_second(place: Path, keys: Keys, validator: Any, signed: Signed) -> None:
    with pytest.raises(InputError, match="certifies that nothing may follow"):
        sign(signed.path, place / "no.pdf", validator, SignatureTerms(field="Owner", certify="approval"))
    first = sign(
        place / "run/brief.pdf", place / "first.pdf", validator, SignatureTerms(field="Validator", certify="fill-forms")
    )
    owner = load_signer(*keys.issue("owner"), [keys.authority], PASSPHRASE)
    with pytest.raises(InputError, match="'approval' for all but the first"):
        sign(first.path, place / "no.pdf", owner, SignatureTerms(field="Owner"))
    with pytest.raises(InputError, match="a name of its own"):
        sign(first.path, place / "no.pdf", owner, SignatureTerms(field="Validator", certify="approval"))
    assert not (place / "no.pdf").exists()
    second = sign(first.path, place / "second.pdf", owner, SignatureTerms(field="Owner", certify="approval"))
    found = verify(second.path, trust=[keys.authority])
    assert found.ok
    assert {claim.state for claim in found.claims if "Owner" in claim.name or "Validator" in claim.name} == {"verified"}


def test_a_time_stamp_is_embedded_and_told(place: Path, keys: Keys, validator: Any) -> None:
    from pyhanko.keys import load_cert_from_pemder, load_private_key_from_pemder
    from pyhanko.sign.timestamps import DummyTimeStamper

    key, certificate = keys.issue("clock", rsa=True)
    stamper = DummyTimeStamper(
        load_cert_from_pemder(str(certificate)), load_private_key_from_pemder(str(key), PASSPHRASE.encode())
    )
    done = sign(place / "run/brief.pdf", place / "stamped.pdf", validator, timestamper=stamper)
    claims = list(judge_signatures(done.path.read_bytes(), [keys.authority]))
    assert {claim.state for claim in claims} == {"verified"}
    assert "time stamp 20" in claims[1].reason


def test_an_unreachable_time_stamp_service_writes_nothing(place: Path, validator: Any) -> None:
    with pytest.raises(InputError, match=r"time stamps are asked of http://127\.0\.0\.1:9/"):
        sign(place / "run/brief.pdf", place / "no.pdf", validator, SignatureTerms(timestamp_url="http://127.0.0.1:9/"))
    assert not (place / "no.pdf").exists()


def test_refusals_of_keys_name_the_cause(keys: Keys, tmp_path: Path) -> None:
    key, certificate = keys.issue("a")
    cases: list[tuple[str, Any]] = [
        ("Check the passphrase", lambda: load_signer(key, certificate, (), "wrong")),
        ("key needs a passphrase", lambda: load_signer(key, certificate)),
        ("that of the certificate", lambda: load_signer(key, keys.issue("b")[1], (), PASSPHRASE)),
        ("must hold today", lambda: load_signer(*keys.issue("old", days=-1), (), PASSPHRASE)),
        ("non-repudiation", lambda: load_signer(*keys.issue("web", signing=False), (), PASSPHRASE)),
        ("sign.key must be a file", lambda: load_signer(tmp_path / "none", certificate, (), PASSPHRASE)),
        ("sign.certificate must be a file with certificates", lambda: load_signer(key, key, (), PASSPHRASE)),
        ("sign.certify", lambda: SignatureTerms(certify="all")),  # type: ignore[arg-type]
    ]
    for message, call in cases:
        with pytest.raises(InputError, match=message) as told:
            call()
        assert PASSPHRASE not in str(told.value)


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_a_person_signs_with_a_certificate_that_lacked_the_usage(
    place: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command refuses and shows a command; that makes a certificate; with it the same command signs."""
    monkeypatch.setenv("UQ_REPORT_KEY_PASSPHRASE", PASSPHRASE)
    key, certificate = keys.issue("R+D = Zoë O'Neil", signing=False)
    made, output = certificate.with_name(f"{certificate.stem}-signing.pem"), place / "own.pdf"
    command = ["sign", str(place / "run/brief.pdf"), "--key", str(key), "-o", str(output), "--cert"]
    refused = CliRunner().invoke(cli.app, [*command, str(certificate)])
    assert (refused.exit_code, output.exists()) == (3, False)
    shown = refused.stderr.partition("vouches for: ")[2]
    assert shown.startswith("openssl req -x509")
    subprocess.run(f"{shown.strip()} -passin pass:'{PASSPHRASE}'", shell=True, check=True, capture_output=True)
    signed_now = CliRunner().invoke(cli.app, [*command, str(made)])
    assert signed_now.exit_code == 0, signed_now.output
    found = verify(output, trust=[made])
    assert (found.ok, states(found)["signer of 'Signature'"]) == (True, "verified")
    (claim,) = [claim for claim in found.claims if claim.name == "signer of 'Signature'"]
    assert "R+D = Zoë O'Neil" in claim.reason
    check_by_others(output, made)


def check_by_others(file: Path, trusted: Path) -> None:
    """Have pikepdf read a signed file without complaint, and pyHanko itself call its signature intact and whole."""
    from pyhanko.keys import load_cert_from_pemder
    from pyhanko.pdf_utils.reader import PdfFileReader
    from pyhanko.sign.validation import validate_pdf_signature
    from pyhanko_certvalidator import ValidationContext

    context = ValidationContext(trust_roots=[load_cert_from_pemder(str(trusted))], allow_fetching=False)
    with pikepdf.open(file) as pdf:
        assert pdf.check_pdf_syntax() == []
    with file.open("rb") as stream:
        (signature,) = PdfFileReader(stream).embedded_signatures
        status = validate_pdf_signature(signature, context)
        assert (status.intact, status.valid, status.trusted) == (True, True, True)
        assert status.coverage.name == "ENTIRE_FILE"


def test_a_signed_file_is_no_part_of_a_filed_run_nor_in_the_place_of_the_report(
    place: Path, validator: Any, tmp_path: Path
) -> None:
    filed = Path(shutil.copytree(place / "run", tmp_path / "filed"))
    (filed / ENTRY).write_text("{}")
    before = (filed / "SHA256SUMS").read_bytes()
    with pytest.raises(InputError, match=r"must not lie in a run of a history, .*; got signed\.pdf there"):
        sign(filed / "brief.pdf", filed / "signed.pdf", validator)
    with pytest.raises(InputError, match="must be another file than the report; got the same"):
        sign(filed / "brief.pdf", filed / "brief.pdf", validator)
    assert (filed / "SHA256SUMS").read_bytes() == before
    assert not (filed / "signed.pdf").exists()


def test_a_draft_is_signed_only_if_it_is_said(
    place: Path, validator: Any, rerender: Callable[[Rendering], None]
) -> None:
    folder = verify_cases.write(place / "draft", verify_cases.run("draft"))
    made = (folder / "brief.pdf").read_bytes()
    rerender(lambda *_: made)
    with pytest.raises(InputError, match="--draft"):
        sign(folder / "brief.pdf", place / "no.pdf", validator)
    assert sign(folder / "brief.pdf", place / "draft.pdf", validator, SignatureTerms(draft=True)).path.exists()


def test_a_report_that_does_not_verify_is_not_signed(place: Path, validator: Any) -> None:
    data = bytearray((place / "run/brief.pdf").read_bytes())
    data[len(data) // 3] ^= 1
    (place / "changed.pdf").write_bytes(data)
    with pytest.raises(InputError, match=r"must verify|with its evidence inside|can be read"):
        sign(place / "changed.pdf", place / "no.pdf", validator)
    with pytest.raises(InputError, match="another file"):
        sign(place / "run/brief.pdf", place / "run/brief.pdf", validator)
    assert not (place / "no.pdf").exists()


def test_the_command_takes_the_passphrase_from_the_environment_alone(
    place: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = keys.issue("c")
    output = place / "by-command.pdf"
    command = ["sign", str(place / "run/brief.pdf"), "--key", str(key), "--cert", str(certificate), "-o", str(output)]
    silent = CliRunner().invoke(cli.app, command)
    assert (silent.exit_code, "Set UQ_REPORT_KEY_PASSPHRASE" in silent.stderr) == (3, True)
    monkeypatch.setenv("UQ_REPORT_KEY_PASSPHRASE", "wrong")
    assert "Check the passphrase" in CliRunner().invoke(cli.app, command).stderr
    monkeypatch.setenv("UQ_REPORT_KEY_PASSPHRASE", PASSPHRASE)
    told = CliRunner().invoke(cli.app, command)
    assert told.exit_code == 0, told.output
    assert "have SHA-256" in told.stdout
    assert (
        CliRunner().invoke(cli.app, ["verify", "--deep", str(output), "--trust", str(keys.authority), "-q"]).output
        == ""
    )
    assert signing.is_encrypted(key)


@pytest.mark.parametrize(("bits", "refused"), [(1024, True), (2048, False)])
def test_an_rsa_key_has_2048_bits(bits: int, refused: bool, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    made = rsa.generate_private_key
    monkeypatch.setattr(rsa, "generate_private_key", lambda exponent, _: made(exponent, bits))
    files = keys.issue(f"bits{bits}", rsa=True)
    if not refused:
        load_signer(*files, (), PASSPHRASE)
        return
    with pytest.raises(InputError, match=r"an RSA key of at least 2048 bits; got 1024\. Ask for a new one"):
        load_signer(*files, (), PASSPHRASE)
