"""Sign-off: who made, challenged and approved this report, and what people must still complete."""

from __future__ import annotations

from ...core.support.text import count
from ...document.blocks import make_table, paragraphs
from ...document.document import Block, Facts, Section
from ...document.text import clean, joined
from ...reading.run_reader import OPEN, RunReader
from ...runner.settings import About

TITLE = "Sign-off"
BLANK = "____________________"
ROLES = (("Preparer", "preparer"), ("Reviewer", "validator"), ("Approver", "approver"))
HOW = (
    "Prove the file with “uq-report verify --deep report.pdf”, sign it with “uq-report sign report.pdf”; a draft must "
    "not be signed."
)
PEOPLE = (
    "Only people can judge whether the features may be used by law and policy, whether effects agree with what is "
    "known, and whether rows, thresholds and severities fit the use of the model."
)
NO_TEXT = ("title", "status", "classification", "signers")  # what need not be completed


def sign_off(e: RunReader) -> Section:
    """Return the lines to sign, what is open, and how to prove and sign the file."""
    rows = [(role, e.about_cell(key), BLANK, BLANK) for role, key in ROLES]
    table = make_table("sign-off-table", "To be dated and signed.", ("role", "name", "date", "signature"), rows)
    facts = (
        ("Author of this report", e.about_cell("author")),
        ("Independence of the review", e.about_cell("independence")),
        *([("Signatures", e.about_cell("signers"))] if e.about("signers") else []),
        ("Status", e.about_cell("status")),
    )
    blocks: tuple[Block, ...] = (table, Facts(rows=facts), *paragraphs(_to_complete(e), PEOPLE, HOW))
    return Section(id="sign-off", title=TITLE, blocks=blocks)


def _to_complete(e: RunReader) -> str:
    """Say in one line what must be completed before a signature."""
    empty = [key.replace("_", " ") for key in About.model_fields if key not in NO_TEXT and not e.about(key)]
    unowned = sum(e.action(finding)[0] == OPEN for finding in e.findings if finding.severity != "observation")
    still = [f"owner and due date of {count(unowned, 'finding')}"] * bool(unowned)
    still += [f"the texts on {joined(empty, len(empty))}"] * bool(empty)
    still += [f"the status, which is {clean(e.about('status') or 'draft', 20)}"] * (e.about("status") != "final")
    return f"To be completed: {'; '.join(still)}." if still else "Nothing is left to be completed."
