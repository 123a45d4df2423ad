"""Measure a report against the budgets of its form.

python tests/budgets.py REPORT.pdf ...      a line for each; exits with 1 if one is over a budget

Words are what a text extractor gives on the pages before the appendix without running heads, where a token holds a
letter or a digit: numbers, labels of figures, cells of tables and the contents count. White is the share of a page's
height between its last ink and its lower margin.
"""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

BUDGETS = {"pages": 18, "words": 5000, "figures": 16, "appendix": 15, "white": 15.0, "whitest": 60.0}
MARGINS = (20 / 297, 1 - 17 / 297)  # of a page's height


@dataclass(frozen=True)
class Measures:
    """Pages, words and figures of the main part, pages of the appendix, and white at page ends in percent."""

    pages: int
    words: int
    figures: int
    appendix: int
    white: float
    whitest: float

    @property
    def exceeded(self) -> list[str]:
        """What is over its budget."""
        return [
            f"{what}: {value:g} of {BUDGETS[what]:g}" for what, value in asdict(self).items() if value > BUDGETS[what]
        ]


def measure(pdf: bytes) -> Measures:
    """Return the measures of a report."""
    import pymupdf

    with pymupdf.open(stream=pdf, filetype="pdf") as opened:  # type: ignore[no-untyped-call] # PyMuPDF has no types
        appendices = (page for level, title, page in opened.get_toc() if level == 2 and re.match("[A-Z] ", title))
        main = next(appendices, opened.page_count + 1) - 1
        texts = [_text(opened[k]) for k in range(main)]
        # the last page of a part ends where its text does
        whites = [_white(opened[k]) for k in range(opened.page_count) if k not in (main - 1, opened.page_count - 1)]
    figures = re.findall(r"^Figure \d+\b", "\n".join(texts), re.MULTILINE)
    words = sum(bool(re.search(r"\w", word)) for text in texts for word in text.split())
    return Measures(
        main,
        words,
        len(set(figures)),
        len(whites) + 2 - main,
        float(np.mean(whites)),
        float(np.max(whites, initial=0.0)),
    )


def _text(page: object) -> str:
    """Return the text between the margins."""
    low, high = (share * page.rect.height for share in MARGINS)  # type: ignore[attr-defined]  # PyMuPDF has no types
    blocks = page.get_text("blocks")  # type: ignore[attr-defined]  # as above
    return "\n".join(text for _, top, _, bottom, text, *_ in blocks if bottom > low and top < high)


def _white(page: object) -> float:
    """Return the white below the last ink, in percent of the height between the margins."""
    drawn = page.get_pixmap(dpi=36, colorspace="gray")  # type: ignore[attr-defined]  # PyMuPDF has no types
    rows = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.stride).min(axis=1)
    low, high = (round(share * drawn.height) for share in MARGINS)
    inked = np.flatnonzero(rows[low:high] < 250)
    return 100.0 * (1 - (inked[-1] + 1 if len(inked) else 0) / (high - low))


if __name__ == "__main__":
    over = False
    for file in sys.argv[1:]:
        found = measure(Path(file).read_bytes())
        over |= bool(found.exceeded)
        print(file, " ".join(f"{what} {value:.4g}" for what, value in asdict(found).items()), found.exceeded or "")
    sys.exit(over)
