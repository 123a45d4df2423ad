"""Sign a PDF report: PAdES with pyHanko, as one more revision, so that the file still starts with the unsigned bytes.

The signature is invisible and certifies how the file may still change; PDF/A-3a and PDF/UA-1 are both kept. Only a
report that verifies is signed, and a draft only if that is said.
"""

import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ..core.support.errors import InputError, MissingDependencyError, check_options, words_of
from ..evidence.codec import loads
from ..evidence.disk import RUN, file_content
from ..evidence.run_folder import write_listed
from .history.entry import ENTRY
from .verification import verify
from .verification.evidence import Report, open_report, sha256
from .verification.signatures import certificates_in, judge_signatures

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from pyhanko.keys import load_private_key_from_pemder_data
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
    from pyhanko.pdf_utils.reader import PdfFileReader
    from pyhanko.sign import PdfSignatureMetadata, PdfSigner, SimpleSigner
    from pyhanko.sign.fields import InvisSigSettings, MDPPerm, SigFieldSpec, SigSeedSubFilter
    from pyhanko.sign.timestamps import HTTPTimeStamper
    from pyhanko_certvalidator.registry import SimpleCertificateStore
except ImportError as error:
    raise MissingDependencyError("sign", "pyhanko", "sign") from error

LEAST_BITS = 2048  # of an RSA key
LEVELS: Mapping[str, MDPPerm | None] = {
    "no-changes": MDPPerm.NO_CHANGES,
    "fill-forms": MDPPerm.FILL_FORMS,
    "approval": None,
}


@dataclass(frozen=True)
class SignatureTerms:
    """What a signature says.

    Parameters
    ----------
    field : str
        Its name in the file, one of its own for each signer: ``"Validator"``.
    reason : str
    certify : {"no-changes", "fill-forms", "approval"}
        The first signature certifies what may follow: nothing, or form filling and further signatures. Any later
        one is an approval, which the first must allow: it was ``"fill-forms"`` or an approval itself.
    timestamp_url : str
        An RFC 3161 service, for PAdES B-T; without it, B-B, the time is the signer's word.
    draft : bool
        Sign a report whose status is not ``"final"``.
    """

    field: str = "Signature"
    reason: str = ""
    certify: Literal["no-changes", "fill-forms", "approval"] = "no-changes"
    timestamp_url: str = ""
    draft: bool = False

    def __post_init__(self) -> None:
        url = self.timestamp_url
        rules = (
            ("field", bool(self.field.strip()) and "." not in self.field, "a name without dots"),
            ("certify", self.certify in LEVELS, f"one of {', '.join(LEVELS)}"),
            ("timestamp_url", not url or url.startswith(("https://", "http://")), "an address of http or https"),
        )
        check_options("sign", self, rules)


@dataclass(frozen=True)
class Signed:
    """A signed report: where it is, and the unsigned part it starts with."""

    path: Path
    unsigned_bytes: int
    unsigned_sha256: str


def load_signer(
    key: str | Path, certificate: str | Path, chain: Sequence[str | Path] = (), passphrase: str | None = None
) -> SimpleSigner:
    """Return who signs: a private key and its certificate, both looked at before anything is signed.

    Parameters
    ----------
    key, certificate : path
        PEM or DER.
    chain : paths
        Certificates between the signer's and a root, embedded for those who verify.
    passphrase : str, optional
        Of the key.

    Raises
    ------
    InputError
        A file cannot be read, the passphrase is wrong, the key is not the certificate's, or the certificate does
        not hold today or is not meant for signing.
    """
    private = _private_key(_read(key, "key"), passphrase)
    loaded = certificates_in(certificate, "sign.certificate")
    if len(loaded) != 1:
        raise InputError(
            f"sign.certificate must be the signer's alone; got {len(loaded)}. Put the others in the chain."
        )
    signing = loaded[0]
    own = x509.load_der_x509_certificate(signing.dump())
    _check_validity(own)
    _check_strength(own)
    _check_usage(own, Path(key), Path(certificate))
    if _public(serialization.load_der_private_key(private.dump(), None).public_key()) != _public(own.public_key()):
        raise InputError("sign.key must be that of the certificate; got another. Name the two that belong together.")
    others = [certificate for file in chain for certificate in certificates_in(file, "sign.chain")]
    return SimpleSigner(signing, private, SimpleCertificateStore.from_certs(others), embed_roots=False)


