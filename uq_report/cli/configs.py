"""Commands about audit.toml: write a first one, check one, and print its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.support.errors import InputError
from .flags import FLAGS, fills
from .shared import Quiet, app, errors_reported, print_json, say

config = typer.Typer(help="Check an audit.toml, or print its schema.", no_args_is_help=True)
app.add_typer(config, name="config")
_INIT = ("model", "data", "target", "event", "train", "protected", "ignore", "trusted", "query", "allow_pickle")


@app.command()
@fills([flag for flag in FLAGS if flag.name in _INIT], required=True)
def init(
    changes: dict[str, Any],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Look at a model and its data, and write a commented audit.toml that runs as it is."""
    with errors_reported():
        from ..evidence import run_folder
        from ..jobs import starter
        from ..jobs.reading import describe_audit
        from ..runner.setting_errors import refuse

        if output.exists() and not force:
            raise InputError(
                f"init.output must be a new file; {output} is there already. Name another, or add --force."
            )
        description = describe_audit(None, changes)
        refuse(description.mistakes)
        run_folder.write_files(output.parent, {output.name: starter(description.left(), output.parent).encode()})
        if not quiet:
            say(f"Written: {output}. Run it with: uq-report run {output}")


@config.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="AUDIT.TOML", help="The file to check.")],
    quiet: Quiet = False,
) -> None:
    """List every mistake in an audit.toml; its tables are read, the model is not loaded, and nothing is run."""
    with errors_reported():
        from ..jobs import mistakes_of
        from ..jobs.reading import describe_audit
        from ..runner.setting_errors import refuse

        description = describe_audit(file)
        refuse([*description.mistakes, *mistakes_of(description.left())], description.who)
        if not quiet:
            say(f"{file}: no mistakes found")


@config.command()
def schema() -> None:
    """Print the JSON Schema of audit.toml, with the options of all installed plugins, for editors."""
    with errors_reported():
        from ..jobs import installed_schema

        print_json(installed_schema())
