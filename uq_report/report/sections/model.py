"""The audited model and its owner: model and purpose, data and lineage, sign-off."""

from collections.abc import Mapping

from ...core.support.text import count
from ...document.blocks import MAX_ROWS, make_section, make_table, paragraphs, tables
from ...document.document import Block, Callout, Cell, Column, Facts, Section
from ...document.text import ABSENT, clean, items, joined, name, plain
from ...evidence.subject import FeatureFacts, SubjectFacts
from ...reading.run_reader import OPEN, RunReader, as_cell
from ...runner.settings import About
from ..placing import PluginSections

LEAD = "Statements by the owner are taken from the settings of the audit; those not made are marked as open."
TEXTS = (
    ("Purpose", "purpose"), ("Intended use", "intended_use"), ("Out of scope", "out_of_scope"),
    ("Assumptions and design choices", "assumptions"), ("Materiality: exposure and reliance", "materiality"),
    ("Users", "users"), ("Owner", "owner"), ("Tier", "tier"), ("Response when a threshold is breached", "response"),
    ("Next review", "next_review"),
)  # fmt: skip
IDENTITY = (
    ("Name", "label"), ("Version", "about.version"), ("Class", "model_class"), ("File", "sources.model"),
    ("Caution", "sources.model_loading"), ("SHA-256", "hashes.model"), ("Task", "task"),
    ("Predictive distribution", "family"), ("Classes", "classes"),
)  # fmt: skip
READ = (("Decision rule", "decisions"), ("Adapter", "adapter"), ("Reason for this adapter", "adapter_reason"))
OPTIONAL = ("Caution", "Decision rule", "How it is called")  # left out where they are not recorded
WITH_METHODS = ("assumptions", "response")  # shown by the sections by method


def model(e: RunReader, *, whole: bool = True) -> Section:
    """Return purpose and materiality, the identity of the model, and its non-default parameters, or all of them."""
    texts = [(label, key) for label, key in TEXTS if not (whole and key in WITH_METHODS)]
    purpose = Facts(rows=tuple((label, e.about_cell(key)) for label, key in texts))
    identity = make_section("model-identity", "Identity", (Facts(rows=_identity(e)),))
    parameters = make_section("model-parameters", "Parameters", _parameters(e, whole=whole))
    return make_section("model", "Model, purpose and materiality", (*paragraphs(LEAD), purpose), (identity, parameters))


def _identity(e: RunReader) -> tuple[tuple[str, Cell], ...]:
    several = len(e.subject.classes or ()) > 2  # of which none is positive
    positive = ("Class whose probability is shown" if several else "Positive class", "positive_class")
    rows = e.facts((*IDENTITY, positive, *READ))
    notes = [("How it is called", as_cell(" ".join(e.subject.notes)))]
    return tuple(row for row in (*rows, *notes) if row[0] not in OPTIONAL or row[1] != ABSENT)


def chosen(e: RunReader) -> dict[str, str] | None:
    """Return the model's parameters that differ from their defaults; None where that is not recorded."""
    at_default = e.subject.parameters_at_default
    if at_default is None:
        return None
    return {key: value for key, value in e.subject.model_parameters.items() if key not in at_default}


def _parameters(e: RunReader, *, whole: bool) -> tuple[Block, ...]:
    every, differing = e.subject.model_parameters, chosen(e)
    if not every:
        return paragraphs("No parameters were recorded.")
    rows = [(clean(key, 200), clean(value, 300)) for key, value in (every if whole else differing or {}).items()]
    caption = "Parameters of the model." if whole else "Parameters of the model that differ from their defaults."
    table = tables("model-parameters-table", caption, ("parameter", "value"), rows)
    return (*paragraphs(_counted(len(every), differing)), *table)


def _counted(many: int, differing: dict[str, str] | None) -> str:
    """Say how many parameters differ from their defaults.

    Examples
    --------
    >>> _counted(43, {"max_depth": "8"}), _counted(1, None)
    ('1 of 43 parameters differs from its default.', '1 parameter was recorded; defaults are not known.')
    """
    if differing is None:
        return f"{count(many, 'parameter')} {'was' if many == 1 else 'were'} recorded; defaults are not known."
    if not differing:
        return f"None of {count(many, 'parameter')} differs from its default."
    verb = "differs from its default" if len(differing) == 1 else "differ from their defaults"
    return f"{len(differing)} of {count(many, 'parameter')} {verb}."


