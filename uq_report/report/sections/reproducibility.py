"""Reproducibility: settings, versions, plugins, cards of the methods, glossary and works cited."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.support.references import WORKS, cite
from ...core.support.text import count
from ...document.blocks import bullets, make_section, make_table, paragraphs, tables
from ...document.document import Block, Callout, Cell, Column, Facts, Section, Table, texts
from ...document.text import ABSENT, clean, joined, name, spaced
from ...evidence import ids
from ...evidence.run import MethodRecord, PluginRecord
from ...reading.run_reader import RunReader, as_cell, version
from ...runner.plugins import Plugin

RUNTIME = ("python", "platform")
LEAD = (
    "The report is rendered from run.json alone: the rebuild command renders it again without the model, and the "
    "verify command checks hashes, printed numbers and bytes. The same run.json, versions and fonts give the same "
    "bytes. To recompute the numbers, audit the model and the data with these hashes, settings and versions."
)
FILES = (
    "Attached to the PDF: run.json (machine-readable); the estimates of each result as “<result>.estimates.csv”, "
    "except for curves and local explanations; and “table-….csv” for tables that are not printed in full. In CSV files "
    "text that a spreadsheet would interpret as a formula has a leading '."
)
ELSEWHERE = ("about", "actions", "waivers")  # settings that stand with what they are about
OURS = "uq_report"
WORKING = ("explainers", "checks", "measures")  # plugins whose work is in the numbers
COMPUTING = ("uq_report", "numpy", "pandas", "scipy", "scikit-learn")
PAGES = ("matplotlib", "Jinja2", "weasyprint")
PACKAGED = (ids.DALEX, ids.SHAP)  # explainers that a package of their name computes
OF_MODELS = {"sklearn": "scikit-learn", "onnx": "onnxruntime"}  # a module's package, where it has another name


def reproducibility(e: RunReader, sha256: str, *, whole: bool = True) -> Section:
    """Return how to rebuild and verify the report, with hashes, settings, versions and plugins."""
    parts = [
        make_section("reproducibility-settings", "Settings", _settings(e, whole=whole)),
        make_section("reproducibility-versions", "Versions", _versions(e, whole=whole)),
        inventory(e, whole=whole),
    ]
    if whole:
        parts.append(make_section("reproducibility-evidence", "Evidence", (_results(e),)))
    blocks = (*_warning(e), *paragraphs(LEAD), Facts(rows=_facts(e, sha256)), *paragraphs(FILES))
    return make_section("reproducibility", "Reproducibility", blocks, tuple(parts))


def _warning(e: RunReader) -> tuple[Block, ...]:
    """Return a warning where another run may give other numbers."""
    reason = clean(e.run.not_reproducible)
    if not reason:
        return ()
    text = f"Another run of the same inputs may give other results: {reason}. Omitted parts are listed as not run."
    return (Callout(tone="warning", title="This run is not reproducible", text=text),)


def _facts(e: RunReader, sha256: str) -> tuple[tuple[str, Cell], ...]:
    return (
        ("Rebuild", "uq-report render run.json"),
        ("Verify", "uq-report verify --deep report.pdf"),
        ("SHA-256 of run.json", sha256),
        ("Logical date", clean(e.run.as_of, 20)),
        ("Seed", as_cell(e.run.settings.get("seed"))),
        ("Level of intervals", as_cell(e.confidence)),
        ("Run format", e.run.format),
    )


def _settings(e: RunReader, *, whole: bool) -> tuple[Block, ...]:
    """Return the settings that differ from their defaults, and the number of the others."""
    every = [*flat(e.run.settings)]
    own = [(key, value) for key, value in every if key.partition(".")[0] not in ELSEWHERE]
    # seed, level and date have lines of their own
    chosen = [(k, v) for k, v in own if k not in ("seed", "confidence", "as_of") and not _default(k, v)]
    listed = [(k, v) for k, v in every if v or not k.startswith("about.")] if whole else chosen
    caption = "Settings of the run." if whole else "Settings that differ from their defaults."
    table = tables("settings-table", caption, ("setting", "value"), [(name(k), _setting(v)) for k, v in listed])
    rest = f"{count(len(own) - len(chosen), 'other setting')} and all options not named are at their defaults."
    text = rest if chosen else "All settings and options are at their defaults."
    return (*paragraphs(text), *table, *([_options(e)] if whole else []))


def _default(key: str, value: Any) -> bool:
    """Say whether a setting has its default: not set, or for fast paths, on."""
    return value is True if key == "fast_paths" else value in (None, "", [], {}, ())


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings with dotted keys, in the order of the keys.

    Examples
    --------
    >>> list(flat({"seed": 1, "options": {"mine": {"n_repeats": 5}}}))
    [('options.mine.n_repeats', 5), ('seed', 1)]
    """
    for key, value in sorted(settings.items()):
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _setting(value: Any) -> str:
    """Return a setting as text, ``"default"`` where it was not set; empty parts of a list are left out."""
    if isinstance(value, list | tuple):
        value = [{k: v for k, v in x.items() if v != ""} if isinstance(x, Mapping) else x for x in value]
    return "default" if value is None or value == "" else clean(as_cell(value), 300)


