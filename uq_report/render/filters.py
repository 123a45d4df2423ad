"""The filters and tests templates may use, beside Jinja's own; figures as part of the page."""

import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from markupsafe import Markup

from ..core.support.errors import RenderError
from ..document.document import Attachment, Badge, Block, Cell, Column, Document, Figure, Table, Tint
from ..document.text import MENTION, unmarked
from .outline import UNLINKED, Outline
from .text import allowed, anchor, clean, integer, line, number, percent, pvalue, show, show_column

# After an underscore or a slash, before a letter that follows a dot or a colon, and within very long words.
_JOINT = re.compile(r"[_/|\\](?=\w)|[.:](?=[^\W\d])|[^\W_]{24}(?=\w)")

_WORDS = re.compile(r"(\b[A-Z]{2,4}\d{3}\b)")  # codes of findings

_LINK = Markup('<a class="{}" href="#{}">{}</a>')
LONG_HEAD = 200  # characters
MOST_CARRIED = 750_000  # bytes
_INTERVAL = re.compile(r" \([^()]*\d to [^()]*\)")


class ToneSign(NamedTuple):
    """What stands beside a colour, so that colour is never the only sign of a tone."""

    shape: str
    word: str


SIGNS = {
    "good": ToneSign("●", "Good"),
    "warning": ToneSign("▲", "Warning"),
    "bad": ToneSign("■", "Problem"),
    "unknown": ToneSign("◆", "Not assessed"),
    "neutral": ToneSign("○", "Note"),
}


class CellText(NamedTuple):
    """One table cell, ready to print.

    `content` is its text with links, `label` its column's, `tone` empty but for badges; `head` marks the name of the
    row.
    """

    text: str
    content: Markup
    label: str
    kind: str
    tone: str
    head: bool


def rows(table: Table, plan: Outline = UNLINKED) -> list[tuple[CellText, ...]]:
    """Return the cells of a table as text; a first column of text names the rows, unless heads outnumber cells."""
    columns, wide = [], len(table.columns)
    # with few rows it is a list in columns, heard better without; unless its heads are too long to stand again overleaf
    heads = len(table.rows) * (wide - 2) >= wide or any(len(column.label) > LONG_HEAD for column in table.columns)
    places = _places(table)
    for position, column in enumerate(table.columns):
        cells = [row[position] for row in table.rows]
        grounds = [f"{column.kind} {c.name}".strip() if isinstance(c, Tint) else column.kind for c in cells]
        head = heads and position == 0 and column.kind == "text"
        texts = zip(show_column(column, cells, places.get(position)), cells, grounds, strict=True)
        label = " ".join(filter(None, (clean(short(column.label)), column.unit)))
        link = _linker(column, plan)
        columns.append(
            [CellText(text, link(text), label, kind, tone(cell), head and text != "") for text, cell, kind in texts]
        )
    return list(zip(*columns, strict=True))


def _linker(column: Column, plan: Outline) -> Callable[[str], Markup]:
    """Return what writes a column's cells: names of features and codes of findings lead to what explains them."""
    if column.kind != "text":
        return Markup.escape
    features = plan.features if column.label.casefold() == "feature" else {}

    def write(text: str) -> Markup:
        if text in features:
            return _LINK.format("feature", features[text], breakable(text))
        code, blank, rest = text.partition(" ")
        if code in plan.findings:
            return _LINK.format("code", plan.findings[code], code) + blank + breakable(rest)
        return prose(text, plan) if MENTION.search(text) else breakable(text)

    return write


def _places(table: Table) -> dict[int, int | None]:
    """Return the decimals of the columns of every interval and of the estimates it belongs to."""
    decimals: dict[int, int | None] = {}
    labels = [column.label if column.kind == "number" else "" for column in table.columns]
    for k, pair in enumerate(pairwise(labels)):
        if pair == ("lower", "upper") or (pair[0].endswith("from") and pair[1] == "to"):
            start = k - 1 if k and labels[k - 1] in ("std. error", "std error") else k
            first = start - 1 if start and labels[start - 1] and start - 1 not in decimals else start
            places = allowed(*([row[end] for row in table.rows] for end in (k, k + 1)))
            decimals |= dict.fromkeys(range(first, k + 2), places)
    return decimals


def tone(cell: Cell) -> str:
    """Return the tone of a badge, and nothing for other cells."""
    return cell.tone if isinstance(cell, Badge) else ""


def heard(alt: str) -> str:
    """Return an alternative text without the intervals in it, which are for the eye; the evidence has them.

    Examples
    --------
    >>> heard("Largest: s5 0.35 nats (−0.22 to 0.48) and bmi 21 (17 to 27).")
    'Largest: s5 0.35 nats and bmi 21.'
    """
    return _INTERVAL.sub("", alt)


def density(table: Table) -> str:
    """Return how tight a table must be set, and whether it has ``few`` rows, which paper keeps on one page.

    ``slim`` ones stay tables on a phone, ``wide`` ones get smaller type and, on paper, a page across.
    """
    count = len(table.columns)
    tight = "slim" if count <= 3 else "normal" if count <= 7 else "dense" if count <= 10 else "wide"
    return tight if len(table.rows) > 6 else f"{tight} few"


