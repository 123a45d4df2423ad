"""Commands that audit a model and write or render its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..core.support.errors import DONE, RENDER, InputError
from .flags import CASE_FLAGS, FLAGS, fills, flags_of
from .shared import Quiet, app, begun, logged, print_json, print_line, say

if TYPE_CHECKING:
    from ..ops.run import WrittenAudit

_LOOK = flags_of("output", "template", "templates", "appendix")
_LIMITED = ("pdf_cpu_seconds", "pdf_memory_mb", "template_cpu_seconds", "template_memory_mb")
_LIMITS = [flag._replace(more={}) for flag in flags_of("output", *_LIMITED)]  # the renderers refuse what cannot be


@app.command(epilog="Example: uq-report demo parcels --output out")
@fills(_LOOK, others=False)
def demo(
    changes: dict[str, Any],
    which: Annotated[
        Literal["credit", "parcels", "pumps", "wind", "faulty"],
        typer.Argument(
            metavar="NAME",
            help="credit: usable with limits. parcels: sound. faulty: wrong on purpose. pumps: features that hide each "
            "other. wind: a regression.",
        ),
    ] = "credit",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")] = Path("uq-report-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    as_of: Annotated[str | None, typer.Option(help="The report's date, YYYY-MM-DD.")] = None,
    quiet: Quiet = False,
) -> None:
    """Audit a model fitted on the spot, on real or simulated data that come with the installed packages."""
    with logged(quiet):
        if not quiet:
            say(f"Fitting the {which} model ...", err=True)
        from ..jobs import demo as samples
        from ..jobs.audit_file import OutputPart
        from ..ops.run import audit_subject
        from ..runner.settings import make_settings

        subject, texts = samples.build(which)
        settings = make_settings({**texts, "seed": seed, "as_of": as_of}, "audit")
        look = {key: str(value) for key, value in _of_output(changes).items()}
        place = OutputPart.model_validate({"folder": str(output), **look})
        done = audit_subject(subject, settings, place, progress=False if quiet else None)
        if not quiet:
            _print_answer(done)
        if done.failed:
            say("\n".join(done.failed), err=True)
            raise typer.Exit(RENDER)


@app.command(epilog="Example: uq-report run --model model.skops --data test.csv --target y --output out")
@fills(FLAGS)
def run(
    changes: dict[str, Any],
    file: Annotated[
        Path | None, typer.Argument(metavar="AUDIT.TOML", help="An audit; flags override it. Default: ./audit.toml.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Run to compare with. Default: the last one of this name in the history.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run although nothing changed since the last run.")] = False,
    exit_code_unchanged: Annotated[
        int, typer.Option(min=0, max=255, help="Exit code where nothing changed, 99 for Airflow. Default: 0.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON, also of an error.")] = False,
    quiet: Quiet = False,
) -> None:
    """Audit a model from an audit.toml, from flags, or both, and write the report.

    With a history, unchanged inputs, settings and versions need no new run: that is said, and nothing is written.

    Exit codes: https://uq-report.readthedocs.io/en/stable/reference/exit_codes.html
    """
    if file is None and not {"model.source", "data.source"} & changes.keys() and Path("audit.toml").is_file():
        file = Path("audit.toml")
    if file is None and not {"model.source", "data.source"} <= changes.keys():
        raise typer.BadParameter("give an audit.toml, or --model and --data")
    silent = quiet or as_json
    with logged(quiet, silent):
        begun("Starting the audit ...", silent)
        from ..ops.run import run as run_audit

        done = run_audit(file, changes, previous=previous, force=force, progress=False if silent else None)
    code = done.exit_code or (exit_code_unchanged if done.unchanged else DONE)
    for reason in done.reasons:
        say(f"Failed: {reason}", err=True)
    if as_json:
        print_line({**done.summary, "exit_code": code})
    elif done.unchanged and not quiet:
        same = f"inputs, settings and versions are those of {done.reference}"
        say(f"Unchanged: {same}; nothing was written. Report in {done.folder}")
    elif not quiet:
        _print_answer(done)
    raise typer.Exit(code)


@app.command(epilog="Example: uq-report plan folder --data rows.csv --target y; predict folder/rows.csv; plan again")
@fills([flag for flag in FLAGS if flag.key != "model.source"])
def plan(
    changes: dict[str, Any],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where rows.csv and predictions.csv are.")],
    file: Annotated[Path | None, typer.Option("--audit", help="An audit.toml; flags override it.")] = None,
    quiet: Quiet = False,
) -> None:
    """Audit a model that runs elsewhere: write the rows to predict, and end with 75 until all are predicted."""
    with logged(quiet, quiet):
        begun("Planning the audit ...", quiet)
        from ..ops.run import run as run_audit

        described = {**changes, "model.source": f"planned:{folder.resolve()}"}
        done = run_audit(file, described, force=True, progress=False if quiet else None)
    if not quiet:
        _print_answer(done)
    raise typer.Exit(done.exit_code)


@app.command(epilog="Example: uq-report render out --format pdf --appendix full")
@fills([*flags_of("output", "formats"), *_LOOK, *_LIMITS], others=False)
def render(
    changes: dict[str, Any],
    saved: Annotated[Path, typer.Argument(metavar="RUN", help="A run.json, or the folder that holds it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder; that of the run by default.")] = None,
    quiet: Quiet = False,
) -> None:
    """Render a saved run again; the model is not needed."""
    begun("Rendering the report ...", quiet)
    from ..api.auditing import load

    folder = output or (saved if saved.is_dir() else saved.parent)
    form = {"formats": ("html", "pdf"), **_of_output(changes)}
    load(saved).write_reports(folder, **form, progress=False if quiet else None)
    if not quiet:
        say(f"Report rendered in {folder}")


def _of_output(changes: dict[str, Any]) -> dict[str, Any]:
    """Return what flags give for the section output, by its keys."""
    return {key.removeprefix("output."): value for key, value in changes.items()}


def _print_answer(done: WrittenAudit) -> None:
    """Say where the report is, and what it answers."""
    from ..reading.run_reader import RunReader
    from ..report.answer.section import answer_of, as_lines

    run = done.run.run
    left_out = sum(entry.group == "explainers" for entry in run.not_run)
    counts = f"results: {len(run.results)}, findings: {len(run.findings)}, explainers not run: {left_out}"
    say(f"Report in {done.folder}: {', '.join(sorted(file.name for file in done.reports))} ({counts})")
    say("\n".join(as_lines(answer_of(RunReader(run)))))


config = typer.Typer(help="Check an audit.toml, or print its schema.", no_args_is_help=True)
app.add_typer(config, name="config")
_INIT = ("model", "data", "target", "event", "train", "protected", "ignore", "trusted", "query", "allow_pickle")


@app.command(epilog="Example: uq-report init --model model.skops --data test.csv --target y")
@fills([flag for flag in FLAGS if flag.name in _INIT], required=("model", "data"))
def init(
    changes: dict[str, Any],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Look at a model and its data, and write a commented audit.toml that runs as it is."""
    from ..evidence import run_folder
    from ..jobs import starter
    from ..jobs.reading import describe_audit
    from ..runner.settings import refuse

    if output.exists() and not force:
        raise InputError(f"init.output must be a new file; {output} is there already. Name another, or add --force.")
    description = describe_audit(None, changes)
    refuse(description.mistakes)
    run_folder.write_files(output.parent, {output.name: starter(description.left(), output.parent).encode()})
    if not quiet:
        say(f"Written: {output}. Run it with: uq-report run {output}")


