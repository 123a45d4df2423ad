"""Documents are compared by their words; figures are not drawn."""

from ..report.conftest import undrawn

__all__ = ["undrawn"]
