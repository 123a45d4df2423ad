"""All that is needed to make this report again, and to see that it was not changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..blocks import make_table
from ..document import Block, Column, Facts, Paragraph, Section, Table
from ..evidence import Evidence, as_cell
from ..text import ABSENT, clean, name

RUNTIME = ("python", "platform")


def reproducibility(e: Evidence, sha256: str) -> Section:
    """Return hashes, seeds, settings, versions and the command that renders the report again."""
    text = (
        "The report is made from run.json alone: “uq-report render run.json” writes it again without the model. The "
        "same run.json, versions and fonts give the same bytes."
    )
    facts = Facts(
        rows=(
            ("Command", "uq-report render run.json"),
            ("SHA-256 of run.json", sha256),
            ("Logical date", e.run.as_of),
            ("Seed", as_cell(e.run.settings.get("seed"))),
            ("Run format", e.run.format),
            *((key.capitalize(), as_cell(e.run.environment.get(key))) for key in RUNTIME),
        )
    )
    blocks: tuple[Block, ...] = (
        Paragraph(text=text),
        facts,
        *_parameters(e),
        _settings(e),
        _versions(e),
        _options(e),
        _results(e),
    )
    return Section(id="reproducibility", title="Reproducibility", blocks=blocks)


def _parameters(e: Evidence) -> tuple[Table, ...]:
    rows = [(clean(key, 200), clean(value, 300)) for key, value in e.mapping("model_parameters").items()]
    columns = [Column("parameter"), Column("value")]
    return (make_table("model-parameters", "Parameters of the model.", columns, rows),) if rows else ()


def _settings(e: Evidence) -> Table:
    rows = [(name(key), _setting(value)) for key, value in flat(e.run.settings)]
    columns = [Column("setting"), Column("value")]
    return make_table("reproducibility-settings", "Settings of the run.", columns, rows or [(ABSENT, "")])


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings with dotted keys, in the order of the keys.

    Examples
    --------
    >>> list(flat({"seed": 1, "options": {"pfi": {"n_repeats": 5}}}))
    [('options.pfi.n_repeats', 5), ('seed', 1)]
    """
    for key, value in sorted(settings.items()):
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _setting(value: Any) -> str:
    """Return a setting as text; what was not set is the default."""
    return "default" if value is None or value == "" else clean(as_cell(value), 300)


def _versions(e: Evidence) -> Table:
    rows = [(name(key), clean(value)) for key, value in flat(e.run.environment) if key not in RUNTIME]
    rows = [(key.removeprefix("packages."), value) for key, value in rows]
    columns = [Column("package"), Column("version")]
    return make_table("reproducibility-versions", "Versions of the packages in use.", columns, rows or [(ABSENT, "")])


def _options(e: Evidence) -> Table:
    """List the options of each explainer that ran, which are its provenance."""
    used: dict[str, Mapping[str, Any]] = {}
    for result in e.run.results:
        used[result.explainer] = used.get(result.explainer) or result.options
    rows = [
        (name(explainer), "; ".join(f"{name(k)} = {_setting(v)}" for k, v in sorted(options.items())) or "none")
        for explainer, options in used.items()
    ]
    columns = [Column("explainer"), Column("options as used")]
    return make_table("reproducibility-options", "Options of each explainer.", columns, rows or [(ABSENT, "")])


def _results(e: Evidence) -> Table:
    columns = [Column("result"), Column("kind"), Column("rows", "integer"), Column("what it is")]
    rows = [(clean(r.id, 120), r.kind, len(r.frame), clean(r.title, 200)) for r in e.run.results]
    return make_table("reproducibility-results", "Results in the evidence.", columns, rows or [(ABSENT, "", 0, "")])
