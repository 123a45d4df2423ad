"""Commands about runs that were filed: list, show, compare, delete."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.support.errors import DONE, VERIFICATION, InputError
from ..core.support.text import clean, count
from .flags import Formats
from .shared import AsJson, HistoryFolder, Quiet, app, print_json, print_line, print_table, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..evidence.run import Run, RunChanges, ValueChange
    from ..ops.history import FiledRun, History

Reference = "A run.json, its folder, or with --history NAME (the latest) or NAME@NUMBER."
NO_CHANGE = "unchanged"
MOST = 7  # lines of changes in a terminal, beside the head, the counts and what is left out


@app.command(epilog="Example: uq-report history credit --history audits/")
def history(  # noqa: PLR0913, PLR0917 - flags
    folder: Annotated[Path, typer.Option("--history", help="Folder of filed runs.")],
    name: Annotated[str | None, typer.Argument(help="Only this audit.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Look for lost or changed files; exit code 5 if any.")] = False,
    anchor: Annotated[
        Path | None, typer.Option(help="File of how far each audit has come: written, or with --check compared.")
    ] = None,
    trust: Annotated[list[Path] | None, typer.Option(help="Certificate the signer of the anchor must lead to.")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="List what retention would delete.")] = False,
    keep: Annotated[int | None, typer.Option(help="With --prune: keep the last so many runs of each audit.")] = None,
    days: Annotated[int | None, typer.Option(help="With --prune: keep runs filed in the last so many days.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --prune: delete them.")] = False,
    as_json: AsJson = False,
) -> None:
    """List filed runs: what was found, and whether anything changed."""
    from ..ops.history import History, Retention

    place = History(folder)
    if trust and not (check and anchor):
        raise InputError("history.trust needs an anchor to check; got none. Give --check and --anchor too.")
    if check:
        _check(place, anchor, trust or (), as_json)
    elif anchor is not None:
        _write_anchor(place, anchor)
    elif prune:
        _prune(place, Retention(keep, days).due(place.runs(name)), yes)
    elif as_json:
        print_json([{**asdict(run.entry), "folder": str(run.folder), "kept": run.present} for run in place.runs(name)])
    else:
        _print_runs(place.runs(name))


@app.command(epilog="Example: uq-report show credit@3 --history audits/")
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help=Reference)],
    folder: HistoryFolder = None,
    as_json: AsJson = False,
) -> None:
    """Show one run: what was audited, every finding, and what changed."""
    done = _load(run, folder)
    if as_json:
        from ..evidence.codec import encode

        print_json(encode(done))
        return
    _print_run(done)
    if done.changes is not None:
        _print_changes(done.changes)


@app.command(epilog="Example: uq-report compare credit@2 credit@3 --history audits/")
def compare(
    first: Annotated[str, typer.Argument(metavar="BEFORE", help=Reference)],
    second: Annotated[str, typer.Argument(metavar="NOW", help=Reference)],
    folder: HistoryFolder = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the report of NOW with these changes.")
    ] = None,
    formats: Formats = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare two runs: recommendation, score and drivers, then in ten lines at most what changed, the worst first."""
    from ..runner import changes as changes_of

    before, now = _load(first, folder), _load(second, folder)
    changes = changes_of(before, now)
    if output is not None:
        from ..api.views import AuditRun

        AuditRun(replace(now, changes=changes)).write_reports(output, formats or ("html", "pdf"))
    if as_json:
        print_json(asdict(changes))
    elif not quiet:
        say("\n".join(_lead(before, now)))
        _print_changes(changes)
        if output is not None:
            say(f"Report in {output}")


def _load(reference: str, folder: Path | None) -> Run:
    """Return a run named by its place or, in a history, by its audit; nothing that draws is imported."""
    from ..evidence import run_folder
    from ..ops.history import History

    return run_folder.read(reference if folder is None else History(folder).find(reference).folder)[0]


def _check(place: History, anchor: Path | None, trust: Sequence[Path], as_json: bool) -> None:
    known, verdicts = None, []
    if anchor is not None:
        from ..ops.anchors import judge_anchor
        from ..ops.history.entry import read_heads

        known, verdicts = read_heads(anchor), judge_anchor(anchor, trust)
    troubles = [verdict.reason for verdict in verdicts if verdict.state == "failed"] + place.check(known)
    page = place.root / "index.html"
    if page.exists():
        from ..ops.overview import check_page

        troubles += check_page(place.root, page)
    if as_json:
        print_line({"exit_code": VERIFICATION if troubles else DONE, "reasons": troubles})
    _end(troubles)
    if as_json:
        return
    compared = "" if known is None else f" All that the anchor {known.sha256} knows is there."
    say(f"Nothing was lost or changed: {count(len(place.runs()), 'run')}, head {place.heads().sha256}.{compared}")
    for verdict in verdicts:
        say(f"{verdict.name.capitalize()} {verdict.state}: {verdict.reason}")


def _write_anchor(place: History, file: Path) -> None:
    """Write an anchor of a history in which nothing is wrong, also by the anchor that it takes the place of."""
    from ..ops.anchors import write_anchor
    from ..ops.history.entry import read_heads

    _end(place.check(read_heads(file) if file.exists() else None))
    heads = write_anchor(place, file)
    say(f"Anchor of {count(len(heads.audits), 'audit')} in {file}, head {heads.sha256}. Keep it elsewhere.")


