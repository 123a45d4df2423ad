"""What a verification says: one claim per thing looked at, and never a pass by default."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

State = Literal["ok", "FAILED", "not judged"]


class Verdict(NamedTuple):
    """What is to be said of one thing, in whatever file."""

    name: str
    state: State
    reason: str


@dataclass(frozen=True)
class Claim:
    """One thing looked at in one file: proven, disproven, or not judged; always with the reason.

    Examples
    --------
    >>> print(Claim("report.html", "bytes", "ok", "the report renders to the same 812 bytes"))
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
    claims: tuple[Claim, ...]

    @property
    def failed(self) -> tuple[Claim, ...]:
        """The claims that are disproven."""
        return tuple(claim for claim in self.claims if claim.state == "FAILED")

    @property
    def ok(self) -> bool:
        """Whether nothing failed, and the evidence itself is proven; claims may still be open."""
        return not self.failed and any(c.name == "evidence" and c.state == "ok" for c in self.claims)

    @property
    def summary(self) -> str:
        """The outcome in a line."""
        counts = [sum(claim.state == state for claim in self.claims) for state in ("ok", "FAILED", "not judged")]
        head = "Verified" if self.ok else "NOT verified"
        return f"{head}: {counts[0]} ok, {counts[1]} FAILED, {counts[2]} not judged; run.json {self.run_sha256}"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values, for programs."""
        return {"ok": self.ok, **asdict(self), "claims": [asdict(claim) for claim in self.claims]}
