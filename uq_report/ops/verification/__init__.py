"""Is a report what its evidence says, and the evidence what was audited? Nothing passes that was not looked at."""

from .claims import Claim, State, Verification
from .judge import verify

__all__ = ["Claim", "State", "Verification", "verify"]
