"""Verify a PDF, an HTML file or a run folder against its evidence, its inputs and its signatures.

Nothing passes that was not looked at.
"""

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...core.support.errors import InputError, UQReportError
from ...core.support.text import clean, count, is_sha256
from ...evidence import disk
from ...evidence.disk import CLOCK, EVIDENCE, RUN, file_content
from ...evidence.run import Run
from ...report import NAMES
from . import evidence as judging
from .evidence import Report, State, Verification, VerificationClaim, VerificationVerdict
from .signatures import judge_signatures

for _reader in ("pypdf", "pyhanko", "pyhanko_certvalidator"):  # what they say of a damaged file is said in claims
    logging.getLogger(_reader).addHandler(logging.NullHandler())

__all__ = ["State", "Verification", "VerificationClaim", "verify"]
_FILES = {"model": "model", "data": "data_file", "train": "train_file"}
_TABLES = {"data": ("X", "y"), "train": ("train_X", "train_y")}


def judge_inputs(run: Run, files: Mapping[str, str | Path | None], folder: Path) -> Iterator[VerificationVerdict]:
    """Say of model, data and training data whether they are the ones audited.

    Parameters
    ----------
    run : Run
    files : mapping of str to path
        ``"model"``, ``"data"`` and ``"train"`` as the user named them, None for what was not named.
    folder : Path
        Where recorded file names are looked for.
    """
    for role in _FILES:
        if role != "train" or run.subject.get("has_train") or files.get(role) is not None:
            yield _judge_input(role, run.subject, files.get(role), folder)
    if run.challenger is not None:  # its rows are those of the champion
        yield _judge_input("model", run.challenger.subject, None, folder)._replace(name="challenger model")


def _judge_input(role: str, subject: Mapping[str, Any], named: str | Path | None, folder: Path) -> VerificationVerdict:
    hashes, names = _mapping(subject, "hashes"), _mapping(subject, "sources")
    recorded = str(hashes.get(_FILES[role], ""))
    place = Path(named) if named is not None else _recorded_file(folder, str(names.get(role, "")))
    if place is None:
        listed = recorded or ", ".join(f"{key} {hashes[key]}" for key in _TABLES.get(role, ()) if key in hashes)
        return judging.left_open(role, f"not given; recorded: {listed or 'no hash'}")
    digest = judging.sha256(file_content(place, f"verify.{role} must be a file"))
    if recorded == digest:
        return judging.proven(role, f"{place.name}: SHA-256 {recorded[:16]}…")
    if is_sha256(recorded):
        return judging.failed(role, f"{place.name}: the SHA-256 is {digest}; the run recorded {recorded}")
    if role in _TABLES and hashes.get(_TABLES[role][0]):
        return _judge_table(role, subject, place)
    return judging.left_open(role, f"no hash was recorded ({recorded or 'none'})")


def _judge_table(role: str, subject: Mapping[str, Any], place: Path) -> VerificationVerdict:
    """Compare a file with the hash of rows that were audited in memory; only then what reads tables is loaded."""
    from ...core.support.digest import table_sha256, vector_sha256
    from ...jobs import read_table

    try:
        table, _ = read_table(str(place))
        features = [str(entry["name"]) for entry in subject.get("features", ())]
        rows = table[features]
    except (UQReportError, KeyError) as error:
        return judging.failed(role, f"{place.name} does not hold the audited features: {error}")
    hashes, (of_rows, of_target) = _mapping(subject, "hashes"), _TABLES[role]
    if hashes[of_rows] not in (table_sha256(rows), table_sha256(rows.to_numpy())):
        remark = "the rows were audited in memory, and a file may read back with other types or digits"
        return judging.failed(role, f"the features in {place.name} do not have the recorded hash; {remark}")
    others = (table[name].to_numpy() for name in table.columns if name not in features)
    target = any(vector_sha256(values) == hashes.get(of_target) for values in others)
    rest = "and the target" if target else "the target is not assessed"
    return judging.proven(
        role, f"{place.name}: the features have the recorded hash {str(hashes[of_rows])[:16]}…; {rest}"
    )


def _recorded_file(folder: Path, name: str) -> Path | None:
    """Return the file of a recorded name in a folder; a name is never a path out of it."""
    place = folder / Path(name).name
    return place if name and place.is_file() else None


