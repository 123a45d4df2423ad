"""Anchors: how far a history has come, in a file to be kept where nobody who writes to the history can write.

An anchor ties everything that was filed until it was made: each audit's last hash covers the entries before it, and
each entry the hashes of all files of its run. A signature of it, in a file beside it, says who vouches for that, and
its time stamp since when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import InputError, MissingDependencyError, words_of
from ..core.text import clean
from ..evidence.saved import write_files
from .history import Heads, History
from .history.heads import loads, read
from .verification.signatures import trusted

SIGNED = ".p7s"


def write_anchor(history: History, file: Path) -> Heads:
    """Write how far a history has come, and return it; what is wrong with it `History.check` says."""
    if _signature(file).exists():
        raise InputError(f"history.anchor must be no signed anchor; {file} has {file.name}{SIGNED}. Name another file.")
    heads = history.heads()
    write_files(file.parent, {file.name: heads.dumps()})
    return heads


def is_anchor(file: Path) -> bool:
    """Return whether a file is an anchor, by its content."""
    try:
        read(file)
    except InputError:
        return False
    return True


def sign_anchor(file: Path, output: Path, signer: Any, timestamper: Any = None) -> None:
    """Write the signature of an anchor (CMS, detached: what openssl calls ``smime -verify -content``).

    Parameters
    ----------
    file, output : Path
        The anchor, and its signature: `check_anchor` looks for the anchor's name with ``.p7s`` after it.
    signer : SimpleSigner
        Of `signing.load_signer`.
    timestamper : pyhanko TimeStamper, optional
    """
    data = file.read_bytes()
    loads(data, str(file))
    try:
        made = asyncio.run(signer.async_sign_general_data(data, "sha256", timestamper=timestamper))
    except Exception as error:  # the library, the key and the time stamp service can fail in any way
        raise InputError(f"sign: the signature could not be made ({words_of(error)}). Nothing was written.") from error
    write_files(output.parent, {output.name: made.dump()})


def check_anchor(file: Path, trust: Sequence[Path] = ()) -> list[str]:
    """Return what is wrong with the signature beside an anchor; with `trust` there must be one that leads there."""
    beside = _signature(file)
    if not beside.exists():
        return [f"{file.name} has no signature {beside.name} beside it, and --trust asks for one."] if trust else []
    try:
        from asn1crypto.cms import ContentInfo
        from pyhanko.sign.validation import async_validate_detached_cms
        from pyhanko_certvalidator import ValidationContext
    except ImportError as error:
        raise MissingDependencyError("history.anchor", "pyhanko", "sign") from error
    anchors = trusted(trust)
    try:
        signed = ContentInfo.load(beside.read_bytes(), strict=True)["content"]
        context = ValidationContext(trust_roots=anchors, allow_fetching=False)
        status = asyncio.run(async_validate_detached_cms(file.read_bytes(), signed, signer_validation_context=context))
    except Exception as error:  # noqa: BLE001 - a damaged signature can fail in any way in the reader
        return [f"{beside.name} is no signature that can be read ({words_of(error)})."]
    who = clean(status.signing_cert.subject.human_friendly, 200)
    if not (status.intact and status.valid):
        return [f"{beside.name}, of {who}, is not a signature of {file.name}: one of them was changed."]
    if trust and not status.bottom_line:
        return [f"{beside.name} is signed by {who}, who does not lead to a trusted certificate, or whose time is over."]
    return []


def _signature(file: Path) -> Path:
    return file.with_name(file.name + SIGNED)
