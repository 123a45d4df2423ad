"""Commands about audit.toml: write a first one, check one, and print its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .flags import flags
from .shared import Quiet, app, print_json, say, told

config = typer.Typer(help="Check an audit.toml, or print its schema.", no_args_is_help=True)
app.add_typer(config, name="config")


@app.command()
def init(  # noqa: PLR0913, PLR0917 - flags
    model: Annotated[
        str, typer.Option(help="model.skops, model.onnx, models:/name/1, or module:factory (runs that code).")
    ],
    data: Annotated[str, typer.Option(help="File or database URL with the rows to audit.")],
    target: Annotated[str | None, typer.Option(help="Column with y.")] = None,
    train: Annotated[str | None, typer.Option(help="The training rows.")] = None,
    protected: Annotated[list[str] | None, typer.Option(help="Column with a protected attribute; repeat.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column that is no feature; repeat.")] = None,
    trust: Annotated[list[str] | None, typer.Option(help="Further type a .skops file may hold; repeat.")] = None,
    query: Annotated[str | None, typer.Option(help="SELECT of the rows, where the data is a database.")] = None,
    allow_pickle: Annotated[
        bool | None, typer.Option("--allow-pickle", help="Load a pickle, which runs any code it holds.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any key of [model] and [data]; repeat.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Look at a model and its data, and write a commented audit.toml that runs as it is."""
    given = flags({name: value for name, value in locals().items() if name != "output"})
    with told():
        from .. import jobs as files
        from ..core.errors import InputError
        from ..evidence import saved
        from ..jobs.reading import describe_audit
        from ..runner.mistakes import refuse

        if output.exists() and not force:
            raise InputError(
                f"init.output must be a new file; {output} is there already. Name another, or add --force."
            )
        found = describe_audit(None, given)
        refuse(found.mistakes)
        text = files.starter(found.left(), output.parent)
        saved.write_files(output.parent, {output.name: text.encode()})
        if not quiet:
            say(f"Written: {output}. Run it with: uq-report run {output}")


@config.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="AUDIT.TOML", help="The file to check.")],
    quiet: Quiet = False,
) -> None:
    """List every mistake in an audit.toml; its tables are read, the model is not loaded, and nothing is run."""
    with told():
        from .. import jobs as files
        from ..jobs.reading import describe_audit
        from ..runner.mistakes import refuse

        found = describe_audit(file)
        refuse([*found.mistakes, *files.mistakes_of(found.left())], found.who)
        if not quiet:
            say(f"{file}: no mistakes found")


@config.command()
def schema() -> None:
    """Print the JSON Schema of audit.toml, with the options of all installed plugins, for editors."""
    with told():
        from .. import jobs as files

        print_json(files.installed_schema())
