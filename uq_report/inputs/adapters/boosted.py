"""What the adapters of boosted trees share: a distribution by objective, and which calls keep a row's bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Adapter, class_names
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, ModelError
from ...distributions import Categorical
from ...distributions.numerics.validate import row_sum
from .glm import check_dispersion, remarks_on
from .sklearn_ import each_alone, rows_of_trees, unwrap


@dataclass(frozen=True)
class BoostedAdapter(Adapter):
    """Base of the adapters of XGBoost, LightGBM and CatBoost.

    Parameters
    ----------
    dispersion : float, optional
        Of gamma and Tweedie objectives, which fit the mean alone: the variance is dispersion * mean^power.
    """

    dispersion: float | None = None

    row_alone: ClassVar[frozenset[str]]  # classes whose predictions of a row never depend on other rows, to the bit

    def __post_init__(self) -> None:
        check_dispersion(self.name, self.dispersion)

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given."""
        return remarks_on(self.dispersion)

    def refuse_dispersion(self, objective: str) -> None:
        """Refuse a dispersion that was given for an objective without one."""
        if self.dispersion is not None:
            raise InputError(
                f"{self.name}.dispersion must be None for {objective}, which has no dispersion; got {self.dispersion}."
            )

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 to 80 000 for the library's own classes, behind steps that treat values alone; else None."""
        steps, final = unwrap(model)
        return rows_of_trees(final) if class_names(final)[0] in self.row_alone and each_alone(steps) else None


def comes_from(model: Any, names: frozenset[str]) -> bool:
    """Say whether any class of `model`, nearest or inherited, is one of ``library.Class`` names."""
    return not names.isdisjoint(class_names(model))


def classes_of(p: Any, n: int, what: str, labels: Any = None) -> Categorical:
    """Return the classes' distribution of native output: probabilities (n, k), or (n,) of the second of two classes."""
    p = np.asarray(p, dtype=float)
    table = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    if table.shape[0] != n or table.ndim != 2:
        raise ModelError(f"{what} must predict probabilities of shape ({n},) or ({n}, classes); got {p.shape}.")
    return Categorical(table, classes=labels)


def softmax_of(scores: FloatArray) -> FloatArray:
    """Return exp(s) / sum exp(s) over the last axis, with the same bits whatever the other rows are."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / row_sum(powers)[..., None])


def numbers_of(values: Any, n: int, what: str) -> FloatArray:
    """Return native output as floats of shape (n,)."""
    floats = np.asarray(values, dtype=float)
    if floats.shape != (n,):
        raise ModelError(
            f"{what} must predict one number per row, shape ({n},); got {floats.shape}. "
            "A model with several outputs is audited one output at a time: fit or wrap one model per output."
        )
    return floats
