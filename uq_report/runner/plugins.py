"""Find, load and validate plugins: the one door, for built-ins and strangers alike.

The only user of `importlib.metadata`. Finding imports nothing; deny and require lists apply before any plugin is
imported; two plugins of one name in a group stop the run.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points
from itertools import pairwise
from operator import itemgetter
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ..checks.rule import Check
from ..core.engine.fast_path_evaluator import FastPath
from ..core.explainer import Costs, Explainer, HasCard, HasPriority, RunsAfter
from ..core.model import adapter as hooks
from ..core.model.measures import Measure
from ..core.support import errors
from ..core.support.errors import FOREIGN, MissingDependencyError, PluginError, installed, nearest, words_of
from ..document.document import DrawsFigures, Prepares, Renderer
from ..document.plots.registered import FigurePlugin, TakesCompanions
from ..document.slots import CHAPTERS, chapter_of
from ..reading.run_reader import SectionPlugin

EXPLAINERS = "uq_report.explainers"
ADAPTERS = "uq_report.adapters"
MEASURES = "uq_report.measures"
CHECKS = "uq_report.checks"
SECTIONS = "uq_report.sections"
FIGURES = "uq_report.figures"
RENDERERS = "uq_report.renderers"
LOADERS = "uq_report.loaders"
FAST_PATHS = "uq_report.fast_paths"

API_VERSION = 1
GROUPS = (EXPLAINERS, ADAPTERS, MEASURES, CHECKS, SECTIONS, FIGURES, RENDERERS, LOADERS, FAST_PATHS)
_HOW_TO_CALL = hooks.Unpacks, hooks.SharesCalls, hooks.FixedRowsOnly, hooks.PicksOutput
_WHAT_IT_KNOWS = hooks.Differentiates, hooks.HasScores
# The contract of each group, and its optional hooks.
_CONTRACTS: Mapping[str, tuple[type, tuple[type, ...]]] = {
    EXPLAINERS: (Explainer, (RunsAfter, HasCard, HasPriority, Costs, errors.NeedsLibraries)),
    ADAPTERS: (hooks.Adapter, (*_HOW_TO_CALL, *_WHAT_IT_KNOWS, errors.NeedsLibraries)),
    CHECKS: (Check, ()),
    SECTIONS: (SectionPlugin, ()),
    FIGURES: (FigurePlugin, (TakesCompanions,)),
    RENDERERS: (Renderer, (DrawsFigures, Prepares, errors.NeedsLibraries)),
    LOADERS: (hooks.Loader, (hooks.TakesOptions, hooks.Cautions, hooks.HasSha256, errors.NeedsLibraries)),
    FAST_PATHS: (FastPath, (errors.NeedsLibraries,)),
}
_TOOL_EXTRAS = frozenset({"test", "tests", "lint", "dev", "docs"})


class Plugin(NamedTuple):
    """One registered plugin, not imported; `content` is the object where one was passed in Python."""

    name: str
    distribution: str
    version: str
    entry: EntryPoint
    content: Any = None

    @property
    def group(self) -> str:
        """The entry-point group, ``uq_report.explainers`` for one."""
        return self.entry.group

    @property
    def short_group(self) -> str:
        """The group as people write it, ``explainers``."""
        return self.entry.group.removeprefix("uq_report.")

    def __str__(self) -> str:
        """Say which plugin of which distribution, for messages."""
        return f"{self.short_group} {self.name!r} of {self.distribution} {self.version}"

    @property
    def foreign(self) -> bool:
        """Whether it is not one of ours."""
        return self.distribution != "uq_report"

    def answers_to(self, word: str) -> bool:
        """Say whether `word` of a deny or require list means this plugin: its name, group.name or distribution."""
        return word in (self.name, f"{self.short_group}.{self.name}") or (_normal(word) == _normal(self.distribution))


Catalog = Mapping[str, tuple[Plugin, ...]]
SESSION = "this session"  # the distribution of objects that were passed in Python
_OFFERED: ContextVar[tuple[Plugin, ...]] = ContextVar("offered", default=())


@contextmanager
def offered(objects: Iterable[tuple[str, Any]]) -> Iterator[None]:
    """Register objects beside the installed plugins while the block runs: pairs of a group and a measure or class.

    An object that is installed under its name already is not registered again.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from uq_report.core.model.measures import ENTROPY
    >>> with offered([(MEASURES, replace(ENTROPY, name="mine"))]):
    ...     "mine" in [plugin.name for plugin in find(MEASURES)]
    True
    """
    new = []
    for (group, name), content in {(group, content.name): content for group, content in objects}.items():
        known = next((plugin for plugin in find(group) if plugin.name == name), None)
        if known is None or load(known) is not content:
            spelled = f"{getattr(content, '__module__', '')}:{getattr(content, '__name__', name)}"
            new.append(Plugin(name, SESSION, "", EntryPoint(name, spelled, group), content))
    token = _OFFERED.set((*_OFFERED.get(), *new))
    try:
        yield
    finally:
        _OFFERED.reset(token)


def find(group: str, deny: Iterable[str] = ()) -> tuple[Plugin, ...]:
    """List the plugins of one group by name, without importing them; two of one name are an error.

    Examples
    --------
    >>> [plugin.name for plugin in find("uq_report.renderers") if plugin.distribution == "uq_report"]
    ['html', 'junit', 'markdown', 'pdf']
    """
    if group not in GROUPS:
        raise PluginError(f"plugins.group must be a known group; got {group!r}. {nearest(group, GROUPS)}")
    plugins, _ = _split(group, deny)
    for a, b in pairwise(plugins):
        if a.name == b.name:
            raise PluginError(
                f"{group} must have one plugin named {a.name!r}; got one from {a.distribution} {a.version} "
                f"and one from {b.distribution} {b.version}. Uninstall one, or deny it by its distribution's name."
            )
    return plugins


def _split(group: str, deny: Iterable[str]) -> tuple[tuple[Plugin, ...], tuple[Plugin, ...]]:
    """List the installed plugins of a group, and those that a deny list keeps out."""
    words = tuple(deny)
    parts: tuple[list[Plugin], list[Plugin]] = [], []
    objects = [plugin for plugin in _OFFERED.get() if plugin.group == group]
    for plugin in sorted((*_installed(group), *objects), key=itemgetter(0, 1)):
        parts[any(plugin.answers_to(word) for word in words)].append(plugin)
    return tuple(parts[0]), tuple(parts[1])


def catalog(deny: Iterable[str] = (), require: Iterable[str] = ()) -> Catalog:
    """List the plugins of every group, after the deny list; refuse if a required one is missing."""
    words = tuple(deny)
    groups_of = {group: find(group, words) for group in GROUPS}
    everything = [plugin for plugins in groups_of.values() for plugin in plugins]
    for word in require:
        if not any(plugin.answers_to(word) for plugin in everything):
            why = "it is denied" if word in words else "it is not installed"
            names = {name for plugin in everything for name in (plugin.name, plugin.distribution)}
            raise PluginError(f"plugins.require must name found plugins; got {word!r}: {why}. {nearest(word, names)}")
    return groups_of


def denied(words: Iterable[str]) -> tuple[Plugin, ...]:
    """List the installed plugins that a deny list keeps out."""
    deny = tuple(words)
    return tuple(sorted(plugin for group in GROUPS for plugin in _split(group, deny)[1]))


def named(plugins: Iterable[Plugin], name: str, what: str) -> Plugin:
    """Return the plugin called `name`; say which one may be meant if there is none."""
    by_name = {plugin.name: plugin for plugin in plugins}
    if name not in by_name:
        hint = nearest(name, by_name) if by_name else "None is registered: install uq_report itself with pip."
        raise PluginError(f"{what} must be a registered name; got {name!r}. {hint}")
    return by_name[name]


def load(plugin: Plugin) -> Any:
    """Import one plugin and check it against its group's contract.

    Returns
    -------
    Measure or type
        A measure itself; for every other group a class, to be called with its options.

    Raises
    ------
    PluginError
        If the import fails, or the object breaks its contract; the message names the distribution.
    """
    try:
        loaded = plugin.entry.load() if plugin.content is None else plugin.content
    except MissingDependencyError:
        raise
    except FOREIGN as error:  # foreign code is imported: whatever it raises is told with its owner
        raise PluginError(
            f"{plugin} cannot be imported: {words_of(error).removesuffix('.')}.{_remedy(plugin, error)}"
        ) from error
    problems, name = breaches(plugin.group, loaded), getattr(loaded, "name", None)
    if name != plugin.name:
        problems.append(f"name must be the entry-point name {plugin.name!r}; got {name!r}")
    if problems:
        wrong = "; ".join(problems)
        raise PluginError(f"{plugin} breaks its contract: {wrong}. Upgrade or uninstall {plugin.distribution}.")
    return loaded


def breaches(group: str, loaded: Any) -> list[str]:
    """Return where a plugin breaks the contract of its group, as far as its declarations tell."""
    if group == MEASURES:
        problems = [] if isinstance(loaded, Measure) else [f"it must be a Measure; got a {type(loaded).__name__}"]
    elif isinstance(loaded, type):
        problems = list(_breaches(group, loaded))
    else:
        problems = [f"it must be a class; got a {type(loaded).__name__}"]
    api = getattr(loaded, "api_version", None)
    return [*problems, *([] if api == API_VERSION else [f"api_version must be {API_VERSION}; got {api!r}"])]


def _breaches(group: str, loaded: type) -> Iterator[str]:
    """Say where a class breaks the contract of its group, or half keeps an optional hook."""
    contract, hooks = _CONTRACTS[group]
    for protocol in (contract, *hooks):
        members, declared = _terms(protocol)
        missing = sorted(name for name in members if not hasattr(loaded, name))
        if missing and (protocol is contract or len(missing) < len(members)):
            yield f"it lacks {', '.join(missing)}"
        for name, annotation in declared.items():
            if name not in ("api_version", *missing) and not _fits(getattr(loaded, name), annotation):
                yield f"{name} must be {_words(annotation)}; got {getattr(loaded, name)!r}"
    if group == EXPLAINERS and not is_dataclass(loaded):
        yield "it must be a dataclass, whose fields are its options"
    slot = getattr(loaded, "slot", None)
    if group == SECTIONS and isinstance(slot, str) and chapter_of(slot) not in CHAPTERS:
        yield f"slot must be in a chapter of the report; got {slot!r}. {nearest(chapter_of(slot), CHAPTERS)}"


@cache
def _terms(protocol: type) -> tuple[frozenset[str], Mapping[str, Any]]:
    """Return the names a contract asks for, and the types it declares: reading these takes longer than all the rest."""
    members = (name for name in (*protocol.__annotations__, *vars(protocol)) if not name.startswith("_"))
    return frozenset(members), get_type_hints(protocol)


def _fits(value: Any, annotation: Any) -> bool:
    """Say whether a class variable is what its contract declares.

    Examples
    --------
    >>> _fits(("ice",), tuple[str, ...]), _fits("ice", tuple[str, ...]), _fits("rows", Literal["model", "data"])
    (True, False, False)
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is ClassVar:
        return _fits(value, parts[0])
    if origin is Literal:
        return value in parts
    if origin in (tuple, frozenset):
        return isinstance(value, origin) and all(isinstance(item, parts[0]) for item in value)
    return isinstance(value, origin or annotation)


