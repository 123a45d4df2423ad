"""The report made again from run.json: equal bytes prove all of it, else its words are compared."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import InputError, RenderError, words_of
from ...core.text import clean
from ...document.document import Document
from ...evidence.run import Run
from ...render.html import page
from ...report.kinds import FORMS, Form, document
from ...runner import plugins
from .claims import State, Verdict
from .evidence import first_change, sha256
from .pdf_words import pdf_text
from .reports import Report
from .words import absent, headings, html_blocks, paper_blocks

# Packages that decide how a report looks.
_DECIDING = ("uq_report", "numpy", "pandas", "matplotlib", "jinja2", "weasyprint")


class Rendered(NamedTuple):
    """A report made again: its document, its page as HTML, and its bytes."""

    document: Document
    page: bytes
    data: bytes


class Maker:
    """Makes the reports of one run again; each document, page and file once.

    Parameters
    ----------
    run : Run
    templates : Path, optional
        The house style the report was made with.
    """

    def __init__(self, run: Run, templates: Path | None = None) -> None:
        self.run = run
        self.templates = templates
        self.differing = differing(run.environment)
        self.fault = ""
        self._document = cache(lambda form: document(run, form.kind, annex=form.annex))
        self._page = cache(lambda form, paged: page(self._document(form), templates, paged=paged).encode())
        self._data = cache(self._rendered)

    def like(self, report: Report) -> Rendered | None:
        """Return the report made again in the form that fits best, None if none can be rendered.

        The first that gives the same bytes, which a PDF may go on after; else one with the same headings. What kept
        a form that fits from being rendered is then the `fault`: nothing can be said of other bytes.
        """
        best, paged, self.fault = None, report.format == "pdf", ""
        for form in self._likely(report):
            try:
                data = self._data(form, report.path.suffix.lower())
                rendered = Rendered(self._document(form), self._page(form, paged), data)
            except Exception as error:  # noqa: BLE001 - limits, libraries and a run of strange content can fail in any way
                self.fault = self.fault or words_of(error)
                continue
            if report.data.startswith(data):
                self.fault = ""
                return rendered
            best = best or rendered
        return best

    def _likely(self, report: Report) -> Iterator[Form]:
        """Yield the forms whose headings a report has, those of its file name first; if none, the first of these."""
        named = next((form.kind for form in FORMS if form.kind == report.path.stem), FORMS[0].kind)
        forms = sorted(FORMS, key=lambda form: form.kind != named)  # and so the quicker ones of a kind first
        fitting, paged = False, report.format == "pdf"
        for form in forms:
            try:
                fits = report.headings is None or report.headings == headings(self._page(form, paged))
            except Exception:  # noqa: BLE001, S112 - a house style need not fit every kind; the first kind is tried at last
                continue
            if fits:
                fitting = True
                yield form
        if not fitting:
            yield forms[0]

    def _rendered(self, form: Form, suffix: str) -> bytes:
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


def judge_rendering(
    report: Report, rendered: Rendered | None, other: Sequence[str], *, signed: bool | None, fault: str = ""
) -> Iterator[Verdict]:
    """Say whether the report is the one rendered from its evidence: its bytes, and the numbers it prints.

    Parameters
    ----------
    report : Report
    rendered : Rendered, optional
        None if the run renders with no template.
    other : sequence of str
        What decides the look of a report and is `differing` here.
    signed : bool, optional
        Whether valid signatures account for what follows the rendered bytes; None if that was not judged.
    fault : str
        Why a form that fits could not be rendered.
    """
    if rendered is None or fault:
        remedy = "if it was made with a house style, name it by --templates"
        yield from _both("fault", f"it could not be rendered here ({fault}); {remedy}")
    elif report.data.startswith(rendered.data):
        yield from _same_start(report, rendered, signed)
    else:
        yield _numbers(report, rendered, other)
        yield _bytes(report, rendered, other)


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


def of_ours(differing: Sequence[str]) -> str:
    """Return the first difference that is one of uq_report itself, whose words may then be others, or nothing."""
    return next((entry for entry in differing if entry.startswith("uq_report ")), "")


def _both(state: State, numbers: str, same_bytes: str = "") -> tuple[Verdict, Verdict]:
    return Verdict("numbers", state, numbers), Verdict("bytes", state, same_bytes or numbers)


def _same_start(report: Report, rendered: Rendered, signed: bool | None) -> tuple[Verdict, Verdict]:
    """Judge a report that begins as the one made here."""
    size = len(rendered.data)
    after = len(report.data) - size
    every = "every number and figure is that of the evidence"
    if not after:
        return _both("ok", f"{every}, as the bytes are equal", f"the evidence renders to the same {size} bytes")
    if signed:
        start = f"the first {size} bytes, SHA-256 {sha256(rendered.data)}, are what the evidence renders to"
        return _both("ok", f"{every}; signatures change none", f"{start}; the other {after} are signatures")
    follow = f"{after} bytes follow the rendered report"
    if signed is None and report.has_signature:
        return _both("not judged", f"{follow} and may change what is shown; see the signature")
    return _both("FAILED", f"{follow}, and no valid signature accounts for them")


def _numbers(report: Report, rendered: Rendered, other: Sequence[str]) -> Verdict:
    """Compare words where bytes differ; another version of ours may use other words."""
    wrong, ours = _wrong_words(report, rendered), of_ours(other)
    if not wrong:
        reason = "every printed word and number is that of the evidence; figures were not compared"
        return Verdict("numbers", "ok", reason)
    if ours:
        return Verdict("numbers", "not judged", f"{ours}, which may write other words: first {wrong}")
    return Verdict("numbers", "FAILED", f"{wrong}. If it was made with a house style, name it by --templates")


def _bytes(report: Report, rendered: Rendered, other: Sequence[str]) -> Verdict:
    place = first_change(report.data, rendered.data)
    if other:
        reason = f"it renders to other bytes here ({place}), as expected of {'; '.join(other)}"
        return Verdict("bytes", "not judged", reason)
    hint = "; fonts and Pango, which are not recorded, can be another cause" if report.format == "pdf" else ""
    return Verdict("bytes", "FAILED", f"the evidence renders to other bytes ({place}){hint}")


def _wrong_words(report: Report, rendered: Rendered) -> str:
    """Say where the printed words first differ from the evidence's; the empty string if nowhere."""
    try:
        text = report.text
    except InputError as error:
        return str(error)
    if report.format == "pdf":
        blocks = paper_blocks(rendered.page)
        missing = absent(blocks, text)
        unreadable = set(absent(blocks, pdf_text(rendered.data))) if missing else set()
        wrong = [block for block in missing if block not in unreadable]
        return f"the page does not read {clean(wrong[0], 120)!r}" if wrong else ""
    expected = rendered.data.decode("utf-8", "replace").splitlines()
    if report.format == "html":
        expected = html_blocks(rendered.page)
    pairs = zip_longest(text.split("\n"), expected, fillvalue="")
    first = next((pair for pair in pairs if pair[0] != pair[1]), None)
    return "" if first is None else f"it reads {clean(first[0], 120)!r} instead of {clean(first[1], 120)!r}"
