"""What a verification says: one claim per thing looked at, and never a pass by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

State = Literal["ok", "FAILED", "not judged", "fault"]
Outcome = Literal["verified", "failed", "could not be judged"]
_HEADS: Mapping[Outcome, str] = {
    "verified": "Verified",
    "failed": "NOT verified",
    "could not be judged": "Could not be judged",
}


class VerificationVerdict(NamedTuple):
    """What is to be said of one thing, in whatever file."""

    name: str
    state: State
    reason: str


@dataclass(frozen=True)
class VerificationClaim:
    """One thing looked at in one file, always with the reason.

    It is proven, disproven, not judged because nobody asked for it or gave what it needs, or a fault: it was to be
    judged and could not be, which says nothing of the report.

    Examples
    --------
    >>> print(VerificationClaim("report.html", "bytes", "ok", "the report renders to the same 812 bytes"))
    ok          report.html: bytes: the report renders to the same 812 bytes
    """

    file: str
    name: str
    state: State
    reason: str

    def __str__(self) -> str:
        """Return the claim as one line."""
        return f"{self.state:<10}  {self.file}: {self.name}: {self.reason}"


@dataclass(frozen=True)
class Verification:
    """What is proven of a report, PDF, HTML or run folder.

    Parameters
    ----------
    path : str
        What was verified.
    run_sha256 : str
        Of the run.json everything was compared with.
    claims : tuple of Claim
    """

    path: str
    run_sha256: str
    claims: tuple[VerificationClaim, ...]

    @property
    def failed(self) -> tuple[VerificationClaim, ...]:
        """The claims that are disproven."""
        return tuple(claim for claim in self.claims if claim.state == "FAILED")

    @property
    def outcome(self) -> Outcome:
        """Verified: nothing failed, nothing that was to be judged is open, and the evidence itself is proven."""
        if not self.failed and any(claim.state == "fault" for claim in self.claims):
            return "could not be judged"
        proven = any(claim.name == "evidence" and claim.state == "ok" for claim in self.claims)
        return "verified" if proven and not self.failed else "failed"

    @property
    def ok(self) -> bool:
        """Whether the outcome is `verified`; claims that nobody asked for may still be open."""
        return self.outcome == "verified"

    @property
    def summary(self) -> str:
        """The outcome in a line."""
        counts = {state: sum(claim.state == state for claim in self.claims) for state in get_args(State)}
        if not counts["fault"]:
            del counts["fault"]
        listed = ", ".join(f"{number} {state}" for state, number in counts.items())
        return f"{_HEADS[self.outcome]}: {listed}; run.json {self.run_sha256}"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values, for programs."""
        return {
            "ok": self.ok,
            "outcome": self.outcome,
            **asdict(self),
            "claims": [asdict(claim) for claim in self.claims],
        }
