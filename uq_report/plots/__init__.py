"""Results become matplotlib figures: one draw function a kind, which reads the result's frames only.

`draw` finds the function by the result's id, then by its kind, so results of third-party explainers
are drawn too. matplotlib is imported with the first figure.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    "cid": ("covered", "draw"),
    "cid.graph": ("graph", "draw"),
    "redundancy": ("redundancy", "draw"),
    "redundancy.joint": ("joint", "draw"),
}
SURFACE = ("surface", "draw")
# what a draw function takes from results beside the drawn one: its argument, and the end of their id
COMPANIONS = {("profile", "draw"): {"own": "own", "distribution": "distribution"}}
BY_KIND = {
    "importance": ("importance", "draw"),
    "profile": ("profile", "draw"),
    "interaction": ("interaction", "draw"),
    "attribution": ("attribution", "draw"),
    "diagnostic": ("diagnostic", "draw"),
}


def draw(result: Result, *, beside: Sequence[Result] = (), **choice: Any) -> Figure:
    """Draw one result; `choice` is what its draw function takes (``measure=``, ``feature=``, ``row=`` ...).

    `beside` holds other results of the same explainer; a profile takes own values and distributions from it.

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
    for name, part in COMPANIONS.get(where, {}).items():
        found = next((other for other in beside if other.id == f"{result.explainer}.{part}"), None)
        if found is not None:
            choice.setdefault(name, found)
    figure: Figure = getattr(import_module(f".{module}", __name__), function)(result, **choice)
    return figure
