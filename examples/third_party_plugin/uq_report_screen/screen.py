"""An explainer of one's own, and the typed view through which its section, figure and rule read its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import spearmanr

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.explainer import Prior
from uq_report.core.model.results import Diagnostic, Omission
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError
from uq_report.document import slots
from uq_report.evidence import columns as col
from uq_report.evidence.view import EstimateLine, View

ID = "screen"
FEWEST = 5  # rows


class Screen(View[EstimateLine], id=ID):
    """Rank correlations over `n` observations."""

    n: int


@dataclass(frozen=True)
class RankScreen:
    """Spearman's rank correlation of each numeric feature with each measure over the observations.

    A screen, no explanation: it sees only monotone dependence and ignores the other features.

    Parameters
    ----------
    measures : tuple of str
        The measures to correlate; those that the model does not have are left out with the reason.

    References
    ----------
    .. [1] E. C. Fieller, H. O. Hartley, E. S. Pearson: Tests for rank correlation coefficients. Biometrika 44, 1957.
    """

    measures: tuple[str, ...] = ("excess_loss", "entropy", "confidence")

    name: ClassVar[str] = ID
    section: ClassVar[str] = slots.CALIBRATION
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Diagnostic]:
        """Correlate, with Fisher's z interval (Fieller et al. 1957: variance 1.06 / (n - 3))."""
        if subject.n < FEWEST:
            raise InputError(f"screen.X must have at least {FEWEST} observations; got {subject.n}.")
        measures, omitted = engine.select(self.measures)
        table, omissions = [], list(omitted)
        for measure, rows in zip(measures, engine.unchanged(measures), strict=True):
            for feature in subject.features:
                reason = _why_not(subject, feature, rows)
                if reason:
                    omissions.append(Omission(measure.name, feature, reason))
                else:
                    correlation = float(spearmanr(subject.values(feature), rows).statistic)
                    table.append((measure.name, feature, "rank correlation", np.nan, correlation))
        frame = pd.DataFrame(table, columns=list(Diagnostic.columns))
        estimates = _estimates(frame, subject.n, engine.confidence)
        title = "Rank correlation with each measure"
        parts = {"frame": frame, "estimates": estimates, "omissions": tuple(omissions), "meta": {"n": subject.n}}
        return [Diagnostic(id=ID, explainer=self.name, title=title, **parts)]


def _why_not(subject: Subject, feature: str, rows: np.ndarray) -> str:
    if subject.kinds[feature] != "numeric":
        return "ranks are for numeric features only"
    values = subject.values(feature)
    ranked = not pd.isna(values).any() and np.ptp(values) > 0 and np.isfinite(rows).all() and np.ptp(rows) > 0
    return "" if ranked else "constant, missing or infinite values have no ranks"


def _estimates(frame: pd.DataFrame, n: int, confidence: float) -> pd.DataFrame:
    z = np.arctanh(frame[col.VALUE].clip(-1 + 1e-12, 1 - 1e-12))
    half = ndtri(0.5 + confidence / 2) * np.sqrt(1.06 / (n - 3))
    return frame[[col.MEASURE, col.FEATURE]].assign(
        estimate=frame[col.VALUE],
        std_error=np.nan,
        lower=np.tanh(z - half),
        upper=np.tanh(z + half),
        confidence=confidence,
        covers="new test observations",
    )
