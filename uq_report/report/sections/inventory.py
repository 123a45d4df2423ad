"""The plugins of a run: those of other distributions by name, and in full every one as it was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Block, Bullets, Column, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, joined, name
from ...evidence.run import PluginRecord
from ...runner.plugins import Plugin

OURS = "uq_report"
USED = ("explainers", "rules", "measures")  # whose work is in the numbers


def inventory(e: Evidence, *, whole: bool) -> Section:
    """Return how many plugins worked, those of other distributions, and the whole list if asked to."""
    if not e.run.plugins:
        return Section(id="plugins", title="Plugins", blocks=(Paragraph(text="The plugins were not recorded."),))
    blocks: list[Block] = [Paragraph(text=_counted(e.run.plugins)), *_strangers(e.run.plugins)]
    if whole:
        blocks.append(_table(e.run.plugins))
    return Section(id="plugins", title="Plugins", blocks=tuple(blocks))


def foreign(plugin: PluginRecord | Plugin) -> bool:
    """Say whether a plugin comes from another distribution."""
    return plugin.distribution.replace("-", "_") != OURS


def group_of(plugin: PluginRecord) -> str:
    """Return the group of a plugin without our name."""
    return clean(plugin.group).removeprefix(f"{OURS}.")


def _counted(plugins: Sequence[PluginRecord]) -> str:
    """Count the plugins whose work is in the numbers, and say whether any is not ours."""
    groups = Counter(group_of(plugin) for plugin in plugins)
    counts = joined([count(groups[group], group.removesuffix("s")) for group in USED if groups[group]])
    found = f"Found: {counts}." if counts else ""
    strangers = "" if any(map(foreign, plugins)) else "All plugins come with this package."
    return " ".join(filter(None, (found, strangers)))


def _strangers(plugins: Sequence[PluginRecord]) -> list[Block]:
    """Name the plugins of other distributions, with what they did."""
    lines = tuple(
        f"{name(p.name)} ({group_of(p).removesuffix('s')}) of {name(p.distribution)} {name(p.version)}: "
        f"{clean(p.outcome, 200).rstrip('.')}, {count(p.rows_predicted, 'row')} predicted for it."
        for p in plugins
        if foreign(p)
    )
    return [Paragraph(text="From other packages:"), Bullets(items=lines)] if lines else []


def _table(plugins: Sequence[PluginRecord]) -> Block:
    numbers = (Column("API", "integer"), Column("rows predicted", "integer"))
    columns = ("group", "name", "distribution", "version", *numbers, "outcome")
    rows = [
        (
            group_of(p),
            name(p.name),
            name(p.distribution),
            name(p.version),
            p.api_version,
            p.rows_predicted,
            clean(p.outcome, 200),
        )
        for p in plugins
    ]
    caption = "Every plugin that was found, with the rows predicted for it and how it ended."
    return make_table("plugins-table", caption, columns, rows)
