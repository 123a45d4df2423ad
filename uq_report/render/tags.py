"""What mends WeasyPrint 70's tags, so that a PDF is heard as it is read: one link, one table, no running heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pydyf

LONG = 3  # pages; a table on two is heard as two tables, each with its head, unless one of them is hardly a table


def own_links(pages: Any) -> None:
    """Keep the links of elements that are links; WeasyPrint lays one more over every box inside of them."""
    for page in pages:
        page.links = [link for link in page.links if link[-1].link]


def mend(pages: Any, pdf: Any) -> None:
    """Say which cells a header names, join long tables, and take running heads out of the text."""
    tables: dict[Any, list[Any]] = {}  # by their first cell, which stands on every page of a table
    for box in [box for page in pages for box in page._page_box.descendants()]:  # noqa: SLF001 - there is no other way
        mark = getattr(box, "mark", {})
        if "ID" in mark:
            row = box.element.get("scope") == "row"
            mark["A"]["Scope"] = "/Row" if row else "/Column"
            if not row and mark["ID"].string.endswith("-0-0"):
                tables.setdefault(box.element, []).append(_table(pdf, mark))
    for first, *rest in tables.values():
        if rest and (len(rest) + 1 >= LONG or any(_shredded(pdf, part) for part in (first, *rest))):
            _join(pdf, first, rest)
    _artifacts(pdf)


def _at(pdf: Any, reference: bytes) -> Any:
    return pdf.objects[int(reference.split()[0])]


def _table(pdf: Any, element: Any) -> Any:
    while element["S"] != "/Table":
        element = _at(pdf, element["P"])
    return element


def _kids(pdf: Any, element: Any, *kinds: str) -> list[Any]:
    """Return the elements of a kind right below one, or by further kinds below those."""
    below = [_at(pdf, kid) for kid in element["K"] if isinstance(kid, bytes)]
    matches = [kid for kid in below if kid.get("S") == kinds[0]]
    return [element for kid in matches for element in _kids(pdf, kid, *kinds[1:])] if kinds[1:] else matches


def _shredded(pdf: Any, table: Any) -> bool:
    """Return whether so few rows of a table stand on a page that its heads outnumber its cells there."""
    heads = _kids(pdf, table, "/THead", "/TR", "/TH") + _kids(pdf, table, "/TBody", "/TR", "/TH")
    return len(heads) > len(_kids(pdf, table, "/TBody", "/TR", "/TD"))


def _join(pdf: Any, first: Any, rest: list[Any]) -> None:
    """Move the rows of a table that goes on overleaf to where it began, under the header cells there."""
    (body,) = _kids(pdf, first, "/TBody")
    heads = _kids(pdf, first, "/THead", "/TR", "/TH")
    for table in rest:
        repeated = _kids(pdf, table, "/THead", "/TR", "/TH")
        names = {there["ID"].string: here["ID"] for here, there in zip(heads, repeated, strict=True)}
        for row in _kids(pdf, table, "/TBody", "/TR"):
            row["P"] = body.reference
            body["K"].append(row.reference)
            for cell in _kids(pdf, row, "/TD"):
                cell["A"]["Headers"][:] = [names.get(head.string, head) for head in cell["A"]["Headers"]]
        _at(pdf, table["P"])["K"].remove(table.reference)


def _artifacts(pdf: Any) -> None:
    """Mark as artifacts what the tree does not hold: running heads, and heads of long tables repeated overleaf."""
    root = _at(pdf, pdf.catalog["StructTreeRoot"])
    tree = set(_below(pdf, root))
    owners = _at(pdf, root["ParentTree"])["Nums"]
    for page in [item for item in pdf.objects if isinstance(item, dict) and item.get("Type") == "/Page"]:
        marked = owners[2 * page["StructParents"] + 1]
        stream = _at(pdf, page["Contents"]).stream
        for place, item in enumerate(stream):
            if isinstance(item, dict) and "MCID" in item and marked[item["MCID"]] not in tree:
                marked[item["MCID"]] = "null"
                stream[place - 1 : place + 1] = ["/Artifact", pydyf.Dictionary({"Type": "/Pagination"})]


def _below(pdf: Any, element: Any) -> Iterator[bytes]:
    for kid in element.get("K", ()):
        if isinstance(kid, bytes):
            yield kid
            yield from _below(pdf, _at(pdf, kid))
