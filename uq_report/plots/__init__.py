"""Results become matplotlib figures: one draw function a kind, which reads the result's frames only.

`draw` finds the function by the result's id, then by its kind, so results of third-party explainers
are drawn too. matplotlib is imported with the first figure.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.errors import UnsupportedError
from ..core.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# result id -> (module, function); a kind stands for every id without an own entry
BY_ID = {
    "calibration.reliability": ("calibration", "draw_reliability"),
    "calibration.coverage": ("calibration", "draw_coverage"),
    "calibration.pit": ("calibration", "draw_pit"),
    "redundancy": ("redundancy", "draw"),
    "redundancy.joint": ("joint", "draw"),
}
SURFACE = ("surface", "draw")
BY_KIND = {
    "importance": ("importance", "draw"),
    "profile": ("profile", "draw"),
    "interaction": ("interaction", "draw"),
    "attribution": ("attribution", "draw"),
    "diagnostic": ("diagnostic", "draw"),
}


def draw(result: Result, **choice: Any) -> Figure:
    """Draw one result; `choice` is what its draw function takes (``measure=``, ``feature=``, ``row=`` ...).

    Raises
    ------
    InputError
        If the choice names a measure, feature or row that the result does not hold.
    UnsupportedError
        If nothing is drawn for this kind of result.
    """
    where = BY_ID.get(result.id) or BY_KIND.get(result.kind)
    if result.kind == "profile" and (result.frame["feature_2"].astype(str) != "").any():
        where = SURFACE
    if where is None:
        raise UnsupportedError(f"plots.draw must get one of the kinds {sorted(BY_KIND)}; got {result.kind!r}.")
    module, function = where
    figure: Figure = getattr(import_module(f".{module}", __name__), function)(result, **choice)
    return figure
