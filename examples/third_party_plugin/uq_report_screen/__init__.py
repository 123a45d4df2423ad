"""A measure and an explainer of one's own, registered beside the built-in ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import spearmanr

from uq_report.core.engine import Engine
from uq_report.core.errors import InputError
from uq_report.core.explainer import Prior
from uq_report.core.measures import Measure
from uq_report.core.predictive import Distribution
from uq_report.core.results import Importance, Omission
from uq_report.core.subject import Subject


def surprise(dist: Distribution, y: Any) -> Any:
    """Return nll - entropy of each row, in nats: 0 on average if y follows the predictive distribution."""
    return -dist.log_prob(y) - dist.entropy()


SURPRISE = Measure(
    name="surprise",
    rows=surprise,
    unit="nats",
    role="uncertainty",
    requires=frozenset({"log_prob", "entropy"}),
    needs_y=True,
    title="surprise beyond the stated entropy",
)


@dataclass(frozen=True)
class RankScreen:
    """Spearman's rank correlation of each numeric feature with each measure over the rows.

    A screen, no explanation: it sees only monotone dependence and ignores the other features.
    """

    measures: tuple[str, ...] = ("entropy", "surprise")
    confidence: float = 0.95

    name: ClassVar[str] = "screen"
    section: ClassVar[str] = "screen"
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a confidence that is no probability."""
        if not 0 < self.confidence < 1:
            raise InputError(f"screen.confidence must be in (0, 1); got {self.confidence}.")

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Importance]:
        """Correlate, with Fisher's z interval (Fieller et al. 1957: variance 1.06 / (n - 3))."""
        if subject.n < 5:
            raise InputError(f"screen.X must have at least 5 rows; got {subject.n}.")
        measures, omitted = engine.select(self.measures)
        values, omissions = [], list(omitted)
        for measure in measures:
            rows = measure.rows(engine.baseline, engine.y)
            for feature in subject.features:
                column = subject.values(feature)
                if subject.kinds[feature] != "numeric":
                    omissions.append(Omission(measure.name, feature, "ranks are for numeric features only"))
                elif pd.isna(column).any() or np.ptp(column) == 0 or np.ptp(rows) == 0 or not np.isfinite(rows).all():
                    omissions.append(
                        Omission(measure.name, feature, "constant, missing or infinite values have no ranks")
                    )
                else:
                    values.append((measure.name, feature, 0, float(spearmanr(column, rows).statistic)))
        frame = pd.DataFrame(values, columns=list(Importance.columns))
        return [
            Importance(
                id="screen",
                explainer="screen",
                title="Rank correlation with each measure",
                frame=frame,
                estimates=self._estimates(frame, subject.n),
                omissions=tuple(omissions),
            )
        ]

    def _estimates(self, frame: pd.DataFrame, n: int) -> pd.DataFrame:
        z = np.arctanh(frame["value"].clip(-1 + 1e-12, 1 - 1e-12))
        half = ndtri(0.5 + self.confidence / 2) * np.sqrt(1.06 / (n - 3))
        return frame[["measure", "feature"]].assign(
            estimate=frame["value"],
            std_error=np.nan,
            lower=np.tanh(z - half),
            upper=np.tanh(z + half),
            confidence=self.confidence,
            covers="new test rows",
        )
