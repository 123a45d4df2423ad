"""Figures for pages, without matplotlib's layout: measured, placed and written as SVG by a few short modules."""

from .axes import Axes
from .figure import Sketch
from .frame import Sizes
from .key import Sample
from .scale import round_numbers

__all__ = ["Axes", "Sample", "Sizes", "Sketch", "round_numbers"]
