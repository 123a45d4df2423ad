"""Sign-off: who made, challenged and approved this report, and what is still open. Left blank for people to fill."""

from __future__ import annotations

from collections.abc import Iterator

from ...config import About
from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Block, Bullets, Facts, Paragraph, Section
from ...document.evidence import OPEN, Evidence
from ...document.text import clean, items, joined

TITLE = "Sign-off"
BLANK = "____________________"
ROLES = (("Preparer", "preparer"), ("Validator", "validator"), ("Approver", "approver"))
LEAD = (
    "This package computes and prints evidence; it approves nothing. A draft must not be signed. An electronic "
    "signature covers every byte of the file it stands in."
)
PEOPLE = (
    "Whether the features may be used for this purpose, by law and by policy.",
    "Whether the direction of each effect agrees with what is known of the subject.",
    "Whether the audited rows stand for the population the model is used on.",
    "Whether the thresholds and severities fit the materiality of the model.",
)
NO_TEXT = ("title", "status", "classification")


def sign_off(e: Evidence) -> Section:
    """Return the lines to sign, the statement of independence, and the open items."""
    rows = [(role, e.said(key), BLANK, BLANK) for role, key in ROLES]
    columns = ("role", "name", "date", "signature")
    table = make_table("sign-off-table", "To be dated and signed by the persons named.", columns, rows)
    facts = Facts(
        rows=(
            ("Author of this report", e.said("author")),
            ("Independence of the validation", e.said("independence")),
            ("Status", e.about("status") or OPEN),
        )
    )
    blocks: tuple[Block, ...] = (Paragraph(text=LEAD), facts, table)
    still = Section(
        id="open-items",
        title="Open items",
        blocks=(Bullets(items=tuple(_open(e))), Paragraph(text="Only people can judge:"), Bullets(items=PEOPLE)),
    )
    return Section(id="sign-off", title=TITLE, blocks=blocks, sections=(still,))


def _open(e: Evidence) -> Iterator[str]:
    """Yield what must be completed before a signature."""
    empty = [key.replace("_", " ") for key in About.model_fields if key not in NO_TEXT and not e.about(key)]
    if empty:
        yield f"Texts to be completed (settings about): {joined(empty, len(empty))}."
    unowned = [finding for finding in e.findings if e.action(finding)[0] == OPEN]
    if unowned:
        codes = joined(items(dict.fromkeys(finding.code for finding in unowned)), 20)
        yield f"{count(len(unowned), 'open finding')} without owner and due date: {codes}."
    elif e.findings:
        yield f"{count(len(e.findings), 'open finding')}, each with an owner."
    if not e.gate.passed:
        yield f"Calibration gate: {e.gate.word}."
    if e.run.not_run:
        yield f"Not run: {joined(items(dict.fromkeys(entry.name for entry in e.run.not_run)), 12)}."
    if e.about("status") != "final":
        yield f"The report is a {clean(e.about('status') or 'draft', 20)}."
    elif not (empty or e.findings or e.run.not_run) and e.gate.passed:
        yield "No open item was found by this package."
