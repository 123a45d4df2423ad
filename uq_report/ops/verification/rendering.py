"""Render a report again from run.json and compare the bytes."""

import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...core.support.errors import InputError, RenderError, words_of
from ...core.support.text import clean
from ...document.document import Document
from ...evidence.disk import RUN
from ...evidence.run import Run
from ...render.outline import OutlinePart, outline
from ...report.kinds import FORMS, DocumentForm, document
from ...runner import plugins
from . import evidence as judging
from .evidence import Report, VerificationVerdict
from .signatures import first_revision

ESTIMATES = ".estimates.csv"  # attached tables of the evidence
# Packages that decide the bytes of a report.
_DECIDING = ("uq_report", "numpy", "pandas", "matplotlib", "jinja2", "weasyprint")


class Rendered(NamedTuple):
    """A report rendered again: its document and its bytes."""

    document: Document
    data: bytes


class Maker:
    """Render the reports of one run again, each document and file once.

    Parameters
    ----------
    run : Run
    templates : Path, optional
        The theme of the report.
    """

    def __init__(self, run: Run, templates: Path | None = None) -> None:
        self.run = run
        self.templates = templates
        self.differing = differing(run.environment)
        self.fault = ""
        self._document = cache(lambda form: document(run, form.kind, appendix=form.appendix))
        self._undrawn = cache(lambda form: document(run, form.kind, appendix=form.appendix, draws=False))
        self._data = cache(self._rendered)

    def like(self, report: Report) -> Rendered | None:
        """Return the report rendered in the form that fits best, None if no form can be rendered.

        Prefer a form with the same bytes. If a form that fits cannot be rendered, `fault` holds the reason.
        """
        best, self.fault = None, ""
        for form in self._likely(report):
            try:
                rendered = Rendered(self._document(form), self._data(form, report.path.suffix.lower()))
            except Exception as error:  # noqa: BLE001 - limits, libraries and a run of strange content can fail in any way
                self.fault = self.fault or words_of(error)
                continue
            if report.data.startswith(rendered.data):
                self.fault = ""
                return rendered
            best = best or rendered
        return best

    def _likely(self, report: Report) -> list[DocumentForm]:
        """Return the forms whose sections a report has, or all forms; the form of the file name comes first."""
        named = next((form.kind for form in FORMS if form.kind == report.path.stem), FORMS[0].kind)
        forms = sorted(FORMS, key=lambda form: form.kind != named)
        if not report.sections:
            return forms if report.format == "other" else forms[:1]
        try:
            distances = [self._distance(form, report) for form in forms]
        except Exception:  # noqa: BLE001 - `like` reports why a document cannot be made
            return forms[:1]
        return [form for form, distance in zip(forms, distances, strict=True) if distance == min(distances)]

    def _distance(self, form: DocumentForm, report: Report) -> int:
        """Return the number of sections that only the form, or only the report, has."""
        parts = list(_walk(outline(self._undrawn(form)).parts))
        paged = report.format == "pdf"
        own = {clean(f"{part.number} {part.section.title}") if paged else part.anchor for part in parts}
        return len(own ^ report.sections)

    def _rendered(self, form: DocumentForm, suffix: str) -> bytes:
        renderers: list[Any] = [plugins.load(p) for p in plugins.find(plugins.RENDERERS, self.run.denied)]
        fitting = next((cls for cls in renderers if cls.extension == suffix), None)
        if fitting is None:
            endings = ", ".join(sorted(cls.extension for cls in renderers))
            raise RenderError(f"verify.path must end as reports do ({endings}); got {suffix!r}. Rename it.")
        styled = {} if self.templates is None else {"templates": self.templates}
        renderer = fitting(**styled) if hasattr(fitting, "templates") else fitting()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they came when the report was made
            return bytes(renderer.render(self._document(form)))