def is_encrypted(key: str | Path) -> bool:
    """Return whether a private key asks for a passphrase."""
    data = _read(key, "key")
    try:
        load_private_key_from_pemder_data(data, None)
    except (TypeError, ValueError) as error:  # a file that is no key is refused when it is loaded
        return isinstance(error, TypeError)
    return False


def sign(
    report: str | Path,
    output: str | Path,
    signer: SimpleSigner,
    terms: SignatureTerms | None = None,
    *,
    templates: str | Path | None = None,
    timestamper: Any = None,
) -> Signed:
    """Sign a report that verifies; the signed file is put in place whole or not at all.

    Parameters
    ----------
    report, output : path
        The PDF, and the signed one.
    signer : SimpleSigner
        Of `load_signer`.
    terms : Terms, optional
    templates : path, optional
        The theme the report was made with.
    timestamper : pyhanko TimeStamper, optional
        Instead of the service at ``terms.timestamp_url``.

    Raises
    ------
    InputError
        The report does not verify, is a draft, or may not be signed again; the time stamp service fails; or the
        signed file would be one more in a filed run.
    """
    terms = terms or SignatureTerms()
    source, target = Path(report), Path(output)
    if target.resolve() == source.resolve():
        raise InputError("sign.output must be another file than the report; got the same. Keep the unsigned one.")
    if (target.parent / ENTRY).is_file():
        raise InputError(
            f"sign.output must not lie in a run of a history, whose files stay as they were filed; got {target.name} "
            "there. Write it elsewhere; `about.signers` of the audit says who is to sign."
        )
    opened = open_report(source)
    _check_report(opened, terms, templates)
    _check_room(opened.data, terms)
    data = _signed(opened.data, signer, terms, timestamper)
    faults = [verdict.of(target.name) for verdict in judge_signatures(data) if verdict.state == "failed"]
    if faults or not data.startswith(opened.data):
        raise InputError(
            f"sign.output must verify; got {faults[0] if faults else 'changed bytes'}. Nothing was written."
        )
    write_listed(target.parent, {target.name: data}, opened.attachments[RUN])
    return Signed(target, len(opened.data), sha256(opened.data))


def _check_report(report: Report, terms: SignatureTerms, templates: str | Path | None) -> None:
    """Refuse what is no report, does not verify, or is a draft."""
    must = "sign.report must be a PDF report with its evidence inside"
    if report.format != "pdf" or RUN not in report.attachments:
        raise InputError(f"{must}; got {report.name!r}.")
    try:
        about = loads(report.attachments[RUN], RUN).settings.get("about")
    except InputError as error:
        raise InputError(f"{must}; got {report.name!r}, of which {error}") from error
    status = about.get("status", "") if isinstance(about, Mapping) else ""
    if status != "final" and not terms.draft:
        raise InputError(
            f"sign.report must have the status 'final'; got {status or 'none'!r}. Make it with "
            "--set about.status=final, in Python about={'status': 'final'}, or sign it as a draft by --draft."
        )
    verified = verify(report.path, templates=templates, deep=True)
    if not verified.ok:
        wrong = [*verified.failed, *(claim for claim in verified.claims if claim.state == "error"), "no evidence"]
        raise InputError(f"sign.report must verify; got {wrong[0]}. Nothing was signed.")


def _check_room(data: bytes, terms: SignatureTerms) -> None:
    """Refuse a further signature that the ones before do not allow."""
    earlier = list(PdfFileReader(io.BytesIO(data)).embedded_signatures)
    if terms.field in [signature.field_name for signature in earlier]:
        raise InputError(f"sign.field must be a name of its own; got {terms.field!r} again. Name another.")
    if any(signature.docmdp_level == MDPPerm.NO_CHANGES for signature in earlier):
        raise InputError(
            "sign.report must allow another signature; the first one certifies that nothing may follow. "
            "Let the first signer use --certify fill-forms."
        )
    if earlier and terms.certify != "approval":
        raise InputError(
            f"sign.certify must be 'approval' for all but the first signature; got {terms.certify!r}. "
            "Only the first can certify."
        )


