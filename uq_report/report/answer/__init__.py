"""The answer of page 1: what the evidence supports, from tested sentences that never contradict each other."""

from .data import Answer
from .synthesis import answer_of
from .telling import as_html, as_lines

__all__ = ["Answer", "answer_of", "as_html", "as_lines"]