def _versions(e: RunReader, *, whole: bool) -> tuple[Block, ...]:
    """Return the versions of the packages that computed the numbers and the pages; in full of all packages."""
    rows = (
        ("Numbers", _with_versions(e, computing(e))),
        ("Pages", _with_versions(e, PAGES)),
        ("Python", as_cell(e.run.environment.get("python"))),
        ("Platform", as_cell(e.run.environment.get("platform"))),
    )
    return (Facts(rows=rows), *([_every_version(e)] if whole else []))


def computing(e: RunReader) -> tuple[str, ...]:
    """Return the packages that computed this run's numbers: ours, those of explainers, and the model's own."""
    used = {result.explainer for result in e.results}
    module = e.subject.model_class.partition(".")[0]
    own = OF_MODELS.get(module, module)
    return tuple(dict.fromkeys((*COMPUTING, *(key for key in PACKAGED if key in used), own)))


def _with_versions(e: RunReader, packages: Iterable[str]) -> str:
    versions = [(package, version(e.run.environment, package)) for package in packages]
    return joined([f"{clean(package, 40)} {clean(number, 40)}" for package, number in versions if number], 20) or ABSENT


def _every_version(e: RunReader) -> Table:
    every = [(name(key), clean(value)) for key, value in flat(e.run.environment) if key not in RUNTIME]
    rows = [(key.removeprefix("packages."), value) for key, value in every]
    caption = "Versions of all installed packages."
    return make_table("versions-table", caption, ("package", "version"), rows or [(ABSENT, "")])


def _options(e: RunReader) -> Table:
    """List the options of each explainer that ran, which are its provenance."""
    rows = [
        (name(m.name), "; ".join(f"{name(k)} = {_setting(v)}" for k, v in sorted(m.options.items())) or "none")
        for m in e.run.methods
    ]
    columns = ("explainer", "options as used")
    return make_table("options-table", "Options of each explainer.", columns, rows or [(ABSENT, "")])


def _results(e: RunReader) -> Table:
    columns = [Column("result"), Column("kind"), Column("lines", "integer"), Column("what it is")]
    rows = [(clean(r.id, 120), r.kind, len(r.frame), clean(r.title, 200)) for r in e.run.results]
    return make_table("results-table", "Results in the evidence.", columns, rows or [(ABSENT, "", 0, "")])


def inventory(e: RunReader, *, whole: bool) -> Section:
    """Return the number of plugins, those of other distributions, and if `whole` all of them."""
    plugins = e.run.plugins
    blocks: tuple[Block, ...] = paragraphs("The plugins were not recorded.")
    if plugins:
        listed = [_every_plugin(plugins)] if whole else []
        blocks = (*paragraphs(_counted(plugins)), *_fast_paths(plugins), *_strangers(plugins), *listed)
    return make_section("plugins", "Plugins", blocks)


def foreign(plugin: PluginRecord | Plugin) -> bool:
    """Say whether a plugin comes from another distribution."""
    return plugin.distribution.replace("-", "_") != OURS


def group_of(plugin: PluginRecord) -> str:
    """Return the group of a plugin without our name."""
    return clean(plugin.group).removeprefix(f"{OURS}.")


def _counted(plugins: Sequence[PluginRecord]) -> str:
    """Count the plugins that contributed numbers, and say whether any is of another distribution."""
    numbers = Counter(map(group_of, plugins))
    counts = joined([count(numbers[kind], kind.removesuffix("s")) for kind in WORKING if numbers[kind]])
    ours = "" if any(map(foreign, plugins)) else "All plugins come with this package."
    return spaced(f"In use: {counts}." if counts else "", ours)