def short(text: str, limit: int = 200) -> str:
    """Cut a text that is no heading or cell any more, and say so.

    Examples
    --------
    >>> short("a" * 5000, 4)
    'aaaa… (5000 characters)'
    """
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


@lru_cache(maxsize=4096)
def breakable(text: str) -> Markup:
    """Let a name break where its parts join, and anywhere once a part is longer than a column can be.

    Examples
    --------
    >>> breakable("credit_amount <EUR>")
    Markup('credit_<wbr>amount &lt;EUR&gt;')
    """
    parts = _JOINT.sub("\\g<0>\0", clean(short(text, 1000))).split("\0")
    return Markup("<wbr>").join(parts)


# where no line may break: between a number and its unit, and in "n = 250"
_UNBROKEN = re.compile(r"(?<=\d) (?=(?:nats|points)(?!\w))|(?<=\bn) (?==)|(?<=\bn =) (?=\d)")


def prose(text: str, plan: Outline, *, linked: bool = True) -> Markup:
    """Return running text with links, unless it is the caption of a table: to sheets, findings and terms.

    Examples
    --------
    >>> from uq_report.document.text import mention
    >>> plan = Outline((), {}, {}, {"age": "sheet-age"}, {"UQ101": "finding-UQ101"})
    >>> prose(f"{mention('age')} & UQ101.", plan)
    Markup('<a class="feature" href="#sheet-age">age</a> &amp; <a class="code" href="#finding-UQ101">UQ101</a>.')
    """
    plan = plan if linked else UNLINKED
    parts, end, text = [], 0, _UNBROKEN.sub("\u00a0", text)
    for match in MENTION.finditer(text):
        parts += [_linked(text[end : match.start()], plan), _feature(match[1], plan)]
        end = match.end()
    return Markup("").join([*parts, _linked(text[end:], plan)])


def _feature(name: str, plan: Outline) -> Markup:
    if name not in plan.features:
        return Markup('<b class="feature">{}</b>').format(breakable(name))
    return _LINK.format("feature", plan.features[name], breakable(name))


def _linked(text: str, plan: Outline) -> Markup:
    """Return text cleaned between its outer blanks, with links to findings, and of each term where it is first used."""
    codes = plan.findings
    return Markup("").join(
        _LINK.format("code", codes[part], part) if part in codes else _explained(_cleaned(part), plan)
        for part in _WORDS.split(text)
    )


def _explained(text: str, plan: Outline) -> Markup:
    """Return text with a link at each term of the glossary that has none yet."""
    parts: list[str | Markup] = []
    for part in _terms(tuple(plan.terms)).split(text) if plan.terms else [text]:
        term = part.lower()
        if term in plan.terms and term not in plan.linked:
            plan.linked.add(term)
            parts.append(_LINK.format("term", plan.terms[term], part))
        else:
            parts.append(part)
    return Markup("").join(parts)


@lru_cache
def _terms(terms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, terms))})(?![\w-])", re.IGNORECASE)


def _cleaned(text: str) -> str:
    """Clean text, but for the blanks around it."""
    inner = text.strip()
    return text.replace(inner, clean(inner)) if inner else text


def capped(table: Table) -> bool:
    """Return whether the table shows only the first of its rows."""
    return table.total_rows > len(table.rows)


def partial(block: Block) -> tuple[str, str]:
    """Return the templates that may draw a block: the theme's, else ours."""
    return f"blocks/{block.type}.html", f"uq_report/blocks/{block.type}.html"


def data_uri(content: bytes, media_type: str = "image/svg+xml") -> Markup:
    """Return a file as an address that needs no file; base64 holds nothing to escape."""
    return Markup("data:{};base64,{}").format(media_type, b64encode(content).decode())


def drawing(figure: Figure, paged: bool) -> Markup:
    """Return a figure as part of the page, whose colours it follows; as an image on paper, or where it is not plain."""
    if figure.narrow and not paged:
        small = replace(figure, id=f"{figure.id}-narrow", svg=figure.narrow, narrow=b"")
        sizes = (("desk", replace(figure, narrow=b"")), ("phone", small))
        return Markup("").join(
            Markup('<div class="{}">{}</div>').format(kind, drawing(one, paged)) for kind, one in sizes
        )
    alt = unmarked(figure.alt)
    element = None if paged else inline(figure.svg, anchor(figure.id), alt)
    return element or Markup('<img src="{}" alt="{}">').format(data_uri(figure.svg), clean(heard(alt)))


