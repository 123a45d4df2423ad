"""Commands that audit a model and write or render its report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import Formats, HistoryFolder, Output, Quiet, Template, Templates, app, look, told

if TYPE_CHECKING:
    from ..store import Filing

RunOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for the report. Default: uq-report, or none with --history."),
]


class Sample(StrEnum):
    """The audits `demo` can run."""

    credit = "credit"
    diabetes = "diabetes"
    faulty = "faulty"


@app.command()
def demo(
    output: Output = Path("uq-report-demo"),
    which: Annotated[
        Sample,
        typer.Option(help="credit: a calibrated forest. diabetes: a Gaussian process. faulty: wrong on purpose."),
    ] = Sample.credit,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    as_of: Annotated[str | None, typer.Option(help="The report's date, YYYY-MM-DD.")] = None,
    template: Template = "audit",
    templates: Templates = None,
    quiet: Quiet = False,
) -> None:
    """Audit a model fitted on real data that comes with the installed packages."""
    with told():
        from .. import demo as samples

        if not quiet:
            typer.echo(f"Fitting the {which} model ...", err=True)
        subject, texts = samples.build(which)
        _audit(subject, output, look(None, template, templates), quiet, {**texts, "seed": seed, "as_of": as_of})


@app.command()
def run(  # noqa: PLR0913, PLR0917 - the flags of the main command
    model: Annotated[str, typer.Option(help="model.skops, or module:factory (runs that code).")],
    data: Annotated[str, typer.Option(help="CSV or Parquet file with the rows to audit.")],
    target: Annotated[str | None, typer.Option(help="Column with y; without it only uncertainty is explained.")] = None,
    train: Annotated[str | None, typer.Option(help="CSV or Parquet file with the training rows.")] = None,
    output: RunOutput = None,
    history: HistoryFolder = None,
    name: Annotated[str | None, typer.Option(help="Name of the audit in the history. Default: the label.")] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Run to compare with. Default: the last one of this name in the history.")
    ] = None,
    explainers: Annotated[
        list[str] | None, typer.Option(help="Explainers to run; repeat for more. Default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    max_rows: Annotated[int | None, typer.Option(min=1, help="Audit at most so many rows, drawn at random.")] = None,
    jobs: Annotated[int, typer.Option(help="Workers; they change no number.")] = 1,
    as_of: Annotated[str | None, typer.Option(help="The report's date, YYYY-MM-DD.")] = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    author: Annotated[str, typer.Option(help="Who made the audit; shown as open if not given.")] = "",
    purpose: Annotated[str, typer.Option(help="What the model is for; shown as open if not given.")] = "",
    label: Annotated[str | None, typer.Option(help="Name of the model in the report.")] = None,
    adapter: Annotated[str | None, typer.Option(help="How predictions are read, if not by the closest match.")] = None,
    positive_class: Annotated[str | None, typer.Option(help="Class whose probability is the prediction.")] = None,
    categorical: Annotated[list[str] | None, typer.Option(help="Numeric column that is a code; repeat.")] = None,
    weights: Annotated[str | None, typer.Option(help="Column with sample weights.")] = None,
    clusters: Annotated[str | None, typer.Option(help="Column with labels of dependent rows.")] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Further type a .skops file may hold; repeat.")] = None,
    deny: Annotated[list[str] | None, typer.Option(help="Plugin or distribution not to import; repeat.")] = None,
    require: Annotated[list[str] | None, typer.Option(help="Plugin that must be there; repeat.")] = None,
    formats: Formats = None,
    template: Template = "audit",
    templates: Templates = None,
    quiet: Quiet = False,
) -> None:
    """Audit a model from files, and write the report."""
    with told():
        from ..files import Sources, explain_files

        sources = Sources(model, data, target, train, weights, clusters, tuple(trust or ()))
        subject = explain_files(
            sources,
            label=label,
            adapter=adapter,
            positive_class=positive_class,
            categorical=categorical,
            max_rows=max_rows,
            seed=seed,
            deny=tuple(deny or ()),
        )
        settings = {
            "explainers": explainers,
            "seed": seed,
            "n_jobs": jobs,
            "as_of": as_of,
            "about": {"title": title, "author": author, "purpose": purpose},
            "deny": deny,
            "require": require,
        }
        with _filing(history, name or subject.label) as filing:
            place = output or (Path("uq-report") if filing is None else None)
            last = previous or (None if filing is None else filing.previous())
            chosen = look(formats, template, templates)
            _audit(subject, place, chosen, quiet, {**settings, "previous": last}, filing)


@app.command()
def render(
    saved: Annotated[Path, typer.Argument(metavar="RUN", help="A run.json, or the folder that holds it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder; that of the run by default.")] = None,
    formats: Formats = None,
    template: Template = "audit",
    templates: Templates = None,
    quiet: Quiet = False,
) -> None:
    """Render a saved run again; the model is not needed."""
    with told():
        from ..api import load

        folder = output or (saved if saved.is_dir() else saved.parent)
        load(saved).write_reports(folder, **look(formats, template, templates))
        if not quiet:
            typer.echo(f"Report rendered in {folder}")


@contextmanager
def _filing(history: Path | None, name: str) -> Iterator[Filing | None]:
    """Hold the audit's lock in a history while it runs, if there is to be one."""
    if history is None:
        yield None
        return
    from ..store import History

    with History(history).filing(name) as filing:
        yield filing


def _audit(
    subject: Any,
    output: Path | None,
    chosen: dict[str, Any],
    quiet: bool,
    settings: dict[str, Any],
    filing: Filing | None = None,
) -> None:
    """Run, write and file, and say in one line where the report is."""
    from ..api import audit

    done = audit(subject, progress=False if quiet else None, **settings)
    if not quiet:
        typer.echo("Writing the report ...", err=True)
    folders = [] if filing is None else [done.file(filing, **chosen)]
    folders += [] if output is None else [done.write(output, **chosen)]
    folder = folders[0]
    if not quiet:
        left_out = [entry for entry in done.run.not_run if entry.group == "explainers"]
        for entry in left_out:
            typer.echo(f"Not run: {entry.name}: {entry.reason}", err=True)
        counts = f"results: {len(done.results)}, findings: {len(done.findings)}, explainers not run: {len(left_out)}"
        stem = "report" if chosen["template"] == "audit" else chosen["template"]
        typer.echo(f"Report in {folder}: {', '.join(sorted(p.name for p in folder.glob(f'{stem}.*')))} ({counts})")
