"""The views of several subjects, one model or data set each, in one table and one figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.statistics.ranking import rank_entropy
from ..core.support.calls import answering
from ..core.support.errors import InputError
from ..document.plots.picture import pictured, stacked
from ..evidence import columns as col
from .views import ResultView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = (col.MEASURE, col.FEATURE, col.FEATURE_2)


@answering
class ResultViews(Mapping[str, ResultView]):
    """The views of several subjects by label.

    Attributes
    ----------
    frame, estimates : pandas.DataFrame
        Those of all views, with a first column ``subject``.
    """

    def __init__(self, views: Mapping[str, ResultView]) -> None:
        self._views = dict(views)

    def __getitem__(self, name: str) -> ResultView:
        """Return the view of one subject."""
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the labels."""
        return iter(self._views)

    def __len__(self) -> int:
        """Return the number of subjects."""
        return len(self._views)

    @property
    def frame(self) -> pd.DataFrame:
        """The raw values of all views."""
        return _joined({name: view.frame for name, view in self.items()})

    @property
    def estimates(self) -> pd.DataFrame:
        """The estimates of all views."""
        return _joined({name: view.estimates for name, view in self.items()})

    def plot(self, kind: str | None = None, **choice: Any) -> Figure:
        """Return one figure with the figure of each view below its label; see `ResultView.plot` for the choice."""
        return pictured(stacked({name: partial(view.plot, kind, **choice) for name, view in self.items()}))

    def stability(self) -> pd.DataFrame:
        """Return how far the rank of each feature or pair differs between the subjects, as between refits.

        The entropy of the rank in nats is 0 where the rank never changes, and log d where it is any of d.
        """
        table = self.estimates
        names = [name for name in NAMES if name in table and (name != col.FEATURE_2 or (table[name] != "").any())]
        if col.FEATURE_2 in names:
            table = table[table[col.FEATURE_2] != ""]  # pairs alone, no totals
        draws = table.pivot_table(index=names, columns="subject", values=col.ESTIMATE, sort=False)
        whole = [own for _, own in draws.groupby(level=0, sort=False) if len(self) > 1 and own.notna().all(axis=None)]
        if not whole:
            raise InputError(
                "stability must have two or more subjects with estimates of the same features for one measure; got "
                f"{len(self)} that have none in common."
            )
        parts = []
        for own in whole:
            place = own.rank(ascending=False)
            columns = {"rank_entropy": rank_entropy(own.T.to_numpy()), "median_rank": place.median(axis=1)}
            parts.append(pd.DataFrame({**columns, "lowest": place.min(axis=1), "highest": place.max(axis=1)}))
        return pd.concat(parts).reset_index()

    def __repr__(self) -> str:
        """Return the display of each view."""
        return "\n\n".join(f"{name}: {view!r}" for name, view in self.items())

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{name}</h4>{view._repr_html_()}" for name, view in self.items())


def _joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([table.assign(subject=name) for name, table in tables.items()], ignore_index=True).pipe(
        lambda whole: whole[["subject", *whole.columns.drop("subject")]]
    )
