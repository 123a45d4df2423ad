"""The kinds of document a run can become: the whole audit, a brief of two pages, a model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...core.errors import InputError, nearest
from ...document.document import Document
from ...evidence.run import Run
from .. import assemble
from ..annex import EXTENTS
from .brief import brief
from .model_card import model_card

KINDS: Mapping[str, Callable[[Run], Document]] = {
    "audit": assemble.document,
    "brief": brief,
    "model-card": model_card,
}


def document(run: Run, kind: str = "audit", *, annex: str = "short") -> Document:
    """Return a run as a document of one kind; each has the template of its name.

    Parameters
    ----------
    run : Run
    kind : {"audit", "brief", "model-card"}
    annex : {"none", "short", "full"}
        How much an audit holds behind its front part; other kinds have no annex.

    Raises
    ------
    InputError
        For another kind or annex.
    """
    if annex not in EXTENTS:
        raise InputError(f"report.annex must be one of {list(EXTENTS)}; got {annex!r}. {nearest(annex, EXTENTS)}")
    if kind == "audit":
        return assemble.document(run, annex=annex)
    if kind not in KINDS:
        raise InputError(f"report.template must be one of {sorted(KINDS)}; got {kind!r}. {nearest(kind, KINDS)}")
    return KINDS[kind](run)
