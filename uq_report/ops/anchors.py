"""Anchors: how far a history has come, in a file to be kept where nobody who writes to the history can write.

An anchor ties everything that was filed until it was made: each audit's last hash covers the entries before it, and
each entry the hashes of all files of its run. A signature of it, in a file beside it, says who vouches for that, and
a time stamp in another since when.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..core.support.errors import InputError, optional, words_of
from ..core.support.safe_loading import bytes_of
from ..core.support.text import clean
from ..evidence.run_folder import write_files
from .history import Heads, History
from .history.entry import heads_of_json, read_heads
from .verification.evidence import VerificationVerdict, failed, left_open, proven
from .verification.signatures import trusted

SIGNED, STAMPED = ".p7s", ".tsr"
_Judge = Callable[[Path, Path, list[Any]], tuple[str, bool, bool]]  # words, and whether it holds, and is trusted
_NAME_IT = "name the certificate this must lead to by --trust."


def write_anchor(history: History, file: Path) -> Heads:
    """Write how far a history has come, and return it; what is wrong with it `History.check` says."""
    if proofs := [proof.name for suffix in (SIGNED, STAMPED) if (proof := beside(file, suffix)).exists()]:
        raise InputError(f"history.anchor must be no signed anchor; {file} has {proofs[0]}. Name another file.")
    heads = history.heads()
    write_files(file.parent, {file.name: heads.dumps()})
    return heads


def is_anchor(file: Path) -> bool:
    """Return whether a file is an anchor, by its content."""
    try:
        read_heads(file)
    except InputError:
        return False
    return True


def sign_anchor(file: Path, output: Path, signer: Any, timestamper: Any = None) -> None:
    """Write the signature of an anchor (CMS, detached: what openssl calls ``smime -verify -content``).

    Parameters
    ----------
    file, output : Path
        The anchor, and its signature: `judge_anchor` looks for the anchor's name with ``.p7s`` after it.
    signer : SimpleSigner
        Of `signing.load_signer`.
    timestamper : pyhanko TimeStamper, optional
    """
    data = file.read_bytes()
    heads_of_json(data, str(file))
    try:
        made = asyncio.run(signer.async_sign_general_data(data, "sha256", timestamper=timestamper))
    except Exception as error:  # the library, the key and the time stamp service can fail in any way
        raise InputError(f"sign: the signature could not be made ({words_of(error)}). Nothing was written.") from error
    write_files(output.parent, {output.name: made.dump()})


def judge_anchor(file: Path, trust: Sequence[Path] = ()) -> list[VerificationVerdict]:
    """Say of the signature and the time stamp beside an anchor whether they are of it, and who vouches for them.

    With `trust` one of both must lead there: the signature, if there is one. A service whose certificate is not named
    has stamped the anchor all the same; whether to believe its time is not assessed.
    """
    signature, stamp = beside(file, SIGNED), beside(file, STAMPED)
    if trust and not (signature.exists() or stamp.exists()):
        reason = f"{file.name} has no signature {signature.name} beside it, and --trust asks for one."
        return [failed("signature", reason)]
    anchors, verdicts = [], []
    if signature.exists() or stamp.exists():
        optional("pyhanko", "history.anchor", "pyhanko", "sign")
        anchors = trusted(trust)
    if signature.exists():
        verdicts.append(_guarded("signature", _signature, signature, file, anchors, needed=bool(trust)))
    if stamp.exists():
        alone = bool(trust) and not signature.exists()
        verdicts.append(_guarded("time stamp", _stamp, stamp, file, anchors, needed=alone))
    return verdicts


def beside(file: Path, suffix: str) -> Path:
    """Return the file of a signature or a time stamp of an anchor."""
    return file.with_name(file.name + suffix)


def _guarded(
    name: str, judge: _Judge, proof: Path, file: Path, anchors: list[Any], *, needed: bool
) -> VerificationVerdict:
    """Return a verdict on a proof: is it of the file, and who vouches for it; `needed` says that somebody must."""
    try:
        words, holds, trusted = judge(proof, file, anchors)
    except Exception as error:  # noqa: BLE001 - damaged bytes can fail in any way in the reader
        return failed(name, f"{proof.name} is no {name} that can be read ({words_of(error)}).")
    told = f"{proof.name} is {words}"
    if not holds:
        return failed(name, f"{told}, and is not a {name} of {file.name}: one of them was changed.")
    if trusted:
        return proven(name, f"{told}, who leads to a trusted certificate.")
    if needed:
        return failed(name, f"{told}, who does not lead to a trusted certificate, or whose time is over.")
    return left_open(name, f"{told}; {_NAME_IT}")


def _signature(proof: Path, file: Path, anchors: list[Any]) -> tuple[str, bool, bool]:
    from asn1crypto.cms import ContentInfo
    from pyhanko.sign.validation import async_validate_detached_cms
    from pyhanko_certvalidator import ValidationContext

    signed = ContentInfo.load(bytes_of(proof), strict=True)["content"]
    context = ValidationContext(trust_roots=anchors, allow_fetching=False)
    status = asyncio.run(async_validate_detached_cms(file.read_bytes(), signed, signer_validation_context=context))
    who = clean(status.signing_cert.subject.human_friendly, 200)
    return f"signed by {who}", status.intact and status.valid, status.bottom_line


def _stamp(proof: Path, file: Path, anchors: list[Any]) -> tuple[str, bool, bool]:
    """Judge the answer of a time stamp service, RFC 3161 section 2.4.2."""
    from asn1crypto.tsp import TimeStampResp
    from pyhanko.sign.validation.generic_cms import validate_tst_signed_data
    from pyhanko.sign.validation.status import TimestampSignatureStatus
    from pyhanko_certvalidator import ValidationContext

    answer, data = TimeStampResp.load(bytes_of(proof), strict=True), file.read_bytes()
    token = answer["time_stamp_token"]["content"]
    context = ValidationContext(trust_roots=anchors, allow_fetching=False)
    fields = asyncio.run(validate_tst_signed_data(token, context, lambda name: hashlib.new(name, data).digest()))
    status = TimestampSignatureStatus(**fields)
    who = (
        f"{status.timestamp.isoformat(timespec='seconds')} of {clean(status.signing_cert.subject.human_friendly, 200)}"
    )
    return who, status.intact and status.valid, status.trusted
