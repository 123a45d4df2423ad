"""Commands that audit a model and write or render its report."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..evidence.finding import Severity
from .flags import flags
from .runs import How, audit_subject, errors_told, run_described
from .shared import (
    ANNEX,
    Annex,
    Formats,
    HistoryFolder,
    Output,
    Quiet,
    Template,
    Templates,
    app,
    hushed,
    look,
    say,
    told,
)

RunOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for the report. Default: uq-report, or none with --history."),
]


class Sample(StrEnum):
    """The audits `demo` can run."""

    credit = "credit"
    parcels = "parcels"
    pumps = "pumps"
    wind = "wind"
    faulty = "faulty"


@app.command()
def demo(  # noqa: PLR0913, PLR0917 - flags
    which: Annotated[
        Sample,
        typer.Argument(
            metavar="NAME",
            help="credit: usable with limits. parcels: sound. faulty: wrong on purpose. pumps: features that hide each "
            "other. wind: a regression.",
        ),
    ] = Sample.credit,
    output: Output = Path("uq-report-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    as_of: Annotated[str | None, typer.Option(help="The report's date, YYYY-MM-DD.")] = None,
    template: Template = "audit",
    templates: Templates = None,
    annex: Annex = "short",
    quiet: Quiet = False,
) -> None:
    """Audit a model fitted on the spot, on real or simulated data that come with the installed packages."""
    with told():
        from ..jobs import demo as samples

        if not quiet:
            say(f"Fitting the {which} model ...", err=True)
        subject, texts = samples.build(which)
        chosen = look(None, template, templates, annex)
        audit_subject(subject, output, chosen, quiet, {**texts, "seed": seed, "as_of": as_of})


@app.command()
def run(  # noqa: PLR0913, PLR0917 - the flags of the main command
    file: Annotated[Path | None, typer.Argument(metavar="[AUDIT.TOML]", help="An audit; flags win over it.")] = None,
    model: Annotated[
        str | None, typer.Option(help="model.skops, model.onnx, models:/name/1, or module:factory (runs that code).")
    ] = None,
    data: Annotated[str | None, typer.Option(help="File or database URL with the rows to audit.")] = None,
    target: Annotated[str | None, typer.Option(help="Column with y; without it only uncertainty is explained.")] = None,
    train: Annotated[str | None, typer.Option(help="The same of the training rows.")] = None,
    query: Annotated[str | None, typer.Option(help="SELECT of the rows, where the data is a database.")] = None,
    train_query: Annotated[str | None, typer.Option(help="SELECT of the training rows.")] = None,
    output: RunOutput = None,
    history: HistoryFolder = None,
    name: Annotated[str | None, typer.Option(help="Name of the audit in the history. Default: the label.")] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Run to compare with. Default: the last one of this name in the history.")
    ] = None,
    explainers: Annotated[
        list[str] | None, typer.Option(help="Explainers to run; repeat for more. Default: all.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of every random stream. Default: 0.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Level of every interval. Default: 0.95.")] = None,
    max_rows: Annotated[int | None, typer.Option(min=1, help="Audit at most so many rows, drawn at random.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Workers; they change no number. Default: 1.")] = None,
    as_of: Annotated[str | None, typer.Option(help="The report's date, YYYY-MM-DD.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    author: Annotated[str | None, typer.Option(help="Who made the audit; shown as open if not given.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What the model is for; shown as open if not given.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the model in the report.")] = None,
    adapter: Annotated[str | None, typer.Option(help="How predictions are read, if not by the closest match.")] = None,
    positive_class: Annotated[str | None, typer.Option(help="Class whose probability is the prediction.")] = None,
    categorical: Annotated[list[str] | None, typer.Option(help="Numeric column that is a code; repeat.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column that is no feature; repeat.")] = None,
    protected: Annotated[list[str] | None, typer.Option(help="Column with a protected attribute; repeat.")] = None,
    weights: Annotated[str | None, typer.Option(help="Column with sample weights.")] = None,
    clusters: Annotated[str | None, typer.Option(help="Column with labels of dependent rows.")] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Further type a .skops file may hold; repeat.")] = None,
    allow_pickle: Annotated[
        bool | None, typer.Option("--allow-pickle", help="Load a pickle, which runs any code it holds.")
    ] = None,
    sha256: Annotated[str | None, typer.Option(help="Hash the model file must have, before it is loaded.")] = None,
    deny: Annotated[list[str] | None, typer.Option(help="Plugin or distribution not to import; repeat.")] = None,
    require: Annotated[
        list[str] | None, typer.Option(help="Plugin that must be there; one that fails ends in exit code 1; repeat.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; what they cut is listed as not run.")] = None,
    memory_limit: Annotated[int | None, typer.Option(help="Megabytes; what they cut is listed as not run.")] = None,
    fail_on: Annotated[
        Severity | None, typer.Option(help="Exit code 1 if an open finding is so severe, or worse.")
    ] = None,
    mlflow: Annotated[str | None, typer.Option(metavar="URI", help="Tracking store of MLflow to log to.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Experiment in MLflow. Default: uq_report.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other key of audit.toml; repeat.")
    ] = None,
    formats: Formats = None,
    template: Annotated[str | None, typer.Option(help="audit, brief (two pages) or model-card.")] = None,
    templates: Templates = None,
    annex: Annotated[str | None, typer.Option(help=ANNEX)] = None,
    force: Annotated[bool, typer.Option("--force", help="Run although nothing changed since the last run.")] = False,
    exit_code_unchanged: Annotated[
        int, typer.Option(min=0, max=255, help="Exit code where nothing changed, 99 for Airflow. Default: 0.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON, also of an error.")] = False,
    quiet: Quiet = False,
) -> None:
    """Audit a model from an audit.toml, from flags, or both, and write the report.

    With a history, unchanged inputs, settings and versions need no new run: that is said, and nothing is written.

    Exit codes: 0 done or unchanged, 1 open findings at or above --fail-on or a required part did not run, 2 usage,
    3 input, 4 rendering failed, 75 another process holds the lock or MLflow cannot be reached, 130 interrupted.
    """
    if file is None and not (model and data):
        raise typer.BadParameter("give an audit.toml, or --model and --data")
    given = flags(locals())
    with told(), hushed(quiet), errors_told(as_json):
        run_described(file, given, How(previous, as_json, quiet, force, exit_code_unchanged))


@app.command()
def render(
    saved: Annotated[Path, typer.Argument(metavar="RUN", help="A run.json, or the folder that holds it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder; that of the run by default.")] = None,
    formats: Formats = None,
    template: Template = "audit",
    templates: Templates = None,
    annex: Annex = "short",
    quiet: Quiet = False,
) -> None:
    """Render a saved run again; the model is not needed."""
    with told():
        from ..api import load

        folder = output or (saved if saved.is_dir() else saved.parent)
        load(saved).write_reports(folder, **look(formats, template, templates, annex))
        if not quiet:
            say(f"Report rendered in {folder}")
