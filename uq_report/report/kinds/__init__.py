"""The kinds of document a run can become: the whole audit, a brief of two pages, a model card."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Final, NamedTuple

from ...core.support.errors import check_choice
from ...document.blocks import undrawn
from ...document.document import Document
from ...evidence.run import Run
from ...reading.run_reader import RunReader
from .. import AUDIT, BRIEF, EXTENTS, FULL, MODEL_CARD, NAMES, NONE, SHORT, assemble
from ..nouns import named
from .brief import brief
from .model_card import model_card


class DocumentForm(NamedTuple):
    """What decides a run's document: its kind, and for an audit how much stands behind the front part."""

    kind: str
    appendix: str = SHORT


KINDS: Mapping[str, Callable[[Run], Document]] = {AUDIT: assemble.document, BRIEF: brief, MODEL_CARD: model_card}
# every form, those of one kind by what they cost
FORMS: Final = (*(DocumentForm("audit", extent) for extent in (SHORT, NONE, FULL)), *map(DocumentForm, [*KINDS][1:]))


def check_form(kind: str, appendix: str) -> None:
    """Refuse another kind of document, or another appendix."""
    for what, given, allowed in (("template", kind, NAMES), ("appendix", appendix, EXTENTS)):
        check_choice(f"report.{what}", given, allowed)


def document(run: Run, kind: str = "audit", *, appendix: str = SHORT, draws: bool = True) -> Document:
    """Return a run as a document of one kind; each has the template of its name.

    Parameters
    ----------
    run : Run
    kind : {"audit", "brief", "model-card"}
    appendix : {"none", "short", "full"}
        How much an audit holds behind its front part; other kinds have no appendix.
    draws : bool, default=True
        False leaves the SVG of figures empty, for formats that show none.

    Raises
    ------
    InputError
        For another kind or appendix.
    """
    check_form(kind, appendix)
    with nullcontext() if draws else undrawn():
        made = assemble.document(run, appendix=appendix) if kind == "audit" else KINDS[kind](run)
        return named(RunReader(run), made)