ORIGIN = (
    ("Origin", "about.data_origin"), ("Split into training and test sample", "about.data_split"),
    ("Licence", "about.data_licence"),
)  # fmt: skip
LEVELS = 4
SOURCES = {
    "ignored": "Columns left out", "query": "Query of the data", "train_query": "Query of the training data",
    "data_columns": "Columns of the data, as read", "train_columns": "Columns of the training data, as read",
    "train_against_data": "Data against the training data",
}  # fmt: skip
HASHED = {
    "data_file": "the file of the data", "train_file": "the file of the training data", "model": "the model",
    "X": "the test sample", "y": "the outcomes", "train_X": "the training sample", "train_y": "the training outcomes",
}  # fmt: skip


def data(e: RunReader, placed: PluginSections, *, whole: bool = True) -> Section:
    """Return origin and facts of the test sample, and hashes; in full every feature and the quality of the data."""
    parts = (
        make_section("data-rows", "Test sample and features", _rows_and_features(e.subject, whole=whole)),
        *(placed.chapter("data") if whole else ()),
        make_section("hashes", "Hashes", _hashes(e.subject.hashes)),
    )
    return make_section("data", "Data and lineage", (Facts(rows=_lineage(e)),), parts)


def _lineage(e: RunReader) -> tuple[tuple[str, Cell], ...]:
    """Return the stated origin of the data, and the names of its files."""
    files = tuple(
        (SOURCES.get(key, f"File or column of {name(key)}"), as_cell(source))
        for key, source in e.subject.sources.items()
        if key not in ("model", "model_loading")
    )
    return (*e.facts(ORIGIN), *files)


def _rows_and_features(about: SubjectFacts, *, whole: bool) -> tuple[Block, ...]:
    together = [f"{name(group)}: {joined(items(members))}" for group, members in about.groups.items()]
    drawn = f"{about.sampled_from} observations, at random" if about.sampled_from else "all observations given"
    facts = (
        ("Observations", as_cell(about.n)),
        ("Drawn from", drawn),
        ("Features", as_cell(about.d)),
        ("Outcomes given", as_cell(about.has_y)),
        ("Training data given", trained_words(about)),
        ("Sample weights", as_cell(about.weights)),
        _dependence(about),
        ("Feature groups", "; ".join(together) or "none"),
        ("Protected attributes", as_cell(about.protected) if about.protected else "none named"),
        *_outcome(about),
    )
    features = (*(_features(about.features) if whole else ()), *_every_name(about.features))
    return (Facts(rows=facts), *_warnings(about.features), *features)


def trained_words(about: SubjectFacts) -> str:
    """Say whether a training sample was given, and how large it is."""
    return f"yes, {count(about.n_train or 0, 'observation')}" if about.has_train else "no"


def _dependence(about: SubjectFacts) -> tuple[str, Cell]:
    """Return the stated dependence between observations."""
    if about.block_length is None or about.clusters is None:
        return "Clusters of observations", about.clusters or "none"
    blocks, length = count(about.clusters, "block"), count(about.block_length, "successive observation")
    return "Observations in order of time", f"{blocks} of about {length} (length {about.block_rule})"


def _outcome(about: SubjectFacts) -> tuple[tuple[str, Cell], ...]:
    """Return the facts of the outcome; counts by class where there are classes."""
    facts = {key: as_cell(value) for key, value in about.y_summary.items()}
    counts = about.y_summary.get("counts")
    if about.classes is not None and isinstance(counts, list | tuple):
        facts["counts"] = joined([f"{name(c)}: {n}" for c, n in zip(about.classes, counts, strict=False)])
    return tuple((f"Outcome, {name(key).replace('_', ' ')}", cell) for key, cell in facts.items())


