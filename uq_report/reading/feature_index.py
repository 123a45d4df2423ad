"""The results of a run by feature, read once for all sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from typing import TypeVar

from ..core.model.results import Result
from ..evidence import columns as col
from ..evidence import ids
from ..evidence.finding import Finding
from ..evidence.importance import CoverCorrected, PfiLine
from ..evidence.profiles import Ale, HLine, HStatisticView, Pdp
from ..evidence.subject import FeatureFacts
from ..evidence.view import EstimateLine, by_feature, lines_of, of_measure
from .effects import by_role
from .rank_ranges import FeatureRanking
from .run_reader import RunReader
from .tables import parts_of

OBSERVATION = "observation"
SHEETS = 6  # at most
FIRST = 3  # places of a ranking that are leading
# which rankings say what leads, by the role of their measures; the first that the run has counts
LEADING = (
    (ids.SHAP_IMPORTANCE, "prediction"), (ids.PFI, "loss"), (ids.PFI_UNCERTAINTY, "uncertainty"),
    (ids.DALEX_PARTS, "prediction"), (ids.RSENS, ""),
)  # fmt: skip
L = TypeVar("L", bound=EstimateLine)


@dataclass(frozen=True)
class Ledger:
    """A run by feature."""

    e: RunReader

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The single features, in the order of the data; those with results where the run records none."""
        ranked = (feature for ranking in self.leading for feature in ranking.order)
        return tuple(self.facts) or tuple(dict.fromkeys(f for f in ranked if f not in self.e.subject.groups))

    @cached_property
    def facts(self) -> Mapping[str, FeatureFacts]:
        """The recorded facts of the values of each feature."""
        return {facts.name: facts for facts in self.e.subject.features}

    @cached_property
    def leading(self) -> tuple[FeatureRanking, ...]:
        """The rankings that say which features lead."""
        return tuple(filter(None, (self.ranking(*source) for source in LEADING)))

    @cached_property
    def loss(self) -> FeatureRanking | None:
        """The increase in loss when a feature is permuted, out of sample."""
        return self.ranking(ids.PFI, "loss")

    @cached_property
    def uncertainty(self) -> FeatureRanking | None:
        """The increase in uncertainty when a feature is permuted."""
        return self.ranking(ids.PFI, "uncertainty")

    @cached_property
    def losses(self) -> Mapping[str, PfiLine]:
        """The lines of `loss` with their verdicts."""
        return self._lines(ids.PFI, PfiLine, self.loss)

    @cached_property
    def uncertainties(self) -> Mapping[str, PfiLine]:
        """The lines of `uncertainty` with their verdicts."""
        return self._lines(ids.PFI, PfiLine, self.uncertainty)

    @cached_property
    def epistemic(self) -> FeatureRanking | None:
        """The increase in epistemic uncertainty when a feature is permuted; None without members."""
        result = self.e.find(ids.PFI)
        names = () if result is None else parts_of(result.estimates[col.MEASURE])
        return FeatureRanking.of(self.e, result, names[-1]) if result is not None and names else None

    @cached_property
    def epistemics(self) -> Mapping[str, PfiLine]:
        """The lines of `epistemic` with their verdicts."""
        return self._lines(ids.PFI, PfiLine, self.epistemic)

    def _lines(self, key: str, line: type[L], ranking: FeatureRanking | None) -> Mapping[str, L]:
        """Return the lines of a result by feature, in the measure of a ranking; none without either."""
        result = self.e.find(key)
        if result is None or ranking is None:
            return {}
        return by_feature(of_measure(lines_of(result, line), ranking.measure))

    @cached_property
    def partners(self) -> Mapping[str, Sequence[str]]:
        """The partner features of each feature, in their order."""
        view = CoverCorrected.find(self.e.run)
        return {} if view is None else view.partners

    @cached_property
    def trained(self) -> Mapping[str, PfiLine]:
        """The increase in loss on the training sample."""
        return self._lines(ids.PFI_TRAIN, PfiLine, self.loss)

    @cached_property
    def interactions(self) -> tuple[HLine, ...]:
        """The interactions of pairs that may be ranked."""
        view = HStatisticView.find(self.e.run)
        return () if view is None else tuple(line for line in view.lines if line.ranked and line.feature_2)

    def ranking(self, key: str, role: str) -> FeatureRanking | None:
        """Return the ranking of a result by its measure of a role, of any where none is named; None without one."""
        if (key, role) not in self._rankings:
            ranked = self.e.ranked(key, role)
            self._rankings[key, role] = None if ranked is None else FeatureRanking.of(self.e, *ranked)
        return self._rankings[key, role]

    @cached_property
    def _rankings(self) -> dict[tuple[str, str], FeatureRanking | None]:
        return {}

    @cached_property
    def average(self) -> Result | None:
        """The average effects; None where the run has slopes or changes instead."""
        result = self.e.find(Pdp.id)
        return result if result is not None and result.options.get("mode", "plain") == "plain" else None

    @cached_property
    def local(self) -> Result | None:
        """The accumulated local effects."""
        return self.e.find(Ale.id)

    @cached_property
    def measures(self) -> Mapping[str, str]:
        """The measure of the average effects that stands for each role."""
        return {} if self.average is None else by_role(self.e, self.average.estimates[col.MEASURE].astype(str))

    def group_of(self, feature: str) -> str:
        """Return the name of the group of a feature; empty for none."""
        return next((block for block, members in self.e.subject.groups.items() if feature in members), "")

    def findings(self, feature: str) -> tuple[Finding, ...]:
        """Return the open findings about a feature."""
        return tuple(finding for finding in self.e.findings if feature in finding.features)

    def codes(self, feature: str) -> str:
        """Return the codes of the open findings about a feature, each once."""
        return ", ".join(dict.fromkeys(finding.code for finding in self.findings(feature)))


def leaders(ledger: Ledger, most: int = SHEETS) -> list[str]:
    """Return at most `most` features that get a sheet, in the order of the loss (or of what else ranks them).

    They are the first of each ranking, those with an open finding above an observation, and then in turn those that
    are among the first three of a ranking or whose permutation is shown to increase the loss or the uncertainty.
    """
    orders = [[f for f in ranking.order if f in ledger.features] for ranking in ledger.leading[:3]]
    flagged = [f for finding in ledger.e.findings if finding.severity != OBSERVATION for f in finding.features]
    top = {f for order in orders for f in order[:FIRST]}
    turns = [f for f in filter(None, chain.from_iterable(zip_longest(*orders))) if f in top or _matters(ledger, f)]
    chosen = [*(order[0] for order in orders if order), *flagged, *turns]
    picked = [f for f in dict.fromkeys(chosen) if f in ledger.features] or list(ledger.features)
    return sorted(picked[: min(most, SHEETS)], key=in_order(ledger).index)


def in_order(ledger: Ledger) -> list[str]:
    """Return every feature that is ranked or single: by the loss, then by the other rankings, then as in the data."""
    first = () if ledger.loss is None else ledger.loss.order
    ranked = (feature for ranking in ledger.leading for feature in ranking.order)
    return list(dict.fromkeys([*first, *ranked, *ledger.features]))


def _matters(ledger: Ledger, feature: str) -> bool:
    """Say whether permuting a feature is shown to increase the loss or the uncertainty beyond the tolerance."""
    lines = (ledger.losses.get(feature), ledger.uncertainties.get(feature))
    return any(line is not None and line.verdict == "positive" for line in lines)
