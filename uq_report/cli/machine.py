"""Commands about this machine: which plugins there are, and what is missing."""

from __future__ import annotations

import typer

from .shared import RENDER, app, print_table, told


@app.command()
def plugins() -> None:
    """List every plugin with its version, distribution and API version."""
    with told():
        from .. import plugins as door
        from ..core.errors import UQReportError

        rows = [("GROUP", "NAME", "DISTRIBUTION", "VERSION", "API", "STATE")]
        for found in door.catalog().values():
            for plugin in found:
                try:
                    api, state = str(door.load(plugin).api_version), "ready"
                except UQReportError as error:
                    api, state = "-", str(error)
                rows.append((plugin.short_group, plugin.name, plugin.distribution, plugin.version, api, state))
        print_table(rows)


@app.command()
def doctor() -> None:
    """Check what a full audit needs on this machine."""
    with told():
        from ..doctor import examine

        findings = examine()
        print_table([("CHECK", "STATE", "DETAIL"), *((f.what, f.state, f.detail) for f in findings)])
        if any(f.state == "missing" for f in findings):
            raise typer.Exit(RENDER)
