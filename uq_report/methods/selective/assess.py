"""Losses in order of the uncertainty, with the limits of everything that is read off them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr

from ...core.model.sampling import Sampling, t_quantile
from ...core.statistics.score_intervals import UNKNOWN, Ends, auc_rows, normal_quantile, on_log_scale, wilson
from ...core.support.arrays import FloatArray
from ...evidence.selective import FAILURE_AUROC, GAIN, IMPLIED_GAIN, IMPLIED_LOSS, LOSS, NORMALISED_GAIN
from ..shared.estimates import area_of, band_quantile, estimate, mean_of
from .curve import RiskCoverage, order_statistic
from .losses import CaseLosses

LEAST_KEPT = 10  # rows at a point of the curve
SHARES = tuple(k / 20 for k in range(1, 21))
BAND_FROM = 0.5
ROUNDING = 1e-9
ALL_KEPT = dict.fromkeys(("saved", "captured"), 0.0)  # nothing is referred, without any error
CAP = 4.0  # times the rows (or errors) counted, which an effective number is at most
Record = dict[str, Any]


@dataclass(frozen=True)
class Assessed:
    """Losses in order of the uncertainty, with the limits of everything that is read off them."""

    losses: CaseLosses
    sampling: Sampling
    confidence: float

    @cached_property
    def curve(self) -> RiskCoverage:
        """The rows in order."""
        return RiskCoverage(self.losses.uncertainty, self.losses.loss, self.sampling)

    @cached_property
    def errors(self) -> int:
        """The rows with a loss."""
        return int((self.losses.loss > 0).sum())

    def error_of(self, influence: FloatArray) -> float:
        """Return a standard error from influence values."""
        return float(self.sampling.mean(influence)[1])

    def t(self, confidence: float) -> float:
        """Return the quantile of Student's t of a level."""
        return t_quantile(0.5 + confidence / 2, self.sampling.units - 1)

    def share_ends(self, share: float, influence: FloatArray, count: float, z: float) -> Ends:
        """Return Wilson's limits at the effective number of rows, at most 4 times those counted."""
        variance = self.error_of(influence) ** 2
        inside = 1e-12 < share < 1 - 1e-12 and variance > 0
        n = min(share * (1 - share) / variance, CAP * count) if inside else min(count, float(self.sampling.units))
        return wilson(min(max(share, 0.0), 1.0), n, z)

    def risk_ends(self, share: float, z: float) -> Ends:
        """Return the limits of R(c): Wilson's of an error rate, on the log scale of other losses."""
        risk, influence = self.curve.risk(share), self.curve.risk_influence(share)
        if self.losses.classes:
            return self.share_ends(risk, influence, float(self.curve.kept(share).sum()), z)
        return on_log_scale(risk, self.error_of(influence), z)

    def captured_ends(self, share: float) -> Ends:
        """Return the limits of κ(c): Wilson's of errors, of other losses those of log R(c)/L."""
        curve, z = self.curve, normal_quantile(self.confidence)
        if not curve.mean_loss > 0:
            return UNKNOWN
        captured = curve.captured(share)
        if self.losses.classes:
            return self.share_ends(captured, curve.captured_influence(share), float(self.errors), z)
        ratio = (1 - captured) / curve.share(share)
        if not ratio > 0:
            return UNKNOWN
        influence = curve.risk_influence(share) / curve.risk(share) - (curve.loss - curve.mean_loss) / curve.mean_loss
        lower, upper = on_log_scale(1 - captured, (1 - captured) * self.error_of(influence), z)
        return 1 - upper, 1 - lower

    def points(self, band: float) -> list[Record]:
        """Return a line for each share kept that has enough rows."""
        return [self._point(share, band) for share in SHARES if self.curve.kept(share).sum() >= LEAST_KEPT - ROUNDING]

    def _point(self, share: float, band: float) -> Record:
        curve, z = self.curve, normal_quantile(self.confidence)
        risk = curve.risk(share)
        line = estimate(risk, self.error_of(curve.risk_influence(share)), self.risk_ends(share, z), self.confidence)
        around = self.risk_ends(share, band) if share >= BAND_FROM and not isnan(band) else UNKNOWN
        line |= {"item": "risk", "x": share, "kept": float(curve.kept(share).sum())}
        line |= {"threshold": curve.threshold(share), "band_lower": around[0], "band_upper": around[1]}
        line |= {"implied": curve.mean_of(self.losses.implied, share), "oracle": curve.oracle(share)}
        line |= {"width": curve.mean_of(self.losses.width, share)}
        return line | (self._referred(share) if curve.share(share) < 1 else ALL_KEPT)

    def _referred(self, share: float) -> Record:
        """Return what the referred rows take with them: the fall of the mean loss, and their share of all loss."""
        curve = self.curve
        saved, reach = curve.mean_loss - curve.risk(share), self.error_of(curve.saving_influence(share))
        reach *= self.t(self.confidence)
        lower, upper = self.captured_ends(share)
        captured = {"captured": curve.captured(share) if curve.mean_loss > 0 else nan}
        captured |= {"captured_lower": lower, "captured_upper": upper}
        return captured | {"saved": saved, "saved_lower": saved - reach, "saved_upper": saved + reach}

    def band(self, rng: np.random.Generator, draws: int) -> float:
        """Return the quantile for limits at all shares from one half on at once."""
        shares = [share for share in SHARES if share >= BAND_FROM]
        influences = np.stack([self.curve.risk_influence(share) for share in shares])
        return band_quantile(influences, self.sampling, self.confidence, rng, draws)

    def numbers(self) -> list[Record]:
        """Return the lines on all rows: the one number, the gain with its test, the losses."""
        curve, losses = self.curve, self.losses
        records = [self._ordering(), self._gain()]
        if not np.isnan(losses.implied).any():
            implied = {IMPLIED_GAIN: curve.gain_of(losses.implied), IMPLIED_LOSS: float(curve.weights @ losses.implied)}
            records += [estimate(v, nan, UNKNOWN, nan) | {"item": k, "unit": losses.unit} for k, v in implied.items()]
        ends = self.risk_ends(1.0, normal_quantile(self.confidence))
        whole = estimate(curve.mean_loss, self.error_of(losses.loss), ends, self.confidence)
        return [*(r for r in records if r), whole | {"item": LOSS, "unit": losses.unit}]

    def _gain(self) -> Record:
        gain, error = self.curve.gain, self.error_of(self.curve.gain_influence)
        ends = (gain - self.t(self.confidence) * error, gain + self.t(self.confidence) * error)
        reach = self.t(0.9) * error
        line = estimate(gain, error, ends, self.confidence) | {"item": GAIN, "unit": self.losses.unit}
        return line | {"lower_90": gain - reach, "upper_90": gain + reach, "p_value": self._p_value(gain, error)}

    def _p_value(self, gain: float, error: float) -> float:
        """Return the one-sided p-value of a random order: exact variance of independent, equal rows, else t."""
        if self.sampling.codes is None and np.ptp(self.sampling.weights) <= 1e-12:
            return float(ndtr(-order_statistic(self.curve)))
        return float(stdtr(self.sampling.units - 1, -gain / error)) if error > 0 else nan

    def _ordering(self) -> Record:
        """Return the AUROC of failures, or the gain as a share of half the mean loss; empty without losses."""
        curve, losses = self.curve, self.losses
        if losses.classes:
            failed = losses.loss > 0
            if not 0 < failed.sum() < len(failed):
                return {}
            rows = auc_rows(losses.uncertainty, failed, self.sampling.weights)
            wide, narrow = (
                area_of(rows, self.sampling, level, score=losses.uncertainty, event=failed)
                for level in (self.confidence, 0.9)
            )
            item, unit = FAILURE_AUROC, "probability"
        elif curve.mean_loss > 0:
            share = 2 * curve.gain / curve.mean_loss
            moved = curve.gain_influence - curve.gain / curve.mean_loss * (curve.loss - curve.mean_loss)
            rows = share + 2 * moved / curve.mean_loss
            wide, narrow = (mean_of(rows, self.sampling, level) for level in (self.confidence, 0.9))
            item, unit = NORMALISED_GAIN, "share of the largest gain"
        else:
            return {}
        return wide | {"item": item, "unit": unit, "lower_90": narrow["lower"], "upper_90": narrow["upper"]}
