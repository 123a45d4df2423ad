"""What surrounds a run from a file: whether there is anything to do, and who is told when it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .shared import say

if TYPE_CHECKING:
    from ..core.subject import Subject
    from ..jobs.audit_file import AuditFile
    from ..ops.history import Filed, Filing


def unchanged(audit: AuditFile, subject: Subject, filing: Filing | None, copy: Path | None) -> Filed | None:
    """Return the run filed last if nothing that decides this one differs, and its files are whole."""
    if filing is None:
        return None
    from .. import runner
    from ..api.views import report_names
    from ..ops.history import inputs_key

    place = audit.output
    key = inputs_key(runner.facts(subject, audit.settings()))
    return filing.unchanged(key, report_names(place.formats, place.template, audit.run.deny), copy)


def tell(audit: AuditFile, name: str, exit_code: int, summary: Mapping[str, Any], folder: Path | None) -> None:
    """Run the hooks of an audit; one that fails is told on stderr, and costs neither the report nor the exit code."""
    hooks = audit.hooks
    if not (hooks.folder or hooks.webhook or hooks.email):
        return
    from ..api.views import report_names
    from ..ops.hooks import Ended, after

    place = audit.output
    names = [] if folder is None else report_names(place.formats, place.template, audit.run.deny)
    reports = tuple(folder / one for one in names) if folder is not None else ()
    for sentence in after(hooks, Ended(name, exit_code, summary, reports)):
        say(f"Hook: {sentence}", err=True)


@contextmanager
def failures_told(audit: AuditFile) -> Iterator[None]:
    """Tell the hooks of a run that fails; one that finds its audit in work elsewhere has not failed."""
    from ..core.errors import LockedError, UQReportError
    from .shared import exit_code

    try:
        yield
    except LockedError:
        raise
    except UQReportError as error:
        name = audit.output.name or (audit.model.label if audit.model is not None else None) or "audit"
        told = {"exit_code": exit_code(error), "reasons": str(error).splitlines()}
        tell(audit, name, exit_code(error), told, None)
        raise