def _words(annotation: Any) -> str:
    """Return the declared type as its contract spells it.

    Examples
    --------
    >>> _words(tuple[str, ...]), _words(str)
    ('tuple[str, ...]', 'str')
    """
    inner = get_args(annotation)[0] if get_origin(annotation) is ClassVar else annotation
    return inner.__name__ if get_origin(inner) is None else re.sub(r"\w+\.(?=\w)", "", str(inner))


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of distributions and of what they need directly, of those installed."""
    owners = set(distributions)
    needs = {name for owner in owners for name, extra in _requirements(owner) if extra not in _TOOL_EXTRAS}
    return dict(sorted(_owner(package) for package in map(_package, owners | needs) if package))


def lacking(plugin: Plugin, loaded: Any) -> str:
    """Say which libraries a loaded plugin needs and does not find, and how to get them; nothing if none is missing."""
    missing = [library for library in getattr(loaded, "libraries", ()) if not installed(library)]
    if not missing:
        return ""
    extra = _smallest_extra(missing[0], _requirements(plugin.distribution))
    remedy = f": pip install '{plugin.distribution}[{extra}]'" if extra else ""
    return f"needs {', '.join(missing)}, not installed{remedy}"


def extras(name: str) -> dict[str, tuple[str, ...]]:
    """Return the extras of a distribution, and the distributions that each adds to what it always needs."""
    required = _requirements(name)
    always = {_normal(library) for library, extra in required if not extra}
    return {
        extra: tuple(sorted({each for each, within in required if within == extra and _normal(each) not in always}))
        for extra in sorted({extra for _, extra in required if extra and extra not in _TOOL_EXTRAS})
    }


def _requirements(name: str) -> list[tuple[str, str]]:
    """Return what a distribution requires, each with its extra; nothing of one that is not installed."""
    package = _package(name)
    return [_requirement(line) for line in package.requires or ()] if package else []


def _requirement(line: str) -> tuple[str, str]:
    """Return the distribution a requirement line names, and its extra or the empty string.

    Examples
    --------
    >>> _requirement("onnxruntime>=1.8; extra == 'onnx'")
    ('onnxruntime', 'onnx')
    """
    name = re.match(r"[\w.-]+", line)
    extra = re.search(r"extra == ['\"]([^'\"]+)", line)
    return (name[0] if name else line), (extra[1] if extra else "")


def _remedy(plugin: Plugin, error: BaseException) -> str:
    """Name the extra of the plugin's distribution that brings a missing library."""
    missing = getattr(error, "name", None)
    if not isinstance(error, ModuleNotFoundError) or not missing:
        return ""
    library = str(missing).partition(".")[0]
    if library == plugin.entry.module.partition(".")[0]:
        return f" {plugin.distribution} lacks a part of itself: install it again."
    extra = _smallest_extra(library, _requirements(plugin.distribution))
    return f" Install it with: pip install '{plugin.distribution}[{extra}]'." if extra else f" Install {library}."


def _smallest_extra(library: str, required: Iterable[tuple[str, str]]) -> str:
    """Return the extra that brings a library and least else, or the empty string."""
    sizes = Counter(extra for _, extra in required)
    extras = [extra for name, extra in required if extra and _normal(name) == _normal(library)]
    return min(extras, key=sizes.__getitem__, default="")


def _installed(group: str) -> Iterator[Plugin]:
    """Yield the installed plugins of a group."""
    owner = cache(_owner)
    return (Plugin(entry.name, *owner(entry.dist), entry) for entry in entry_points(group=group))


def _owner(dist: Distribution | None) -> tuple[str, str]:
    """Return name and version of a distribution; its metadata lack them while pip is writing."""
    try:
        facts: Any = {} if dist is None else dist.metadata
    except OSError:  # of the backport importlib_metadata, which takes the finding over where it is imported
        facts = {}
    name, version = (str(facts[key]) if key in facts else "unknown" for key in ("Name", "Version"))
    return name, version


def _package(name: str) -> Distribution | None:
    """Return an installed distribution."""
    with suppress(PackageNotFoundError):
        return distribution(name)
    return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
