"""Selective prediction: whether referring the most uncertain observations to a person removes errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import Diagnostic, MeasureFacts, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support import options as opt
from ...core.support.arrays import AnyArray
from ...core.support.errors import InputError
from ...distributions import Categorical
from ...evidence import ids
from ...evidence.selective import KEPT, KEPT_LOSS, REFERRAL_RATE
from ..shared.attributes import attributes, large_groups
from ..shared.cards import card_of
from ..shared.estimates import diagnostic, rate_of, size_of
from .curve import Assessed, Record, class_losses, number_losses, without_rounding

LEAST_UNITS = 20  # independent rows, below which nothing is ordered
SUMMARY = ("item", "unit", "p_value", "lower_90", "upper_90")
CURVE = (
    *("item", "x", "kept", "threshold", "band_lower", "band_upper", "implied", "oracle", "saved", "saved_lower"),
    *("saved_upper", "captured", "captured_lower", "captured_upper", "width"),
)
GROUPS = ("item", "n", "unit")


@dataclass(frozen=True)
class Selective(BuiltInExplainer):
    """Risk and coverage when the most uncertain observations are referred to a person.

    Observations are kept in order of their uncertainty: of classes 1 − the probability of the class decided for (the
    error that the model expects), of numbers the standard deviation. The risk-coverage curve is the error rate, or the
    mean absolute error, of the kept share c, with Wilson limits at an effective number of observations (other losses:
    log scale) and a band for all c from 0.5 on. The one number is the area under the ROC curve by which the
    uncertainty tells wrong from right predictions; of numbers the gain ``cov(loss, G)`` over a random order, G the rank
    of the uncertainty, as a share of half the mean loss. No model is asked anything beside the audited observations.

    Parameters
    ----------
    n_draws : int
        Outcomes drawn from each distribution for the absolute error that the model expects; exact for a normal.
    n_band : int
        Multipliers of the band.
    n_min : int
        Smallest group (observations, or clusters) that is shown.
    max_levels : int
        Values of a protected attribute, above which it is cut at its quartiles.

    Notes
    -----
    Results: ``selective``, the numbers of all observations; ``selective.curve``; ``selective.groups``, the referral
    rate and the loss of the kept by protected group, at the threshold that keeps 90%. Times that may be censored are
    refused: a censored observation loses less by construction.

    References
    ----------
    El-Yaniv & Wiener (2010), JMLR 11:1605. Geifman & El-Yaniv (2017), arXiv:1705.08500. Traub et al. (2024),
    arXiv:2407.01032. Franc, Průša & Voráček (2023), JMLR 24:1. Jones et al. (2021), arXiv:2010.14134.

    Examples
    --------
    >>> Selective(n_band=10)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: selective.n_band must be an integer >= 99; got 10.
    """

    n_draws: int = opt.at_least(20, 200)
    n_band: int = opt.at_least(99, 400)
    n_min: int = opt.at_least(5, 30)
    max_levels: int = opt.at_least(2, 6)

    name: ClassVar[str] = ids.SELECTIVE
    section: ClassVar[str] = "uncertainty-quality.selective"
    priority: ClassVar[int] = 15
    card: ClassVar[MethodCard] = card_of(name)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``selective``, ``selective.curve``, and with protected attributes ``selective.groups``."""
        q, y = engine.baseline, engine.y
        if y is None:
            raise InputError("selective.y must be given; it was not. Pass the outcomes of the test observations.")
        if q.censored:
            raise InputError("selective.y must be free of censoring; it is not. A censored outcome has no error.")
        rows = np.flatnonzero(Sampling.of(subject).weights > 0)
        given = subject if len(rows) == subject.n else subject.take(rows)
        sampling = Sampling.of(given)
        if sampling.units < LEAST_UNITS:
            what = "observations" if sampling.codes is None else "clusters"
            raise InputError(
                f"selective needs at least {LEAST_UNITS} independent {what}; got {sampling.units}. Give more."
            )
        assessed = self._assessed(engine, rows, np.asarray(y)[rows], sampling)
        results = [self._numbers(assessed), self._curve(assessed, engine)]
        return [*results, self._groups(assessed, given)] if given.protected else results

    def _assessed(self, engine: Engine, rows: AnyArray, y: AnyArray, sampling: Sampling) -> Assessed:
        q = engine.baseline.take(rows)
        lacking = sorted({"mean", "variance"} - q.supports)
        if "proba" in q.supports:
            losses = class_losses(cast("Categorical", q), y)
        elif lacking and not {"mean", "intervals"} <= q.supports:
            raise InputError(f"selective needs an uncertainty and a prediction: {q.why_not(lacking[0])}.")
        else:
            losses = number_losses(q, y, engine.rng("draws"), self.n_draws)
        endless = int((~np.isfinite(losses.uncertainty)).sum())
        if endless:
            raise InputError(f"selective needs finite uncertainties; {losses.words[0]} is infinite {endless} times.")
        return Assessed(losses._replace(uncertainty=without_rounding(losses.uncertainty)), sampling, engine.confidence)

    def _numbers(self, assessed: Assessed) -> Diagnostic:
        losses = assessed.losses
        uncertainty, loss = losses.words
        facts = {"n": len(losses.loss), "errors": assessed.errors, "classes": losses.classes}
        return diagnostic(
            ids.SELECTIVE,
            "How well the uncertainty orders the errors",
            assessed.numbers(),
            SUMMARY,
            x="std_error",
            options=asdict(self),
            notes=(f"Ordered by {uncertainty}; the loss is the {loss}.", *assessed.sampling.notes()),
            meta={**facts, "uncertainty": uncertainty, "loss": loss},
        )

    def _curve(self, assessed: Assessed, engine: Engine) -> Diagnostic:
        losses = assessed.losses
        return diagnostic(
            ids.SELECTIVE_CURVE,
            "Risk-coverage curve",
            assessed.points(assessed.band(engine.rng("band"), self.n_band)),
            CURVE,
            x="x",
            notes=(
                "x is the share kept, the least uncertain first. The threshold was read off these observations.",
                "Limits hold point by point; the band holds for all shares from 50% on at once.",
            ),
            meta={"loss": losses.words[1], "unit": losses.unit},
        )

    def _groups(self, assessed: Assessed, subject: Subject) -> Diagnostic:
        loss = assessed.losses.words[1]
        return diagnostic(
            ids.SELECTIVE_GROUPS,
            "Referral by protected group",
            self._by_group(assessed, subject),
            GROUPS,
            x="n",
            notes=(
                f"At the threshold that keeps {100 * KEPT:.0f}% of all observations, taken as fixed.",
                f"Groups of fewer than {self.n_min} observations or clusters are not shown.",
            ),
            meta={"kept": KEPT, "n_min": self.n_min},
            measures={
                REFERRAL_RATE: MeasureFacts("referral rate", "share of observations", "uncertainty"),
                KEPT_LOSS: MeasureFacts(f"{loss} of the kept", assessed.losses.unit, "loss"),
            },
        )

    def _by_group(self, assessed: Assessed, subject: Subject) -> Iterator[Record]:
        """Yield the referral rate and the loss of the kept of each group that may be shown."""
        sampling, confidence = assessed.sampling, assessed.confidence
        cut = attributes(subject.protected, self.max_levels)
        units = sampling.unit_codes
        kept = assessed.curve.kept(KEPT)
        every = large_groups(cut, np.ones(subject.n, dtype=bool), units, self.n_min)
        left = large_groups(cut, kept > 0, units, self.n_min)
        weighed = Sampling(sampling.weights * kept, sampling.units, sampling.codes)
        loss_of: Any = rate_of if assessed.losses.classes else size_of
        for key in sorted(every):
            attribute = cut[key[0]]
            members = attribute.codes == key[1]
            place = {"feature": attribute.name, "item": attribute.labels[key[1]]}
            referred = rate_of(1 - kept[members], sampling.part(members), confidence)
            yield (
                referred | place | {"measure": REFERRAL_RATE, "n": int(members.sum()), "unit": "share of observations"}
            )
            inside = members & (kept > 0)
            if key in left:
                line = loss_of(assessed.losses.loss[inside], weighed.part(inside), confidence)
                unit = {"measure": KEPT_LOSS, "n": int(inside.sum()), "unit": assessed.losses.unit}
                yield line | place | unit
