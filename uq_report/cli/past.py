"""Commands about runs that were filed: list, show, compare, delete."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.text import clean, count
from ..ops.exit_codes import VERIFICATION
from .shared import AsJson, Formats, HistoryFolder, Quiet, app, errors_reported, print_json, print_table, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..evidence.run import Changes, FindingChange, Run, ValueChange
    from ..ops.history import Filed, History

Reference = "A run.json, its folder, or with --history NAME (the latest) or NAME@NUMBER."
NO_CHANGE = "unchanged"
MOST = 7  # lines of changes in a terminal, beside the head, the counts and what is left out


@app.command()
def history(  # noqa: PLR0913, PLR0917 - flags
    folder: Annotated[Path, typer.Option("--history", help="Folder of filed runs.")],
    name: Annotated[str | None, typer.Argument(help="Only this audit.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Look for lost or changed files; exit code 5 if any.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="List what retention would delete.")] = False,
    keep: Annotated[int | None, typer.Option(help="With --prune: keep the last so many runs of each audit.")] = None,
    days: Annotated[int | None, typer.Option(help="With --prune: keep runs filed in the last so many days.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --prune: delete them.")] = False,
    as_json: AsJson = False,
) -> None:
    """List filed runs: what was found, and whether anything changed."""
    with errors_reported():
        from ..ops.history import History

        place = History(folder)
        if check:
            _check(place)
        elif prune:
            _prune(place, name, keep, days, yes)
        elif as_json:
            print_json([_told(one) for one in place.runs(name)])
        else:
            _print_runs(place.runs(name))


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help=Reference)],
    folder: HistoryFolder = None,
    as_json: AsJson = False,
) -> None:
    """Show one run: what was audited, every finding, and what changed."""
    with errors_reported():
        done = _load(run, folder)
        if as_json:
            from ..evidence.codec import encode

            print_json(encode(done))
            return
        _print_run(done)
        if done.changes is not None:
            _print_changes(done.changes)


@app.command()
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
    """Say in ten lines what changed from one run to another, the worst first: findings, values, inputs."""
    with errors_reported():
        from ..runner import changes

        before, now = _load(first, folder), _load(second, folder)
        found = changes(before, now)
        if output is not None:
            _write(replace(now, changes=found), output, formats)
        if as_json:
            print_json(asdict(found))
        elif not quiet:
            _print_changes(found)
            if output is not None:
                say(f"Report in {output}")


def _load(reference: str, folder: Path | None) -> Run:
    """Return a run named by its place or, in a history, by its audit; nothing that draws is imported."""
    from ..evidence import saved
    from ..ops.history import History

    return saved.read(reference if folder is None else History(folder).find(reference).folder)[0]


def _write(run: Run, output: Path, formats: list[str] | None) -> None:
    from ..api.views import AuditRun

    AuditRun(run).write_reports(output, formats or ("html", "pdf"))


def _check(place: History) -> None:
    troubles = place.check()
    for sentence in troubles:
        say(clean(sentence), err=True)
    if troubles:
        raise typer.Exit(VERIFICATION)
    say(f"Nothing was lost or changed: {count(len(place.runs()), 'run')}.")


def _prune(place: History, name: str | None, keep: int | None, days: int | None, yes: bool) -> None:
    from ..ops.history import Retention, delete

    due = Retention(keep, days).due(place.runs(name))
    for one in due:
        say(f"{'Deleted' if yes else 'Would delete'}: {clean(one.entry.reference)} of {one.entry.as_of}")
    if yes:
        delete(place, due)
    else:
        say(f"{count(len(due), 'run')} would be deleted; nothing was. Add --yes to delete them.")


def _told(one: Filed) -> dict[str, Any]:
    return {**asdict(one.entry), "folder": str(one.folder), "kept": one.present}


def _print_runs(runs: list[Filed]) -> None:
    rows = [("RUN", "AS OF", "LABEL", "FINDINGS", "INPUTS")]
    before: dict[str, str] = {}
    for one in runs:
        entry = one.entry
        inputs = _inputs(before.get(entry.name), entry.inputs)
        before[entry.name] = entry.inputs
        found = _counts(entry.findings) if one.present else "deleted by retention"
        rows.append((clean(entry.reference), entry.as_of, clean(entry.label), found, inputs))
    print_table(rows)


def _inputs(before: str | None, now: str) -> str:
    """Say whether the inputs are those of the run before; a model without a hash leaves it open."""
    if before is None:
        return "first"
    if not (before and now):
        return "not known"
    return "same" if before == now else "changed"


def _counts(found: Any) -> str:
    """Return counts as words."""
    return ", ".join(f"{number} {name}" for name, number in found.items()) or "none"


def _print_run(done: Run) -> None:
    facts = done.subject
    say(f"{clean(facts['label'])}, {done.as_of}: {clean(facts['model_class'])}, {facts['n']} rows")
    rows = [("CHECK", "STATE", "WHY")]
    for outcome in done.outcomes:
        reason = "; ".join(f"{f.code} ({f.severity}) {f.statement}" for f in outcome.findings) or outcome.reason
        rows.append((clean(outcome.check), outcome.state.replace("_", " "), clean(reason)))
    print_table(rows)
    for entry in done.not_run:
        say(f"Not run: {clean(entry.name)}: {clean(entry.reason)}")


def _print_changes(found: Changes) -> None:
    """Print what changed in a few lines, the worst first, and how much more there is."""
    say(f"Changes since {clean(found.previous['label'])} of {clean(found.previous['as_of'])}")
    say(f"{clean(found.unrelated)}." if found.unrelated else _counted(found))
    lines = [*_changed(found)]
    for line in lines[:MOST]:
        say(line)
    if len(lines) > MOST:
        say(f"... and {count(len(lines) - MOST, 'further line')}: --json prints all, --output writes the report.")


def _counted(found: Changes) -> str:
    """Say how much changed."""
    moved = sum(one.change != NO_CHANGE for one in found.findings)
    values = sum(one.changed for one in found.values)
    return (
        f"{moved} findings changed, {len(found.findings) - moved} unchanged; {values} of {len(found.values)} values "
        f"changed beyond their interval (Holm's adjustment over all); {len(found.inputs)} inputs changed."
    )


def _changed(found: Changes) -> Iterator[str]:
    """Yield a line for everything that changed or was not compared, in the order of the changes: worst first."""
    yield from (_finding(one) for one in found.findings if one.change != NO_CHANGE)
    yield from (_value(one) for one in found.values if one.changed)
    yield from (f"Not compared: {clean(sentence)}" for sentence in found.not_compared)
    for one in found.inputs:
        yield f"Input: {clean(one.what)}: {clean(one.before) or '(none)'} -> {clean(one.now) or '(none)'}"


def _finding(one: FindingChange) -> str:
    about = ", ".join(map(clean, one.features)) or "the model"
    states = f"{one.before or 'none'} -> {one.now or 'none'}"
    return f"{one.change.capitalize()}: {one.code} ({states}), {about}: {clean(one.title)}"


def _value(one: ValueChange) -> str:
    name = " ".join(filter(None, (one.result, one.measure, one.feature)))
    interval = one.interval if one.lower is None else f"{one.lower:+.4g} to {one.upper:+.4g}, {one.interval}"
    return f"Changed: {clean(name)}: {one.before:.4g} -> {one.now:.4g}, {one.difference:+.4g} ({interval})"
