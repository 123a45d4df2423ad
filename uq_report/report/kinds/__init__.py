"""The kinds of document a run can become: the whole audit, a brief of two pages, a model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...core.errors import InputError, nearest
from ...document.document import Document
from ...evidence.run import Run
from .. import assemble
from .brief import brief
from .model_card import model_card

KINDS: Mapping[str, Callable[[Run], Document]] = {
    "audit": assemble.document,
    "brief": brief,
    "model-card": model_card,
}


def document(run: Run, kind: str = "audit") -> Document:
    """Return a run as a document of one kind; each has the template of its name.

    Parameters
    ----------
    run : Run
    kind : {"audit", "brief", "model-card"}

    Raises
    ------
    InputError
        For another kind.
    """
    if kind not in KINDS:
        raise InputError(f"report.template must be one of {sorted(KINDS)}; got {kind!r}. {nearest(kind, KINDS)}")
    return KINDS[kind](run)