def _mapping(subject: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = subject.get(key)
    return value if isinstance(value, Mapping) else {}


FilePath = str | Path
_OWN = frozenset({RUN, CLOCK})
_LISTED = f"{disk.SUMS} lists its SHA-256 {{}}…; who forges one can forge both"
NOT_RENDERED = "pages, figures and attached tables were not made again from run.json; --deep does"


def verify(  # noqa: PLR0913 - files and flags
    path: FilePath,
    *,
    run: FilePath | None = None,
    model: FilePath | None = None,
    data: FilePath | None = None,
    train: FilePath | None = None,
    templates: FilePath | None = None,
    trust: Iterable[FilePath] = (),
    require_signature: bool = False,
    deep: bool = False,
) -> Verification:
    """Return what is proven of a report, claim by claim; what was not looked at is never passed.

    The evidence is the run.json inside a PDF, in the folder, or beside the report. It is read, judged, and tied to
    the report: by the copy inside a PDF, by its SHA-256 in other formats. Pages are compared with the hash that
    SHA256SUMS lists of them, which shows damage but not a forger who writes that list too. A run.json that it lists
    is read and held against its schema, and not written again.

    If `deep`, the report is rendered again from the evidence: equal bytes prove every number and figure. Bytes are
    equal for equal versions only; with other versions a report of other bytes cannot be assessed.

    Parameters
    ----------
    path : path
        A PDF, an HTML file, or the folder of a run, whose tables are then held against run.json too.
    run : path, optional
        The run.json the report must be made from.
    model, data, train : path, optional
        Files whose SHA-256 the run recorded; else those of the recorded names beside the report.
    templates : path, optional
        The theme the report was made with.
    trust : paths
        Certificates a signer's must lead to; a report without a signature then fails.
    require_signature : bool, default=False
        A report without a signature fails, whoever signed.
    deep : bool, default=False
        Make the report again, which costs what making it did.

    Returns
    -------
    Verification
        ``.outcome``, ``.ok``, ``.failed`` and ``.claims``.

    Raises
    ------
    InputError
        Something cannot be read, or there is no run.json to hold the report against.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/howto/sign.html

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from uq_report.api.auditing import audit
    >>> from uq_report.testing import linear_subject
    >>> done = audit(linear_subject(60), explainers="redundancy", checks=(), progress=False)
    >>> with TemporaryDirectory() as folder:
    ...     sorted({claim.state for claim in verify(done.write(folder, formats="markdown")).claims})
    ['not assessed', 'verified']
    """
    place, anchors = Path(path), tuple(trust)
    folder = place if place.is_dir() else place.parent
    listed, required = disk.loads(folder), require_signature or bool(anchors)
    reports = _reports(place, listed)
    try:
        evidence, source = _evidence(place, reports, run)
        digest = judging.sha256(evidence)
        known = "" if deep or listed.get(RUN) != digest else _LISTED.format(digest[:16])
        recorded, verdicts = judging.judge_run(evidence, source, known=known)
    except InputError as error:
        signed = [report for report in reports if report.has_signature]
        if run is not None or not signed:
            raise
        return Verification(str(path), "", tuple(_without_evidence(signed, anchors, str(error))))
    claims = [verdict.of(source) for verdict in verdicts]
    if disk.is_damaged(folder):
        claims.append(judging.failed("hash", "it is damaged: no hash can be read from it").of(disk.SUMS))
    if recorded is not None:
        listing = partial(_compare_listed, digest=digest, listed=listed)
        compare: Callable[..., Iterator[VerificationVerdict]] = _remaker(recorded, templates) if deep else listing
        for report in reports:
            signatures = list(_signatures(report, recorded, anchors, required))
            verdicts = [
                *compare(report, evidence, signatures),
                *_judge_hash(report, listed, digest, deep=deep),
                *signatures,
            ]
            claims += [verdict.of(report.name) for verdict in verdicts]
        if required and not any(report.format == "pdf" for report in reports):
            lacking = "one is asked for, and only a PDF can have one"
            claims.append(judging.failed("signature", lacking).of(str(path)))
        if place.is_dir():
            own = {RUN} if known and run is None else set()
            claims += _lost(place, listed, own | {report.name for report in reports})
            claims.append(_judge_tables(place, recorded, listed, deep=deep).of(EVIDENCE))
        inputs = {"model": model, "data": data, "train": train}
        claims += [verdict.of(source) for verdict in judge_inputs(recorded, inputs, folder)]
    return Verification(str(path), digest, tuple(claims))


def _reports(place: Path, listed: Mapping[str, str]) -> list[Report]:
    """Return the report of a file, or all of a folder: those of usual names, and PDF and HTML files that are listed."""
    if place.is_dir():
        named = {"report", *NAMES}
        files = [file for file in sorted(place.iterdir()) if file.stem in named or file.name in listed]
        opened = [judging.open_report(file) for file in files if file.is_file() and file.name not in _OWN]
        return [report for report in opened if report.format != "other" or report.path.stem in named]
    report = judging.open_report(place)
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


def _without_evidence(signed: Sequence[Report], trust: Sequence[FilePath], reason: str) -> Iterator[VerificationClaim]:
    """Say that what was signed holds no evidence that can be read, and what its signatures say of that."""
    for report in signed:
        verdicts = judging.failed("evidence", reason), *judge_signatures(report.data, trust)
        yield from (verdict.of(report.name) for verdict in verdicts)


def _remaker(run: Run, templates: FilePath | None) -> Callable[..., Iterator[VerificationVerdict]]:
    """Return what compares a report with the one made again: what that takes is loaded here, and not to read hashes."""
    from .rendering import Maker, compare

    return partial(compare, Maker(run, None if templates is None else Path(templates)))


def _compare_listed(
    report: Report, evidence: bytes, _: Sequence[VerificationVerdict], *, digest: str, listed: Mapping[str, str]
) -> Iterator[VerificationVerdict]:
    """Tie one report to its evidence, of SHA-256 `digest`, and its listed hash, and say that it was not made again."""
    if report.format != "pdf":
        yield judging.printed(report, digest)
    elif listed.get(report.name) == report.sha256 and listed.get(RUN) == digest:
        yield judging.proven("evidence", f"{disk.SUMS} lists it as made from run.json of SHA-256 {listed[RUN]}")
    else:
        yield judging.inside(report, evidence)
    yield judging.left_open("rendering", NOT_RENDERED)


def _judge_hash(
    report: Report, listed: Mapping[str, str], evidence: str, *, deep: bool
) -> Iterator[VerificationVerdict]:
    """Compare a report with its listed hash; made again, it needs none, but a list that has one must be right.

    A list of the run with the SHA-256 `evidence` names every report of it, except copies that were signed later.
    """
    digest, recorded = report.sha256, listed.get(report.name)
    others = [name for name, one in listed.items() if one == digest and name != report.name]
    if recorded == digest:
        yield judging.proven("hash", _LISTED.format(digest[:16]))
    elif recorded is not None and others and not report.has_signature:
        yield judging.failed(
            "hash", f"its signature was cut off: it is {others[0]} again, and {disk.SUMS} lists other bytes"
        )
    elif recorded is not None:
        yield judging.failed("hash", f"its SHA-256 is {digest}; {disk.SUMS} lists {recorded}")
    elif listed.get(RUN) == evidence and not deep and not report.has_signature:
        yield judging.failed("hash", f"{disk.SUMS} lists the files of this run, and not it; its SHA-256 is {digest}")
    elif not deep:
        yield judging.left_open("hash", f"no {disk.SUMS} lists it; its SHA-256 is {digest}")


def _signatures(report: Report, run: Run, trust: Sequence[FilePath], required: bool) -> Iterator[VerificationVerdict]:
    """Judge the signatures of a report; say so if there must be one and is none, or run.json names more of them."""
    verdicts = list(judge_signatures(report.data, trust, required=required)) if report.has_signature else []
    yield from verdicts
    if report.format != "pdf":
        return
    if required and not verdicts:
        yield judging.failed("signature", "there is none, and one is asked for")
    if names := _signers(run):
        missing = [name for name in names if f"signature {name}" not in {verdict.name for verdict in verdicts}]
        lost = f"it lacks {', '.join(missing)}, which run.json names: not signed yet, or the signature was cut off"
        state: State = "verified" if not missing else "failed" if required else "not assessed"
        borne = f"it bears {', '.join(names)}, which run.json names"
        yield VerificationVerdict("signers", state, lost if missing else borne)


def _signers(run: Run) -> list[str]:
    """Return the signatures that run.json names, as verdicts call them."""
    named = str(_mapping(run.settings, "about").get("signers", ""))
    return [repr(clean(name.strip(), 60)) for name in named.split(",") if name.strip()]


def _lost(place: Path, listed: Mapping[str, str], judged: Container[str]) -> Iterator[VerificationClaim]:
    """Say which listed files of a folder are gone or others; those `judged` and tables are not looked at again."""
    for name in (name for name in listed if "/" not in name and name not in judged):
        if not (place / name).is_file():
            yield judging.failed("hash", f"it is missing; {disk.SUMS} lists it").of(name)
        elif not disk.match(place, listed, [name]):
            yield judging.failed("hash", f"it is not as {disk.SUMS} lists it").of(name)


def _judge_tables(place: Path, run: Run, listed: Mapping[str, str], *, deep: bool) -> VerificationVerdict:
    """Compare evidence/*.csv of a folder with their listed hashes; with those made again if none is listed, or deep."""
    folder = place / EVIDENCE
    known = {name: digest for name, digest in listed.items() if name.startswith(f"{EVIDENCE}/")}
    if not folder.is_dir() and not known:
        return judging.left_open("tables", "there is no such folder beside the report")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    contents = {file.relative_to(place).as_posix(): file.read_bytes() for file in files}
    if deep or not known:
        from ...evidence.run_folder import evidence_files

        return judging.judge_files(contents, evidence_files(run), "tables")
    found = disk.hashes(contents)
    wrong = sorted(name for name in {*found, *known} if found.get(name) != known.get(name))
    if wrong:
        return judging.failed("tables", f"{wrong[0]} is not as {disk.SUMS} lists it; {count(len(wrong), 'fault')}")
    return judging.proven("tables", f"{len(found)} files have the SHA-256 that {disk.SUMS} lists")