def _end(troubles: Sequence[str]) -> None:
    for sentence in troubles:
        say(clean(sentence, 500), err=True)
    if troubles:
        raise typer.Exit(VERIFICATION)


def _prune(place: History, due: list[FiledRun], yes: bool) -> None:
    from ..ops.history import delete

    for run in due:
        say(f"{'Deleted' if yes else 'Would delete'}: {clean(run.entry.reference)} of {run.entry.as_of}")
    if yes:
        delete(place, due)
    else:
        say(f"{count(len(due), 'run')} would be deleted; nothing was. Add --yes to delete them.")


def _print_runs(runs: list[FiledRun]) -> None:
    rows = [("RUN", "AS OF", "FILED (UTC)", "RATING", "FINDINGS", "INPUTS", "LABEL")]
    before: dict[str, str] = {}
    for run in runs:
        entry = run.entry
        inputs = _inputs(before.get(entry.name), entry.inputs)
        before[entry.name] = entry.inputs
        counts = ", ".join(f"{number} {name}" for name, number in entry.findings.items()) or "none"
        findings = counts if run.present else "deleted by retention"
        filed = entry.filed_at()
        time = "-" if filed is None else f"{filed:%Y-%m-%d %H:%M}"
        recommendation = clean(entry.recommendation) or "-"
        rows.append((clean(entry.reference), entry.as_of, time, recommendation, findings, inputs, clean(entry.label)))
    print_table(rows)


def _inputs(before: str | None, now: str) -> str:
    """Say whether the inputs are those of the run before; a model without a hash leaves it open."""
    if before is None:
        return "first"
    if not (before and now):
        return "not known"
    return "same" if before == now else "changed"


def _print_run(run: Run) -> None:
    facts = run.subject
    say(f"{clean(facts['label'])}, {run.as_of}: {clean(facts['model_class'])}, {facts['n']} rows")
    rows = [("CHECK", "STATE", "WHY")]
    for outcome in run.outcomes:
        reason = "; ".join(f"{f.code} ({f.severity}) {f.statement}" for f in outcome.findings) or outcome.reason
        rows.append((clean(outcome.check), outcome.state.replace("_", " "), clean(reason)))
    print_table(rows)
    for entry in run.not_run:
        say(f"Not run: {clean(entry.name)}: {clean(entry.reason)}")


def _lead(before: Run, now: Run) -> Iterator[str]:
    """Yield the recommendation, the first score and the leading features of both runs."""
    from ..evidence.outcomes import CalibrationView
    from ..reading.rating import rating
    from ..reading.run_reader import RunReader
    from ..report.answer.section import answer_of
    from ..report.sections.uncertainty import score_name

    first, second = (rating(run.outcomes).text for run in (before, now))
    yield f"Recommendation: {second}" if first == second else f"Recommendation: {first} -> {second}"
    views = [CalibrationView.find(run) for run in (before, now)]
    for score in ("roc_auc", "log_score", "crps", "brier", "interval_score"):
        lines = [view and view.of(score) for view in views]
        if lines[0] and lines[1]:
            name = "AUC" if score == "roc_auc" else score_name(RunReader(now), score)
            yield f"{name}: {lines[0].estimate:.4g} -> {lines[1].estimate:.4g}"
            break
    yield from (f"Now: {text}" for text in answer_of(RunReader(now)).drives)


def _print_changes(changes: RunChanges) -> None:
    """Print what changed in a few lines, the worst first, and how much more there is."""
    say(f"Changes since {clean(changes.previous['label'])} of {clean(changes.previous['as_of'])}")
    say(f"{clean(changes.unrelated)}." if changes.unrelated else _counts(changes))
    lines = [*_lines(changes)]
    for line in lines[:MOST]:
        say(line)
    if len(lines) > MOST:
        say(f"... and {count(len(lines) - MOST, 'further line')}: --json prints all, --output writes the report.")


def _counts(changes: RunChanges) -> str:
    """Say how much changed."""
    moved = sum(finding.change != NO_CHANGE for finding in changes.findings)
    values = sum(value.changed for value in changes.values)
    return (
        f"{moved} findings changed, {len(changes.findings) - moved} unchanged; {values} of {len(changes.values)} "
        f"values changed beyond their interval (Holm's adjustment over all); {len(changes.inputs)} inputs changed."
    )


def _lines(changes: RunChanges) -> Iterator[str]:
    """Yield a line for everything that changed or was not compared, in the order of the changes: worst first."""
    for finding in changes.findings:
        if finding.change != NO_CHANGE:
            about = ", ".join(map(clean, finding.features)) or "the model"
            states = f"{finding.before or 'none'} -> {finding.now or 'none'}"
            yield f"{finding.change.capitalize()}: {finding.code} ({states}), {about}: {clean(finding.title)}"
    yield from (_value(value) for value in changes.values if value.changed)
    yield from (f"Not compared: {clean(sentence)}" for sentence in changes.not_compared)
    for entry in changes.inputs:
        yield f"Input: {clean(entry.what)}: {clean(entry.before) or '(none)'} -> {clean(entry.now) or '(none)'}"


def _value(value: ValueChange) -> str:
    name = " ".join(filter(None, (value.result, value.measure, value.feature)))
    interval = value.interval
    if value.lower is not None:
        interval = f"{value.lower:+.4g} to {value.upper:+.4g}, {interval}"
    return f"Changed: {clean(name)}: {value.before:.4g} -> {value.now:.4g}, {value.difference:+.4g} ({interval})"
