"""Commands about this machine: which plugins there are, what one of them is, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.support.errors import RENDER, InputError, UQReportError, nearest
from .shared import app, print_table, say

if TYPE_CHECKING:
    from ..core.model.measures import Measure
    from ..runner import plugins as door
    from ..runner.options import Option

WIDTH = 80


@app.command(epilog="Example: uq-report plugins pfi")
def plugins(
    name: Annotated[str | None, typer.Argument(help="Tell of this one: cid, explainers.cid, checks.leak.")] = None,
) -> None:
    """List every plugin with its version, distribution and API version, or tell what one of them is and takes."""
    from ..runner import plugins as door

    everything = [plugin for group in door.catalog().values() for plugin in group]
    if name is None:
        _list(everything)
    else:
        _describe(everything, name)


def _list(everything: list[door.Plugin]) -> None:
    from ..runner import plugins as door

    rows = [("GROUP", "NAME", "DISTRIBUTION", "VERSION", "API", "STATE")]
    for plugin in everything:
        try:
            loaded = door.load(plugin)
            api, state = str(loaded.api_version), door.lacking(plugin, loaded) or "ready"
        except UQReportError as error:
            api, state = "-", str(error)
        rows.append((plugin.short_group, plugin.name, plugin.distribution, plugin.version, api, state))
    print_table(rows)


def _describe(everything: list[door.Plugin], name: str) -> None:
    """Print every plugin of a name, or of ``group.name``."""
    keys = {f"{plugin.short_group}.{plugin.name}": plugin for plugin in everything}
    chosen = [plugin for key, plugin in keys.items() if name in (key, plugin.name)]
    if not chosen:
        hint = nearest(name, {*keys, *(plugin.name for plugin in everything)})
        remedy = hint if hint.startswith("Did") else "List them with: uq-report plugins."
        raise InputError(f"plugins.name must be a registered name; got {name!r}. {remedy}")
    say("\n\n".join("\n".join(_lines(plugin)) for plugin in chosen))


def _lines(plugin: door.Plugin) -> Iterator[str]:
    """Yield what a plugin is: where it comes from, what it does, and what it takes."""
    from ..core.model.measures import Measure
    from ..runner import plugins as door
    from ..runner.options import options_of, summary

    yield f"{plugin.short_group}.{plugin.name}  ({plugin.distribution} {plugin.version})"
    try:
        loaded = door.load(plugin)
    except UQReportError as error:
        yield _wrapped(f"Cannot be used: {error}", 2)
        return
    if isinstance(loaded, Measure):
        yield from _measure(loaded)
        return
    yield _wrapped(summary(loaded) or "It has no description.", 2)
    if lacking := door.lacking(plugin, loaded):
        yield _wrapped(f"Cannot be used: it {lacking}.", 2)
    for option in options_of(loaded).values():
        yield ""
        yield from _option(option)


def _measure(measure: Measure) -> Iterator[str]:
    yield _wrapped(measure.title or measure.name, 2)
    meaning = {"loss": f"{measure.direction} is worse", "uncertainty": f"{measure.direction} is less certain"}
    facts = {
        "unit": measure.unit,
        "role": measure.role,
        "direction": meaning.get(measure.role, "none"),
        "needs y": "yes" if measure.needs_y else "no",
    }
    for name, fact in facts.items():
        yield f"  {name:<9}  {fact}"


def _option(option: Option) -> Iterator[str]:
    """Yield an option with its type and default, and what it is for."""
    default = f", default {option.default_text}" if option.default_text else ", must be given"
    yield _wrapped(f"{option.name}: {option.allowed}{default}", 2, 6)
    if option.about:
        yield _wrapped(option.about, 6)


def _wrapped(text: str, indent: int, further: int | None = None) -> str:
    """Return a paragraph of at most 80 columns, its later lines at a further indent."""
    later = " " * (indent if further is None else further)
    wrapper = TextWrapper(WIDTH, " " * indent, later, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(text)


@app.command(epilog="Example: uq-report docs UQ101")
def docs(code: Annotated[str, typer.Argument(help="A finding code, such as UQ101.")]) -> None:
    """Print the page of a finding code: meaning, rule, thresholds, measured false alarms and power, and remedy."""
    from ..checks.pages import page
    from ..runner import plugins as door

    checks = {plugin.name: door.load(plugin)() for plugin in door.find(door.CHECKS)}
    rules = {rule.code: (rule, name) for name, check in checks.items() for rule in check.rules}
    if code.upper() not in rules:
        raise InputError(f"docs.code must be a finding code; got {code!r}. {nearest(code.upper(), rules)}")
    say(page(*rules[code.upper()]).rstrip())


@app.command(epilog="Example: uq-report doctor")
def doctor() -> None:
    """Check what a full audit needs on this machine."""
    from ..ops.doctor import examine

    findings = examine()
    print_table([("CHECK", "STATE", "DETAIL"), *((f.what, f.state, f.detail) for f in findings)])
    if any(f.state == "missing" for f in findings):
        raise typer.Exit(RENDER)