def _fast_paths(plugins: Sequence[PluginRecord]) -> tuple[Block, ...]:
    """Name the fast paths that predicted in place of the model, and their deviation from it."""
    used = [p for p in plugins if group_of(p) == "fast_paths" and " predictions" in clean(p.outcome)]
    lines = bullets(f"{name(p.name)}: {clean(p.outcome, 400).rstrip('.')}." for p in used)
    lead = "Changed observations were predicted from the structure of the model, by these fast paths:"
    return (*paragraphs(lead if lines else ""), *lines)


def _strangers(plugins: Sequence[PluginRecord]) -> tuple[Block, ...]:
    """Name the plugins of other distributions, with their outcome."""
    lines = bullets(
        f"{name(p.name)} ({group_of(p).removesuffix('s')}) of {name(p.distribution)} {name(p.version)}: "
        f"{clean(p.outcome, 200).rstrip('.')}, {count(p.rows_predicted, 'prediction')}."
        for p in plugins
        if foreign(p)
    )
    return (*paragraphs("From other packages:" if lines else ""), *lines)


def _every_plugin(plugins: Sequence[PluginRecord]) -> Table:
    numbers = (Column("API", "integer"), Column("predictions", "integer"))
    columns = ("group", "name", "distribution", "version", *numbers, "outcome")
    ends = ((p.api_version, p.rows_predicted, clean(p.outcome, 200)) for p in plugins)
    names = ((group_of(p), name(p.name), name(p.distribution), name(p.version)) for p in plugins)
    rows = [(*identity, *end) for identity, end in zip(names, ends, strict=True)]
    caption = "All plugins, with the number of predictions for each and the outcome."
    return make_table("plugins-table", caption, columns, rows)


UNITS = "All logarithms are natural; entropy and the negative log-likelihood are in nats."
# term of the report -> its definition
TERMS: Mapping[str, str] = tomllib.loads(
    Path(__file__).parents[1].joinpath("glossary.toml").read_text(encoding="utf-8")
)
_END = re.compile(r"\.\s(?=[A-Z])|;\s")  # of a sentence or a half of one, not of an abbreviation


def methods(e: RunReader, *, whole: bool = True) -> Section:
    """Return the methods that have results in this run: a paragraph on each, or their cards in full."""
    rows = tuple((clean(method.card.title, 120), in_short(method)) for method in e.methods_in_use)
    blocks = (*paragraphs(UNITS), *((Facts(rows=rows),) if not whole else ()))
    if not rows:
        did = "The methods of this run were not recorded." if e.results else "No method has results in this run."
        blocks = paragraphs(did)
    sections = tuple(map(_card, e.methods_in_use)) if whole else ()
    return make_section("methods", "Methods", blocks, sections)


def in_short(method: MethodRecord) -> str:
    """Return the definition of a method, its first assumption and failure mode, and its source, as one paragraph."""
    card = method.card
    parts = (
        clean(card.definition),
        _labelled("Assumes", card.assumes),
        _labelled("Failure mode", card.fails),
        f"Source: {cite(card.references).rstrip('.')}." if card.references else "",
    )
    return spaced(*parts)


def _labelled(label: str, text: str) -> str:
    first = _END.split(clean(text), maxsplit=1)[0].rstrip(".")
    return f"{label}: {first}." if first else ""


def _card(method: MethodRecord) -> Section:
    card = method.card
    options = [(key, value) for key, value in sorted(method.options.items()) if value is not None]
    rows = (
        ("Definition", clean(card.definition)),
        ("Assumptions", clean(card.assumes)),
        ("Failure modes", clean(card.fails)),
        ("Intervals", clean(card.interval)),
        ("Options", joined([f"{name(key)}: {clean(value, 60)}" for key, value in options], 20)),
        ("Source", f"{cite(card.references).rstrip('.')}." if card.references else ""),
    )
    facts = Facts(rows=tuple((label, text) for label, text in rows if text))
    return make_section(f"method-{method.name}", clean(card.title, 120), (facts,))


def references(sections: Iterable[Section]) -> Section:
    """Return the glossary of the terms and the list of the works in `sections`."""
    text = "\n".join(texts(sections))
    terms = tuple(pair for pair in TERMS.items() if re.search(rf"\b{re.escape(pair[0])}\b", text, re.IGNORECASE))
    works = bullets(f"{work.short.rstrip('.')}. {work.full}" for work in WORKS.values() if work.short in text)
    explained: tuple[Block, ...] = (Facts(rows=terms),) if terms else paragraphs("No term of the glossary is used.")
    parts = (
        make_section("works", "Works cited in this report", works or paragraphs("No work is cited.")),
        make_section("glossary", "Terms used in this report", explained),
    )
    return Section(id="references", title="References and glossary", sections=parts, appendix=True)