@config.command(epilog="Example: uq-report config check audit.toml")
def check(
    file: Annotated[Path, typer.Argument(metavar="AUDIT.TOML", help="The file to check.")], quiet: Quiet = False
) -> None:
    """List every mistake in an audit.toml; its tables are read, the model is not loaded, and nothing is run."""
    from ..jobs import mistakes_of
    from ..jobs.reading import describe_audit
    from ..runner.settings import refuse

    description = describe_audit(file)
    refuse([*description.mistakes, *mistakes_of(description.left())], description.who)
    if not quiet:
        say(f"{file}: no mistakes found")


@config.command(epilog="Example: uq-report config schema > audit.schema.json")
def schema() -> None:
    """Print the JSON Schema of audit.toml, with the options of all installed plugins, for editors."""
    from ..jobs import installed_schema

    print_json(installed_schema())


_OPTIONS = ("model", "data", "train", "target", "residuals", "trusted", "allow_pickle", "adapter", "positive_class")


@app.command(epilog="Example: uq-report case report/run.json --row 17 --model model.skops")
@fills([*(flag for flag in FLAGS if flag.name in _OPTIONS), *CASE_FLAGS], required=("model",), others=False)
def case(
    changes: dict[str, Any],
    saved: Annotated[Path, typer.Argument(metavar="RUN", help="A run.json, or the folder that holds it.")],
    row: Annotated[list[int] | None, typer.Option("--row", help="Row number in the audited data; repeat.")] = None,
    rows: Annotated[Path | None, typer.Option("--rows", help="Table of new observations, one case each.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Of a predicted number: from it on the decision is another.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Explain one observation of a saved run on one page: why, how sure, how typical, and what would change it."""
    if not row and rows is None:
        raise typer.BadParameter("give --row NUMBER, or --rows FILE with new observations")
    begun("Explaining ...", quiet)
    from ..api.verbs import case
    from ..evidence import run_folder
    from ..jobs.subject import new_rows, subject_of_run

    folder = saved if saved.is_dir() else saved.parent
    run = run_folder.read(saved)[0]
    place = Path(changes.pop("output.folder", folder / "cases"))
    wanted = tuple(changes.pop("output.formats", ("html", "pdf")))
    subject = subject_of_run(run, folder, changes)
    asked: list[tuple[str, Any, Any]] = [(f"case-{number}", number, None) for number in row or ()]
    if rows is not None:
        new = new_rows(str(rows), subject, run.subject.get("sources", {}).get("target"))
        asked += [(f"case-new-{k}", values, outcome) for k, (values, outcome) in enumerate(new, 1)]
    for name, which, outcome in asked:
        made = case(subject, which, outcome=outcome, threshold=threshold, as_of=run.as_of)
        for kind in wanted:
            made.save(place / f"{name}.{kind}")
        if not quiet:
            say(repr(made))
    if not quiet:
        say(f"Case sheets in {place}: {', '.join(f'{name}.{kind}' for name, *_ in asked for kind in wanted)}")
