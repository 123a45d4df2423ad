"""What is installed, and what options it has."""

from ..core.support.calls import known_arguments
from ..core.support.errors import InputError, check_choice
from ..runner import plugins as registry
from ..runner.options import options_of
from .tables import TextTable


@known_arguments
def plugins(group: str | None = None) -> TextTable:
    """Return the installed plugins: group, name, distribution and version.

    Parameters
    ----------
    group : str, optional
        ``"explainers"``, ``"measures"``, ``"checks"``, ``"adapters"``, ``"renderers"`` ...; all by default.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/plugins.html

    Examples
    --------
    >>> plugins("renderers")["name"].tolist()
    ['html', 'junit', 'markdown', 'pdf']
    """
    known = {name.removeprefix("uq_report."): name for name in registry.GROUPS}
    if group is not None:
        check_choice("plugins.group", group, sorted(known))
    chosen = list(registry.GROUPS) if group is None else [known[group]]
    rows = [(p.short_group, p.name, p.distribution, p.version) for name in chosen for p in registry.find(name)]
    return TextTable(rows, columns=["group", "name", "distribution", "version"])


@known_arguments
def options(name: str) -> TextTable:
    """Return the options of an explainer or check: name, what is allowed, default and description.

    Parameters
    ----------
    name : str
        An explainer, ``"pfi"``, or a check, ``"checks.leak"``.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/explainers.html

    Examples
    --------
    >>> table = options("segments").set_index("option")
    >>> table.loc["max_leaf_nodes", ["allowed", "default"]].tolist()
    ['an integer', '6']
    """
    if not isinstance(name, str):
        raise InputError(f"options.name must be the name of an explainer, or checks.<name>; got {name!r}.")
    is_check = name.startswith("checks.")
    group, what = (registry.CHECKS, "check") if is_check else (registry.EXPLAINERS, "explainer")
    cls = registry.load(registry.named(registry.find(group), name.removeprefix("checks."), what))
    rows = [(o.name, o.allowed, o.default_text, o.about) for o in options_of(cls).values()]
    return TextTable(rows, columns=["option", "allowed", "default", "description"])
