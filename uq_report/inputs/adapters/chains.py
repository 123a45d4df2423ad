"""One output of a chain of estimators: its estimator, behind the columns that the chain gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.support.arrays import AnyArray


@dataclass(frozen=True)
class Augmented:
    """Adds to the rows what the earlier links of a chain predict, as the chain does; a fitted transformer.

    Parameters
    ----------
    estimators : tuple of objects
        The earlier links, in the order of the chain.
    method : str
        What of theirs is a feature of the later ones.
    """

    estimators: tuple[Any, ...]
    method: str

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Augmented:
        """Return itself: the links are fitted."""
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the rows with a column per earlier link."""
        rows = np.asarray(X)
        for estimator in self.estimators:
            response = np.asarray(getattr(estimator, self.method)(rows))
            rows = np.column_stack([rows, response[:, 1] if response.ndim == 2 else response])
        return rows


def link(chain: Any, position: int) -> Any:
    """Return the output at `position` of a RegressorChain or ClassifierChain as a pipeline."""
    from sklearn.pipeline import Pipeline

    place = list(chain.order_).index(position)
    earlier = tuple(chain.estimators_[:place])
    augmented = Augmented(earlier, getattr(chain, "chain_method_", "predict"))
    return Pipeline([("chain", augmented), ("model", chain.estimators_[place])])
