"""The results of a run by feature, read once for all sheets."""

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from ..evidence import columns as col, ids
from ..evidence.importance import CoverCorrected, PfiLine
from ..evidence.profiles import Ale, HStatisticView, Pdp
from ..evidence.view import by_feature, lines_of, of_measure
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


class Ledger:
    """A run by feature, read once: rankings and their lines, curves, and the recorded facts of the values."""

    def __init__(self, e: RunReader) -> None:
        self.e = e
        self._rankings: dict[tuple[str, str], FeatureRanking | None] = {}
        self.facts = {facts.name: facts for facts in e.subject.features}
        # the rankings that say which features lead
        self.leading = tuple(filter(None, (self.ranking(*source) for source in LEADING)))
        # the single features, in the order of the data; those with results where the run records none
        ranked = (feature for ranking in self.leading for feature in ranking.order)
        self.features = tuple(self.facts) or tuple(dict.fromkeys(f for f in ranked if f not in e.subject.groups))
        # increases when a feature is permuted, out of sample: rankings, and their lines with verdicts
        self.loss, self.uncertainty = self.ranking(ids.PFI, "loss"), self.ranking(ids.PFI, "uncertainty")
        self.losses, self.uncertainties = self._lines(ids.PFI, self.loss), self._lines(ids.PFI, self.uncertainty)
        # the epistemic part of the uncertainty; None without members
        permuted = e.find(ids.PFI)
        names = () if permuted is None else parts_of(permuted.estimates[col.MEASURE])
        self.epistemic = FeatureRanking.of(e, permuted, names[-1]) if permuted is not None and names else None
        self.epistemics = self._lines(ids.PFI, self.epistemic)
        self.trained = self._lines(ids.PFI_TRAIN, self.loss)  # the increase in loss on the training sample
        adjusted, pairs = CoverCorrected.find(e.run), HStatisticView.find(e.run)
        self.partners: Mapping[str, Sequence[str]] = {} if adjusted is None else adjusted.partners
        # the pairs whose interaction may be ranked
        self.interactions = () if pairs is None else tuple(x for x in pairs.lines if x.ranked and x.feature_2)
        # the average effects, None where the run has slopes or changes instead; and the accumulated local ones
        average, self.local = e.find(Pdp.id), e.find(Ale.id)
        plain = average is not None and average.options.get("mode", "plain") == "plain"
        self.average = average if plain else None
        # the measure of the average effects that stands for each role
        self.measures = {} if self.average is None else by_role(e, self.average.estimates[col.MEASURE].astype(str))

    def _lines(self, key: str, ranking: FeatureRanking | None) -> Mapping[str, PfiLine]:
        """Return the lines of a result by feature, in the measure of a ranking; none without either."""
        result = self.e.find(key)
        if result is None or ranking is None:
            return {}
        return by_feature(of_measure(lines_of(result, PfiLine), ranking.measure))

    def ranking(self, key: str, role: str) -> FeatureRanking | None:
        """Return the ranking of a result by its measure of a role, of any where none is named; None without one."""
        if (key, role) not in self._rankings:
            ranked = self.e.ranked(key, role)
            self._rankings[key, role] = None if ranked is None else FeatureRanking.of(self.e, *ranked)
        return self._rankings[key, role]

    def group_of(self, feature: str) -> str:
        """Return the name of the group of a feature; empty for none."""
        return next((block for block, members in self.e.subject.groups.items() if feature in members), "")

    def codes(self, feature: str) -> str:
        """Return the codes of the open findings about a feature, each once."""
        return ", ".join(dict.fromkeys(f.code for f in self.e.findings if feature in f.features))


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
