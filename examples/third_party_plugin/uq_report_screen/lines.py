"""Linear models as people write them down: a class, the loader of its files and its adapter."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from uq_report.core.model.adapter import Match
from uq_report.core.model.derivatives import Derivatives
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal

NOISE = "noise"


@dataclass(frozen=True)
class LineModel:
    """y ~ N(X @ slopes, noise²), columns by name."""

    slopes: Mapping[str, float]
    noise: float


class LineLoader:
    """Reads ``.line`` files: a name and a number per line; ``noise`` is the standard deviation."""

    name: ClassVar[str] = "line"
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match by the ending alone."""
        return source.endswith(".line")

    def load(self, source: str) -> LineModel:
        """Return the model."""
        try:
            pairs = (line.split() for line in Path(source).read_text(encoding="utf-8").splitlines() if line)
            numbers = {name: float(number) for name, number in pairs}
            return LineModel(numbers, numbers.pop(NOISE))
        except (ValueError, KeyError) as error:
            what = "a name and a number per line, one of them the noise"
            raise InputError(f"model must be {what}; got {source!r}: {error}. Check the file.") from error


class LineAdapter:
    """Linear models of ``.line`` files."""

    name: ClassVar[str] = "line"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        """Match the class above."""
        return Match(0, "a linear model from a text file") if isinstance(model, LineModel) else None

    def predict(self, model: LineModel, X: Any) -> Normal:
        """Return a normal distribution per row."""
        return Normal(self._columns(model, X) @ np.array(list(model.slopes.values())), model.noise)

    def batch_rows(self, model: LineModel) -> int | None:
        """Let calls hold the subject's own rows."""
        return None

    def derivatives(self, model: LineModel, X: Any, order: int) -> Derivatives:
        """Return the slopes: an optional hook (`uq_report.core.model.adapter.Differentiates`)."""
        values = self.predict(model, X).parameters
        first = np.zeros((len(X), X.shape[1], values.shape[1]))
        names = list(X.columns) if isinstance(X, pd.DataFrame) else list(model.slopes)
        first[:, :, 0] = [model.slopes.get(name, 0.0) for name in names]
        second = np.zeros((len(X), X.shape[1], X.shape[1], values.shape[1]))
        return Derivatives(values, first, second if order > 1 else None)

    def _columns(self, model: LineModel, X: Any) -> np.ndarray:
        return np.asarray(X[list(model.slopes)] if isinstance(X, pd.DataFrame) else X, dtype=float)
