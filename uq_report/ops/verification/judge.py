"""Verify a PDF, an HTML file or a run folder against its evidence, its inputs and its signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...core.errors import InputError
from ...evidence.run import Run
from ...evidence.saved import EVIDENCE, evidence_files
from ...report.kinds import KINDS
from .claims import Claim, Verdict, Verification
from .evidence import RUN, judge_files, judge_run, sha256
from .inputs import judge_inputs
from .rendering import Maker, Rendered, judge_rendering, of_ours
from .reports import Report, open_report
from .signatures import judge_signatures

FilePath = str | Path


def verify(
    path: FilePath,
    *,
    run: FilePath | None = None,
    model: FilePath | None = None,
    data: FilePath | None = None,
    train: FilePath | None = None,
    templates: FilePath | None = None,
    trust: Iterable[FilePath] = (),
) -> Verification:
    """Return what is proven of a report, claim by claim; what was not looked at is never passed.

    The evidence is the run.json inside a PDF, in the folder, or beside the report. The report is made again
    from it: equal bytes prove every number and figure. Bytes are promised for equal versions only; where these
    differ, the printed words and numbers are compared.

    Parameters
    ----------
    path : path
        A PDF, an HTML file, or the folder of a run, whose tables are then held against run.json too.
    run : path, optional
        The run.json the report must be made from.
    model, data, train : path, optional
        Files whose SHA-256 the run recorded; else those of the recorded names beside the report.
    templates : path, optional
        The house style the report was made with.
    trust : paths
        Certificates a signer's must lead to.

    Returns
    -------
    Verification
        ``.ok``, ``.failed`` and ``.claims``.

    Raises
    ------
    InputError
        Something cannot be read, or there is no run.json to hold the report against.
    """
    place = Path(path)
    reports = _reports(place)
    folder = place if place.is_dir() else place.parent
    evidence, source = _evidence(place, reports, run)
    recorded = judge_run(evidence, source)
    claims = [Claim(source, *verdict) for verdict in recorded.verdicts]
    if recorded.run is not None:
        maker = Maker(recorded.run, None if templates is None else Path(templates), recorded.format)
        for report in reports:
            claims += [Claim(report.name, *verdict) for verdict in _judge_report(report, maker, evidence, tuple(trust))]
        if place.is_dir():
            claims.append(Claim(EVIDENCE, *_judge_tables(place, recorded.run)))
        inputs = {"model": model, "data": data, "train": train}
        claims += [Claim(source, *verdict) for verdict in judge_inputs(recorded.run, inputs, folder)]
    return Verification(str(path), sha256(evidence), tuple(claims))


def _reports(place: Path) -> list[Report]:
    """Return the report of a file, or all of a folder."""
    if place.is_dir():
        named = {"report", *KINDS}
        return [open_report(file) for file in sorted(place.iterdir()) if file.stem in named and file.is_file()]
    report = open_report(place)
    if report.format == "other":
        raise InputError(
            f"verify.path must be a PDF, an HTML file or the folder of a run; got {str(place)!r}. Name the report."
        )
    return [report]


def _evidence(place: Path, reports: Sequence[Report], named: FilePath | None) -> tuple[bytes, str]:
    """Return the run.json to judge by, and what to call it: the one named, or inside, or in the folder."""
    reason = ""
    if named is None and not place.is_dir():
        try:
            if RUN in reports[0].attachments:
                return reports[0].attachments[RUN], f"{place.name}/{RUN}"
        except InputError as error:
            reason = f": {error}"
    file = Path(named) if named is not None else (place if place.is_dir() else place.parent) / RUN
    try:
        return file.read_bytes(), file.name
    except OSError as error:
        raise InputError(
            f"verify.run must be the run.json of the report; there is none in {str(place)!r}, and {str(file)!r} "
            f"cannot be read ({error.strerror}){reason}. Name it by --run."
        ) from error


def _judge_report(report: Report, maker: Maker, evidence: bytes, trust: Sequence[FilePath]) -> Iterator[Verdict]:
    """Compare one report with its evidence."""
    rendered = maker.like(report)
    yield _printed(report, rendered, sha256(evidence))
    if report.format == "pdf" and rendered is not None:
        yield _judge_attachments(report, rendered, evidence, of_ours(maker.differing))
    signatures = list(judge_signatures(report.data, trust)) if report.has_signature else []
    states = {verdict.state for verdict in signatures if verdict.name.startswith("signature")}
    signed = False if "FAILED" in states else True if states == {"ok"} else None
    yield from judge_rendering(report, rendered, maker.differing, signed=signed)
    yield from signatures


def _printed(report: Report, rendered: Rendered | None, digest: str) -> Verdict:
    """Say whether the report prints the SHA-256 of the evidence."""
    try:
        if rendered is not None and report.data.startswith(rendered.data):
            printed = rendered.document.evidence_sha256 == digest
        else:
            printed = digest in report.text
    except InputError as error:
        return Verdict("evidence", "FAILED", str(error))
    if printed:
        return Verdict("evidence", "ok", f"it is made from run.json of SHA-256 {digest}")
    return Verdict("evidence", "FAILED", f"it does not print the SHA-256 of run.json, {digest}")


def _judge_attachments(report: Report, rendered: Rendered, evidence: bytes, excuse: str) -> Verdict:
    """Compare what travels inside a PDF with the evidence, and what is made from it again if that has no excuse."""
    expected = {attachment.name: attachment.content for attachment in rendered.document.attachments} | {RUN: evidence}
    try:
        excused = excuse if report.attachments.get(RUN) == evidence else ""
        return judge_files(report.attachments, expected, "attachments", excused)
    except InputError as error:
        return Verdict("attachments", "FAILED", str(error))


def _judge_tables(place: Path, run: Run) -> Verdict:
    """Compare evidence/*.csv of a folder with run.json."""
    folder = place / EVIDENCE
    if not folder.is_dir():
        return Verdict("tables", "not judged", "there is no such folder beside the report")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    contents = {file.relative_to(place).as_posix(): file.read_bytes() for file in files}
    return judge_files(contents, evidence_files(run), "tables")
