"""A small report as it is written, and keys made on the spot, for the tests of verifying and signing."""

from __future__ import annotations

import platform
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from uq_report.api.views import AuditRun
from uq_report.evidence import codec
from uq_report.evidence.run import Run
from uq_report.runner import plugins

from . import store_runs

PASSPHRASE = "correct horse"


def run(status: str = "final", **changed: Any) -> Run:
    """Return a run with one result, recorded in the environment of this test."""
    environment = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        **plugins.versions(["uq_report"]),
    }
    made = store_runs.run()
    base = replace(
        made,
        results=(codec.as_saved(made.results[0]),),
        environment=environment,
        settings={"seed": 0, "about": {"status": status, "title": "Audit of a small model"}},
    )
    return replace(base, **changed)


def write(folder: Path, made: Run | None = None) -> Path:
    """Write the run's folder with its brief, which is quicker to read than the audit, in both formats."""
    return AuditRun(made or run()).write(folder, template="brief")


class Keys:
    """A certificate authority and what it issues, as PEM files in a folder."""

    def __init__(self, folder: Path) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = self._named("Test authority")
        self.authority = self._save("ca.pem", self._issue(self._name, self._key.public_key(), authority=True))

    def issue(self, name: str, *, days: int = 30, signing: bool = True, rsa: bool = False) -> tuple[Path, Path]:
        """Return the files of a new encrypted key and its certificate."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec, rsa as rsa_

        key: Any = rsa_.generate_private_key(65537, 2048) if rsa else ec.generate_private_key(ec.SECP256R1())
        content = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(PASSPHRASE.encode()),
        )
        place = self.folder / f"{name}.key"
        place.write_bytes(content)
        certificate = self._issue(self._named(name), key.public_key(), days=days, signing=signing, stamping=rsa)
        return place, self._save(f"{name}.pem", certificate)

    def no_certificates(self) -> list[Path]:
        """Return files that are taken for certificates and hold none: a key, a request, and a list of revoked ones."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        now, pem = datetime.now(UTC), Encoding.PEM
        request = x509.CertificateSigningRequestBuilder().subject_name(self._name).sign(self._key, hashes.SHA256())
        revoked = x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now).next_update(now)
        contents = {
            "plain.key": self._key.private_bytes(pem, PrivateFormat.PKCS8, NoEncryption()),
            "request.pem": request.public_bytes(pem),
            "request.der": request.public_bytes(Encoding.DER),
            "revoked.pem": revoked.sign(self._key, hashes.SHA256()).public_bytes(pem),
        }
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)
        return [self.folder / name for name in contents]

    def _issue(
        self,
        name: Any,
        key: Any,
        *,
        days: int = 30,
        authority: bool = False,
        signing: bool = True,
        stamping: bool = False,
    ) -> Any:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        now = datetime.now(UTC)
        usage = x509.KeyUsage(
            digital_signature=True, content_commitment=signing, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=authority, crl_sign=authority, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=40))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(usage, critical=True)
        )
        if stamping:
            only = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.TIME_STAMPING])
            builder = builder.add_extension(only, critical=True)
        return builder.sign(self._key, hashes.SHA256())

    def _named(self, name: str) -> Any:
        from cryptography import x509

        return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])

    def _save(self, file: str, certificate: Any) -> Path:
        from cryptography.hazmat.primitives import serialization

        place = self.folder / file
        place.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return place
