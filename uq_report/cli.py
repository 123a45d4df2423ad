"""The command line; the only place that prints.

Exit codes: 0 done, 1 kept for findings, 2 usage, 3 input, model or data unusable, 4 rendering failed, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from . import __version__

INPUT, RENDER, INTERRUPTED = 3, 4, 130

app = typer.Typer(
    name="uq-report",
    help="Audit how a model's uncertainty arises, and report it in HTML and PDF.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something fails.")]
Formats = Annotated[list[str] | None, typer.Option("--format", help="html or pdf; repeat for more. Default: both.")]


class Sample(StrEnum):
    """The audits `demo` can run."""

    credit = "credit"
    diabetes = "diabetes"


@contextmanager
def _told() -> Iterator[None]:
    """Turn the package's errors into one clear message and an exit code."""
    from .core.errors import RenderError, UQReportError

    try:
        yield
    except UQReportError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(RENDER if isinstance(error, RenderError) else INPUT) from error
    except KeyboardInterrupt as error:
        typer.echo("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from error


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uq-report {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Audit how a model's uncertainty arises, and report it in HTML and PDF."""


@app.command()
def demo(
    output: Output = Path("uq-report-demo"),
    which: Annotated[
        Sample, typer.Option(help="credit: a calibrated forest. diabetes: a Gaussian process.")
    ] = Sample.credit,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    as_of: Annotated[str | None, typer.Option(help="The report's date, YYYY-MM-DD.")] = None,
    quiet: Quiet = False,
) -> None:
    """Audit a model fitted on real data that comes with the installed packages."""
    with _told():
        from . import demo as samples

        if not quiet:
            typer.echo(f"Fitting the {which} model ...", err=True)
        subject, texts = samples.build(which)
        _audit(subject, output, None, quiet, {**texts, "seed": seed, "as_of": as_of})


@app.command()
def run(  # noqa: PLR0913, PLR0917 - the flags of the main command
    model: Annotated[str, typer.Option(help="model.skops, or module:factory (runs that code).")],
    data: Annotated[str, typer.Option(help="CSV or Parquet file with the rows to audit.")],
    target: Annotated[str | None, typer.Option(help="Column with y; without it only uncertainty is explained.")] = None,
    train: Annotated[str | None, typer.Option(help="CSV or Parquet file with the training rows.")] = None,
    output: Output = Path("uq-report"),
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
    quiet: Quiet = False,
) -> None:
    """Audit a model from files, and write the report."""
    with _told():
        from .files import Sources, explain_files

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
        _audit(subject, output, formats, quiet, settings)


@app.command()
def render(
    saved: Annotated[Path, typer.Argument(metavar="RUN", help="A run.json, or the folder that holds it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder; that of the run by default.")] = None,
    formats: Formats = None,
    quiet: Quiet = False,
) -> None:
    """Render a saved run again; the model is not needed."""
    with _told():
        from .api import load

        folder = output or (saved if saved.is_dir() else saved.parent)
        load(saved).write_reports(folder, formats or ("html", "pdf"))
        if not quiet:
            typer.echo(f"Report rendered in {folder}")


@app.command()
def plugins() -> None:
    """List every plugin with its version, distribution and API version."""
    with _told():
        from . import plugins as door
        from .core.errors import UQReportError

        rows = [("GROUP", "NAME", "DISTRIBUTION", "VERSION", "API", "STATE")]
        for found in door.catalog().values():
            for plugin in found:
                try:
                    api, state = str(door.load(plugin).api_version), "ready"
                except UQReportError as error:
                    api, state = "-", str(error)
                rows.append((plugin.short_group, plugin.name, plugin.distribution, plugin.version, api, state))
        _print_table(rows)


@app.command()
def doctor() -> None:
    """Check what a full audit needs on this machine."""
    with _told():
        from .doctor import examine

        findings = examine()
        _print_table([("CHECK", "STATE", "DETAIL"), *((f.what, f.state, f.detail) for f in findings)])
        if any(f.state == "missing" for f in findings):
            raise typer.Exit(RENDER)


def _audit(subject: Any, output: Path, formats: list[str] | None, quiet: bool, settings: dict[str, Any]) -> None:
    """Run, write, and say in one line where the report is."""
    from .api import audit

    done = audit(subject, progress=False if quiet else None, **settings)
    if not quiet:
        typer.echo("Writing the report ...", err=True)
    folder = done.write(output, formats or ("html", "pdf"))
    if not quiet:
        left_out = [entry for entry in done.run.not_run if entry.group == "explainers"]
        for entry in left_out:
            typer.echo(f"Not run: {entry.name}: {entry.reason}", err=True)
        counts = f"results: {len(done.results)}, findings: {len(done.findings)}, explainers not run: {len(left_out)}"
        typer.echo(f"Report in {folder}: {', '.join(sorted(p.name for p in folder.glob('report.*')))} ({counts})")


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        typer.echo("  ".join([*cells, row[-1]]))


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