def _warnings(features: tuple[FeatureFacts, ...]) -> tuple[Block, ...]:
    """Return a warning for columns that make importances misleading."""
    constant = [name(f.name) for f in features if f.constant]
    copies = [f"{name(f.name)} duplicates {name(f.duplicate_of)}" for f in features if f.duplicate_of]
    missing = [f"{name(f.name)} ({f.missing})" for f in features if f.missing]
    warnings = (
        (constant, "Constant columns", "Use by the model cannot be assessed on the test sample: {}."),
        (copies, "Duplicates", "{}. Duplicates share their importance."),
        (missing, "Missing values", "Observations with a missing value, by feature: {}."),
    )
    return tuple(Callout(tone="warning", title=t, text=text.format(joined(f))) for f, t, text in warnings if f)


def _features(features: tuple[FeatureFacts, ...]) -> tuple[Block, ...]:
    if not features:
        return paragraphs("The features were not recorded.")
    numbers = (Column("distinct", "integer"), Column("missing", "integer"))
    columns = ("feature", "kind", "range or most frequent levels", *numbers)
    rows = [(name(f.name), clean(f.kind), _range(f), f.distinct, f.missing) for f in features]
    return (make_table("data-features", "Features of the test sample.", columns, rows),)


def _every_name(features: tuple[FeatureFacts, ...]) -> tuple[Block, ...]:
    """Name every feature where tables print only the first ones."""
    if len(features) <= MAX_ROWS:
        return ()
    names = "; ".join(name(feature.name) for feature in features)
    return (Facts(rows=((f"All {len(features)} features, in the order of the columns", names),)),)


def _range(feature: FeatureFacts) -> str:
    if feature.top_levels:
        return joined([f"{name(level)} ({times})" for level, times in feature.top_levels], LEVELS)
    if feature.min is None or feature.max is None:
        return ABSENT
    return " to ".join(plain(x) if isinstance(x, int | float) else clean(x) for x in (feature.min, feature.max))


def _hashes(hashes: Mapping[str, str]) -> tuple[Block, ...]:
    rows = tuple((f"SHA-256 of {HASHED.get(key, name(key))}", as_cell(value)) for key, value in hashes.items())
    text = "This report applies only to the model and data with these hashes."
    return (*paragraphs(text), Facts(rows=rows or (("Hashes", as_cell(None)),)))


BLANK = "____________________"
ROLES = (("Preparer", "preparer"), ("Reviewer", "validator"), ("Approver", "approver"))
HOW = (
    "Verify the file with “uq-report verify --deep report.pdf”; once it is final, sign it with “uq-report sign "
    "report.pdf”."
)
PEOPLE = (
    "The reviewer judges whether law and policy permit the features, whether effects agree with domain knowledge, and "
    "whether test sample, thresholds and severities suit the use."
)
SIGNED = (
    ("Author of this report", "about.author"), ("Independence of the review", "about.independence"),
    ("Signatures", "about.signers"), ("Status", "about.status"),
)  # fmt: skip
# what need not be completed
NO_TEXT = ("title", "status", "classification", "signers", "observation", "unit", "legal_basis")


def sign_off(e: RunReader) -> Section:
    """Return the lines to sign, the open items, and how to verify and sign the file."""
    rows = [(role, e.about_cell(key), BLANK, BLANK) for role, key in ROLES]
    table = make_table("sign-off-table", "Signatures.", ("role", "name", "date", "signature"), rows)
    facts = e.facts(row for row in SIGNED if row[1] != "about.signers" or e.about("signers"))
    blocks: tuple[Block, ...] = (table, Facts(rows=facts), *paragraphs(_to_complete(e), PEOPLE, HOW))
    return make_section("sign-off", "Sign-off", blocks)


def _to_complete(e: RunReader) -> str:
    """Return the items to complete before a signature, in one line."""
    shown = {key.removeprefix("about.") for _, key in (*ROLES, *SIGNED)}
    keys = (key for key in About.model_fields if key not in NO_TEXT and key not in shown)
    empty = [key.replace("_", " ") for key in keys if not e.about(key)]
    unowned = sum(e.action(finding)[0] == OPEN for finding in e.findings if finding.severity != "observation")
    still = [f"owner and due date of {count(unowned, 'finding')}"] * bool(unowned)
    still += [f"the texts on {joined(empty, len(empty))}"] * bool(empty)
    still += [f"the status ({clean(e.about('status') or 'draft', 20)})"] * (e.about("status") != "final")
    return f"To be completed: {'; '.join(still)}." if still else "All items are complete."