def compare(
    maker: Maker, report: Report, evidence: bytes, signatures: Sequence[VerificationVerdict]
) -> Iterator[VerificationVerdict]:
    """Compare one report with the report that its evidence renders to."""
    rendered = maker.like(report)
    yield (
        judging.inside(report, evidence)
        if report.format == "pdf"
        else judging.printed(report, judging.sha256(evidence))
    )
    if report.format == "pdf" and rendered is not None:
        yield _judge_attachments(report, rendered, evidence, maker.differing)
    if rendered is None or maker.fault:
        remedy = "if it was made with a theme, name it by --templates"
        yield judging.fault("bytes", f"it could not be rendered here ({maker.fault}); {remedy}")
    elif report.data.startswith(rendered.data):
        yield _same_start(report, rendered, _signed(report, rendered, signatures))
    else:
        yield _other_bytes(report, rendered, maker.differing)


def differing(recorded: Mapping[str, Any]) -> list[str]:
    """Return what decides the look of a report and is not here as it was recorded, as ``pandas 2.3.2, here 2.3.3``.

    Examples
    --------
    >>> differing({"python": "1.0"})[0].partition(",")[0]
    'python 1.0'
    """
    here = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        **plugins.versions(_DECIDING),
    }
    now = {key.lower().replace("-", "_"): value for key, value in here.items()}
    then = {key.lower().replace("-", "_"): clean(value, 60) for key, value in recorded.items()}
    deciding = [key for key in ("python", "platform", *_DECIDING) if then.get(key) != now.get(key)]
    return [f"{key} {then.get(key, 'not recorded')}, here {now.get(key, 'none')}" for key in deciding]


def _judge_attachments(
    report: Report, rendered: Rendered, evidence: bytes, other: Sequence[str]
) -> VerificationVerdict:
    """Compare the attachments of a PDF, run.json and tables, with those made again.

    No other library writes them; what another version of uq_report lays out in tables of its own is left aside.
    """
    expected = {attachment.name: attachment.content for attachment in rendered.document.attachments} | {RUN: evidence}
    try:
        files = dict(report.attachments)
    except InputError as error:
        return judging.failed("attachments", str(error))
    if any(line.startswith("uq_report ") for line in other):
        evident = {name for name in {*files, *expected} if name == RUN or name.endswith(ESTIMATES)}
        files, expected = ({n: data for n, data in each.items() if n in evident} for each in (files, expected))
    return judging.judge_files(files, expected, "attachments")


def _signed(report: Report, rendered: Rendered, signatures: Sequence[VerificationVerdict]) -> bool | None:
    """Return whether valid signatures account for the bytes after the rendered ones, None if that was not assessed."""
    states = {verdict.state for verdict in signatures if verdict.name.startswith(("signature", "revisions"))}
    if "failed" in states:
        return False
    return first_revision(report.data) == rendered.data.rstrip() if states == {"verified"} else None


def _same_start(report: Report, rendered: Rendered, signed: bool | None) -> VerificationVerdict:
    """Judge a report that begins with the rendered bytes."""
    size = len(rendered.data)
    after = len(report.data) - size
    if not after:
        return judging.proven("bytes", f"the evidence renders to the same {size} bytes")
    if signed:
        start = f"the first {size} bytes, SHA-256 {judging.sha256(rendered.data)}, are what the evidence renders to"
        return judging.proven("bytes", f"{start}; the other {after} are signatures")
    follow = f"{after} bytes follow the rendered report"
    if signed is None and report.has_signature:
        return judging.left_open("bytes", f"{follow} and may change what is shown; see the signature")
    return judging.failed("bytes", f"{follow}, and no valid signature accounts for them")


def _other_bytes(report: Report, rendered: Rendered, other: Sequence[str]) -> VerificationVerdict:
    """Judge a report with other bytes than the rendered ones: with other versions they are not assessed."""
    place = judging.first_change(report.data, rendered.data)
    if other:
        reason = f"not assessed: it renders to other bytes ({place}) with {'; '.join(other)}"
        return judging.fault("bytes", f"{reason}; verify it with the recorded versions")
    hint = "; fonts and Pango, which are not recorded, can be another cause" if report.format == "pdf" else ""
    remedy = "If it was made with a theme, name it by --templates"
    return judging.failed("bytes", f"the evidence renders to other bytes ({place}){hint}. {remedy}")


def _walk(parts: Sequence[OutlinePart]) -> Iterator[OutlinePart]:
    for part in parts:
        yield part
        yield from _walk(part.parts)
