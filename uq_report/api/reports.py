"""The files of a report: what they need is looked at before anything is computed, and each fails by itself."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..core.engine.fast_path_evaluator import Progress
from ..core.support.errors import FOREIGN, InputError, RenderError, UQReportError, words_of
from ..document.document import Document, Prepares
from ..evidence.run import Run
from ..report.kinds import check_form, document
from ..runner import plugins
from .arguments import names
from .showing import reported

FORMATS = ("html", "pdf")


@dataclass(frozen=True)
class Reports:
    """What a run is rendered to: a renderer for each file, by the file's name.

    Examples
    --------
    >>> list(reports_of(["html", "junit"], template="brief").renderers)
    ['brief.html', 'brief.junit.xml']
    """

    renderers: Mapping[str, Any]
    template: str
    appendix: str

    def of(self, run: Run, progress: bool | Callable[[Progress], None] | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of each file, as soon as it is made.

        Raises
        ------
        RenderError
            After the others were made: which files could not be, and why.
        """
        failed: dict[str, BaseException] = {}
        with reported(progress) as callback:
            report = self._document(run)
            for part, (name, renderer) in enumerate(self.renderers.items(), 1):
                if callback:
                    callback(Progress(f"writing {renderer.name}", 0, 0, part, len(self.renderers)))
                try:
                    content = renderer.render(report)
                except FOREIGN as error:  # a renderer is foreign code, and costs its own file only
                    failed[name] = error
                else:
                    yield name, content
        if failed:
            reasons = "\n".join(f"{name} could not be made: {words_of(error)}" for name, error in failed.items())
            raise RenderError(reasons) from next(iter(failed.values()))

    def _document(self, run: Run) -> Document:
        """Return the document; what a section cannot read is told, for it may be a plugin's, or of a changed run."""
        draws = any(getattr(renderer, "draws", True) for renderer in self.renderers.values())
        try:
            return document(run, self.template, appendix=self.appendix, draws=draws)
        except UQReportError:
            raise
        except FOREIGN as error:
            raise RenderError(f"report.run must hold what its sections read; got {words_of(error)}.") from error
        finally:
            if draws:
                gc.collect()  # figures refer to themselves, and hold pixels that Python's collector does not count


def reports_of(  # noqa: PLR0913 - what `write` takes
    formats: Iterable[str] = FORMATS,
    deny: Iterable[str] = (),
    *,
    template: str = "audit",
    templates: str | Path | None = None,
    appendix: str = "short",
    pdf_cpu_seconds: float | None = None,
    pdf_memory_mb: int | None = None,
    template_cpu_seconds: float | None = None,
    template_memory_mb: int | None = None,
) -> Reports:
    """Return what a report is rendered to; see `AuditRun.render` for the arguments.

    Raises
    ------
    InputError, PluginError
        An unknown format, template or appendix, or a theme that no format takes.
    RenderError
        What a renderer needs is missing: a template, a library of the system.
    """
    check_form(template, appendix)
    classes = {name: _renderer(name, deny) for name in names("report.formats", formats)}
    if templates is not None and not any(_takes(renderer, "templates") for renderer in classes.values()):
        raise InputError(
            f"report.templates must go with a format that has templates, html or pdf; got {sorted(classes)}. "
            "Leave it out or add such a format."
        )
    style = None if templates is None else Path(templates)
    options = {
        "templates": style,
        "cpu_seconds": pdf_cpu_seconds,
        "memory_mb": pdf_memory_mb,
        "template_cpu_seconds": template_cpu_seconds,
        "template_memory_mb": template_memory_mb,
    }
    usable = {name: value for name, value in options.items() if value is not None}
    renderers = {
        _file_name(template, cls): cls(**{name: value for name, value in usable.items() if _takes(cls, name)})
        for cls in classes.values()
    }
    for renderer in renderers.values():
        if isinstance(renderer, Prepares):
            renderer.ready(template)
    return Reports(renderers, template, appendix)


def report_names(formats: Iterable[str], template: str = "audit", deny: Iterable[str] = ()) -> list[str]:
    """Return the names of the files of a report in these formats."""
    return [_file_name(template, _renderer(name, deny)) for name in formats]


def _file_name(template: str, renderer: Any) -> str:
    return f"{'report' if template == 'audit' else template}{renderer.extension}"


def _renderer(name: str, deny: Iterable[str]) -> Any:
    """Return the class of a renderer."""
    return plugins.load(plugins.named(plugins.find(plugins.RENDERERS, deny), name, "format"))


def renderers(deny: Iterable[str] = ()) -> list[Any]:
    """Return the classes of all renderers."""
    return [plugins.load(plugin) for plugin in plugins.find(plugins.RENDERERS, deny)]


def _takes(renderer: Any, option: str) -> bool:
    return is_dataclass(renderer) and any(field.name == option for field in fields(renderer))