def csp_hash(text: str) -> str:
    """Return the hash that lets exactly this style sheet or script through the content security policy."""
    if "</" in text:
        raise RenderError("css and script must hold no '</'; it would end their element. Remove it.")
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def archive(document: Document) -> Markup:
    """Return the address of a zip archive of the files that travel in the page, compressed to a sixth of their size."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED, compresslevel=9) as files:
        for file in filter(carried, document.attachments):
            files.writestr(ZipInfo(file.name), file.content, ZIP_DEFLATED)  # of 1980: no clock enters the page
    return data_uri(packed.getvalue(), "application/zip")


def digest(file: Attachment) -> str:
    """Return the SHA-256 of a file."""
    return sha256(file.content).hexdigest()


def size(file: Attachment) -> str:
    """Return how large a file is.

    Examples
    --------
    >>> size(Attachment("a.csv", b"x" * 1500, "text/csv", "")), size(Attachment("a.csv", b"", "text/csv", ""))
    ('2 kB', '0 kB')
    """
    return f"{integer(-(-len(file.content) // 1000))} kB"


def carried(file: Attachment) -> bool:
    """Return whether a file is small enough to travel in the page."""
    return len(file.content) <= MOST_CARRIED


def downloadable(document: Document) -> bool:
    """Return whether the files of a document travel in its page."""
    return document.kind == "audit" and bool(document.attachments)


def printable(value: object) -> object:
    """Prepare what ``{{ }}`` prints: text is cleaned, a bare number formatted, a missing value shown as a dash."""
    if type(value) is str:
        return clean(value)
    if value is None or isinstance(value, float):
        return number(value)
    return value


# What figures are drawn in, and what stands for it on a dark page. Others are data on a scale, which stay.
DARK = {
    "#fff": "#12171d", "#1f2328": "#e4e9f0", "#5d6570": "#a9b5c4", "#e4e7eb": "#2c3540",
    "#dfe3e8": "#333e4a", "#8b94a0": "#8d98a6", "#9fbfd8": "#45698a", "#0b5c9e": "#6cb0f0",
    "#b8450b": "#f59a62", "#00785a": "#55c9a6", "#0b4f8a": "#5ea4e6", "#e08214": "#eda04a",
    "#3f9c78": "#5fbb98", "#8c3f8c": "#cf8fd0", "#6aa9dc": "#8fc3ee", "#7a5a00": "#cfae4f",
    "#c2527a": "#e58aa9", "#555b63": "#a3abb6",
}  # fmt: skip
# fmt: off
PLAIN = frozenset((
    "svg", "g", "defs", "clipPath", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan",
    "use", "title",
))
LOOKS = frozenset((
    "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "d", "id", "points", "width", "height",
    "transform", "viewBox", "clip-path", "clip-rule", "fill", "fill-opacity", "fill-rule", "stroke", "stroke-opacity",
    "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "stroke-dashoffset", "stroke-miterlimit",
    "opacity", "font-family", "font-size", "font-style", "font-weight", "text-anchor", "textLength", "lengthAdjust",
    "href", "dominant-baseline", "version", "data-axes",
))
# fmt: on
_SPACE = "{http://www.w3.org/2000/svg}"
_ID = re.compile(r"#([^)]+)")


def inline(svg: bytes, name: str, alt: str) -> Markup | None:
    """Return a figure as an element of the page, heard as `alt`; None if it holds anything but shapes and text.

    Parameters
    ----------
    svg : bytes
    name : str
        Unique on the page; the figure's ids begin with it.
    alt : str

    Examples
    --------
    >>> inline(b'<svg xmlns="http://www.w3.org/2000/svg"><path id="a" d="M0 0"/></svg>', "map", "A dot.")
    Markup('<svg role="img" aria-label="A dot."><path id="map-a" d="M0 0"/></svg>')
    >>> inline(b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', "map", "A script.")
    """
    if b"<!" in svg:
        return None
    try:
        root = ET.fromstring(svg)  # noqa: S314 - no declarations, so no entities
    except ET.ParseError:
        return None
    colours: set[str] = set()
    for element in root.iter():
        element.tag = str(element.tag).removeprefix(_SPACE)
        if element.tag not in PLAIN or not _own(element, name, colours):
            return None
    # one with colours that mean values stays light, under which its text must stand
    look = {} if colours <= DARK.keys() else {"class": "paper"}
    root.attrib = {"role": "img", "aria-label": clean(alt), **look, **root.attrib}
    return Markup(ET.tostring(root, encoding="unicode").replace(" />", "/>"))  # noqa: S704 - plain shapes, escaped


def _own(element: ET.Element, name: str, colours: set[str]) -> bool:
    """Prefix the ids of an element and note its colours; return whether its attributes are plain."""
    for key, value in element.attrib.items():
        if key not in LOOKS or ("url(" in value and key != "clip-path"):
            return False
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key in ("href", "clip-path"):
            if not value.startswith(("#", "url(#")):
                return False
            element.set(key, _ID.sub(rf"#{name}-\1", value))
        elif key in ("fill", "stroke") and value != "none":
            colours.add(value)
    return True


_FUNCTIONS: tuple[Callable[..., object], ...] = (
    anchor, archive, breakable, csp_hash, data_uri, density, digest, drawing, heard, integer, line, number, partial,
    percent, prose, pvalue, rows, short, show, size, tone, unmarked,
)  # fmt: skip
FILTERS = {function.__name__: function for function in _FUNCTIONS}
GLOBALS = {"dark": DARK, "signs": SIGNS}
TESTS = {"capped": capped, "carried": carried, "downloadable": downloadable}
