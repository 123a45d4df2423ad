"""The answer of page 1: what the evidence supports, from tested sentences that never contradict each other."""

from .section import Conclusion, answer_of, as_html, as_lines

__all__ = ["Conclusion", "answer_of", "as_html", "as_lines"]
