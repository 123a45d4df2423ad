"""The answer of page 1: what the evidence supports, from tested sentences that never contradict each other."""

from .data import Conclusion, as_html, as_lines
from .synthesis import answer_of

__all__ = ["Conclusion", "answer_of", "as_html", "as_lines"]
