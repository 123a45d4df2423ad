"""Figures for pages, without matplotlib's layout: measured, placed and written as SVG by a few short modules."""

from .axes import Axes
from .figure import Sample, Sketch
from .frame import Sizes

__all__ = ["Axes", "Sample", "Sizes", "Sketch"]
