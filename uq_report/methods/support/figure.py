"""The distributions of features in the training and the test sample."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col, ids
from ...evidence.rows import SupportDistribution

PANELS = 4
SAMPLES: Mapping[str, dict[str, Any]] = {
    "training": {"color": style.SPREAD, "fill": True},
    "test": {"color": style.ROLE["prediction"], "linewidth": 1.6},
}


def draw(result: Result, features: Sequence[str] | None = None) -> style.Figure:
    """Draw the share of training and test sample by bin or level, a panel for each of the first four features.

    Parameters
    ----------
    result : Diagnostic
        ``support.distribution``.
    features : sequence of str, optional
        The features to draw; the first ones by default.
    """
    view, frame = SupportDistribution.from_result(result), result.frame
    chosen = [feature for feature in features or view.edges if feature in view.edges][:PANELS]
    with style.drawing(1.7) as figure:
        for axes, feature in zip(figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True):
            style.plain(axes, "y")
            own, edges = frame[frame[col.FEATURE] == feature], view.edges[feature]
            for item, look in SAMPLES.items():
                axes.stairs(own.loc[own[col.ITEM] == item, col.VALUE], edges, **look)
            if labels := view.labels.get(feature):
                axes.set_xticks(range(len(labels)), [style.name(label, 10) for label in labels], rotation=30)
            axes.set_xlabel(style.name(feature))
        figure.axes[0].set_ylabel("share")
        key = [style.patch(color=look["color"], label=f"{item} sample") for item, look in SAMPLES.items()]
        style.key(figure, key, columns=2)
    return figure


DistributionFigure = figure_plugin(ids.SUPPORT_DISTRIBUTION, draw)