def _signed(data: bytes, signer: SimpleSigner, terms: SignatureTerms, timestamper: Any) -> bytes:
    level = LEVELS[terms.certify]
    meta = PdfSignatureMetadata(
        field_name=terms.field,
        md_algorithm="sha256",
        subfilter=SigSeedSubFilter.PADES,
        reason=terms.reason or None,
        certify=level is not None,
        docmdp_permissions=level or MDPPerm.FILL_FORMS,
    )
    stamps = timestamper or stamper(terms)
    # PDF/UA-1 exempts a widget without tags only outside of the page; PDF/A-3 forbids hiding it.
    outside = InvisSigSettings(box_out_of_bounds=True)
    name = f"Signature: {terms.field}"
    field = SigFieldSpec(terms.field, readable_field_name=name, invis_sig_settings=outside)
    pdf = IncrementalPdfFileWriter(io.BytesIO(data))
    try:
        out = PdfSigner(meta, signer=signer, timestamper=stamps, new_field_spec=field).sign_pdf(pdf)
    except Exception as error:  # the library, the key and the time stamp service can fail in any way
        where = f"; time stamps are asked of {terms.timestamp_url}" if terms.timestamp_url else ""
        raise InputError(
            f"sign: the signature could not be made ({words_of(error)}){where}. Nothing was written."
        ) from error
    return bytes(out.getvalue())


def stamper(terms: SignatureTerms) -> HTTPTimeStamper | None:
    """Return the time stamp service of a signature, if it has one."""
    return HTTPTimeStamper(terms.timestamp_url) if terms.timestamp_url else None


def _private_key(data: bytes, passphrase: str | None) -> Any:
    """Return a private key, or say what is wrong with it or its passphrase; never what either is."""
    try:
        return load_private_key_from_pemder_data(data, None if passphrase is None else passphrase.encode())
    except TypeError as error:
        need = "a passphrase" if passphrase is None else "no passphrase; it is not encrypted"
        raise InputError(f"sign.key needs {need}. Set UQ_REPORT_KEY_PASSPHRASE or type it when asked.") from error
    except ValueError as error:
        remedy = "Check the file." if passphrase is None else "Check the passphrase."
        raise InputError(
            f"sign.key must be a private key in PEM or DER that opens; got one that does not. {remedy}"
        ) from error


def _check_validity(certificate: x509.Certificate) -> None:
    """Refuse a certificate that does not hold today."""
    now = datetime.now(UTC)
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not first <= now <= last:
        span = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
        raise InputError(f"sign.certificate must hold today; got one from {span}. Ask for a new one.")


def _check_usage(certificate: x509.Certificate, key: Path, file: Path) -> None:
    """Refuse a certificate for something else than signing, and show the command that makes one for it."""
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        usage = None
    if usage is None or not usage.content_commitment:
        raise InputError(
            "sign.certificate must have the key usage non-repudiation (contentCommitment); got one without. "
            "Ask your authority for one for signing documents, or make one that nobody but you vouches for: "
            f"{_making(certificate, key, file)}"
        )


def _making(certificate: x509.Certificate, key: Path, file: Path) -> str:
    """Return the command that makes a self-signed certificate of the same key and name, with the usage it needs."""
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    name = re.sub(r"([\\/+=])", r"\\\1", str(names[0].value)) if names else "Signer"
    return shlex.join([
        "openssl", "req", "-x509", "-new", "-key", str(key), "-subj", f"/CN={name}", "-utf8", "-days", "365",
        "-addext", "keyUsage=critical,nonRepudiation", "-out", str(file.with_name(f"{file.stem}-signing.pem")),
    ])  # fmt: skip


def _check_strength(certificate: x509.Certificate) -> None:
    """Refuse an RSA key that is too short for anybody to trust it."""
    bits = getattr(certificate.public_key(), "key_size", LEAST_BITS)
    if isinstance(certificate.public_key(), RSAPublicKey) and bits < LEAST_BITS:
        raise InputError(
            f"sign.certificate must have an RSA key of at least {LEAST_BITS} bits; got {bits}. Ask for a new one."
        )


def _public(key: Any) -> bytes:
    return bytes(key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))


def _read(file: str | Path, what: str) -> bytes:
    return file_content(file, f"sign.{what} must be a file")
