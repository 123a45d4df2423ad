"""Is a report what its evidence says, and the evidence what was audited? Nothing passes that was not looked at."""

import logging

from .evidence import State, Verification, VerificationClaim
from .judge import verify

for _reader in ("pypdf", "pyhanko", "pyhanko_certvalidator"):  # what they say of a damaged file is said in claims
    logging.getLogger(_reader).addHandler(logging.NullHandler())

__all__ = ["State", "Verification", "VerificationClaim", "verify"]
