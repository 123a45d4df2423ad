"""The command that explains one observation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .flags import CASE_FLAGS, FLAGS, fills
from .shared import Quiet, app, begun, errors_reported, say

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
    with errors_reported():
        begun("Explaining ...", quiet)
        from .. import api
        from ..evidence import run_folder
        from ..jobs.saved_subject import new_rows, subject_of_run

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
            made = api.case(subject, which, outcome=outcome, threshold=threshold, as_of=run.as_of)
            for kind in wanted:
                made.save(place / f"{name}.{kind}")
            if not quiet:
                say(repr(made))
        if not quiet:
            say(f"Case sheets in {place}: {', '.join(f'{name}.{kind}' for name, *_ in asked for kind in wanted)}")
