"""The fast path of tree ensembles: one walk gives the scores of rows at every value of a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ....core.engine.fast_path import Shortcut
from ....core.model.adapter import Adapter, class_names
from ....core.support.arrays import Table
from ....core.support.errors import MissingDependencyError, installed
from ...adapters.sklearn_ import unwrap
from .forest import TreeReader
from .lightgbm import LIGHTGBM
from .sklearn import REGRESSION, SKLEARN

if TYPE_CHECKING:
    from .walks import Walks

READERS: Mapping[str, TreeReader] = {**SKLEARN, **REGRESSION, **LIGHTGBM}
WORTH = 100_000  # rows x trees from which walks are used: loading them takes as long as predicting fewer, 0.3 s


class TreePath:
    """Forests and boosted trees whose nodes can be read, alone or in a wrapper that only predicts by them.

    Notes
    -----
    Rows x trees below `WORTH` are left to the model. Sums of leaves are exact; what differs from the model's own
    prediction is the order in which that rounds.
    """

    name: ClassVar[str] = "trees"
    libraries: ClassVar[tuple[str, ...]] = ("numba",)
    title: ClassVar[str] = "tree walk"
    rank: ClassVar[int] = 0
    api_version: ClassVar[int] = 1

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut | None:
        """Return the walks of a model of a known class, None for others and for few rows.

        Raises
        ------
        MissingDependencyError
            If walks are worth it and numba is missing; the run reports it.
        """
        return self.mixer(model, adapter, X, len(X))

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> Walks | None:
        """Return the same walks, where they are worth it for so many rows mixed of those of `X`."""
        steps, final = unwrap(model)
        reader = READERS.get(class_names(final)[0])
        if steps or reader is None or rows * reader.trees(final) < WORTH:
            return None
        walkable = reader.read(model, final, adapter, X)
        if walkable is None:
            return None
        if not installed("numba"):
            raise MissingDependencyError(f"fast path {self.name!r}", "numba", "fast")
        from .walks import Walks  # loads numba, which takes as long as few predictions

        return Walks(walkable, X)
