"""Views of dependence: covered information, redundancy, and the agreement of rankings."""

from collections.abc import Mapping
from typing import Any

from . import columns as col, ids
from .view import UNKNOWN, EstimateLine, View

# items: of `Cid`, of `Redundancy`, of `AgreementPairs`
MUTUAL, COVERED, SHARE = "mutual information", "covered information", "covered share"
OF_ENTROPY, OF_VARIANCE = "share of entropy", "share of variance"
WITHOUT_TARGET, WITH_TARGET = "without target", "with target"
BEFORE, AFTER = "before", "after"
PARTIAL_CORRELATION = "partial correlation"
KENDALL, OVERLAP = "Kendall tau-b", "top-k overlap"


class ItemLine(EstimateLine):
    """An estimate named by `item`: a quantity, a partner, a bin ..."""

    item: str


class Cid(View[ItemLine], id=ids.CID):
    """Covered information by feature: `estimator` and `graph` say which field was fitted, `penalty` how strongly.

    `penalty` is None where the graph was given, `condition` the number of a fitted precision matrix, `bins` those of a
    discrete field.
    """

    estimator: str = ""
    graph: str = ""
    penalty: float | None = None
    condition: float = UNKNOWN
    bins: int = 0


class CidGraph(View[ItemLine], id=ids.CID_GRAPH):
    """The field's edges but `unlisted` ones, in the frame: `edge` says what their number is, `nodes` ends with y."""

    nodes: tuple[str, ...] = ()
    edge: str = ""
    unlisted: int = 0

    @property
    def total(self) -> int:
        """How many edges there are, listed or not."""
        return len(self.result.frame) + self.unlisted

    @property
    def edges(self) -> tuple[tuple[str, str, float], ...]:
        """Both ends of each listed edge and its number, strongest first."""
        rows = self.result.frame[[col.FEATURE, col.ITEM, col.VALUE]].itertuples(index=False)
        edges = [(str(a), str(b), float(value)) for a, b, value in rows]
        return tuple(sorted(edges, key=lambda edge: -abs(edge[2])))


class CorrectedLine(EstimateLine):
    """Importance corrected by the map, beside the plain one; a measure whose map's gate is closed has no line."""

    plain: float
    rank: int
    plain_rank: int


class CoverLine(ItemLine):
    """I(X_j; Y | X_C) of a feature after `step` partners are known; `item` is the last of them, empty at step 0."""

    step: int


class CidCover(View[CoverLine], id=ids.CID_COVER):
    """Covering sets: the partners that lower a feature's information about y most, one by one.

    A step had to lower it by `min_gain` nats and by its own standard error; a set has at most `max_cover` partners.
    """

    estimator: str = ""
    min_gain: float = UNKNOWN
    max_cover: int = 0

    def sets(self) -> Mapping[str, tuple[str, ...]]:
        """Return the partners of each feature, in the order in which they were added; none where nothing covers it."""
        added: dict[str, tuple[str, ...]] = dict.fromkeys(self.features, ())
        for line in sorted(self.lines, key=lambda line: line.step):
            if line.item:
                added[line.feature] = (*added[line.feature], line.item)
        return added


class RedundancyLine(ItemLine):
    """R² of predicting a feature from the others, on `n` rows, without or with the target (`item`)."""

    n: int


class RedundancyView(View[RedundancyLine], id=ids.REDUNDANCY):
    """How well each feature is predicted by the others."""


class RedundancyPartner(View[ItemLine], id=ids.REDUNDANCY_PARTNER):
    """Each feature's most dependent partner (`item`) and their association."""


class RedundancyJoint(View[EstimateLine], id=ids.REDUNDANCY_JOINT):
    """Pairs of a feature and its partner; the measure says whether `BEFORE` or `AFTER` a shuffle."""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each feature with its partner; of a pair that stands there both ways, the first."""
        frame = self.result.frame
        pairs = dict.fromkeys(zip(frame[col.FEATURE].astype(str), frame[col.ITEM].astype(str), strict=True))
        unique: dict[frozenset[str], tuple[str, str]] = {}
        for pair in pairs:
            unique.setdefault(frozenset(pair), pair)
        return tuple(unique.values())


class RankLine(ItemLine):
    """A feature's rank by the method `item`, the value ranked, and the question (`role`) it answers."""

    role: str
    value: float


# What a method's numbers are: methods of different kinds answer different questions and do not disagree.
SIGNED_CHANGE, SIZE, INTERACTION = "signed mean change", "mean size", "interaction"
CONVENTIONS: Mapping[str, str] = {
    **dict.fromkeys((ids.PFI, ids.PFI_TRAIN, ids.DALEX_PARTS, ids.CID_CORRECTED, ids.COVER), SIGNED_CHANGE),
    **dict.fromkeys((ids.SHAP_IMPORTANCE, ids.PFI_UNCERTAINTY), SIZE),
    **dict.fromkeys((ids.RSENS, ids.RSENS_COMPARATORS), SIZE),
    **dict.fromkeys((ids.H_STATISTIC, ids.RSENS_INTERACTION), INTERACTION),
}

# What is corrected for cover answers what a feature alone does not: that the two part is a result, no contradiction.
WITH_COVER_LOST = frozenset((ids.CID_CORRECTED, ids.COVER))


def same_convention(first: str, second: str) -> bool:
    """Say whether two methods give the same kind of number, both with the cover lost or both without.

    Of a method that is not listed it is not known.
    """
    alike = CONVENTIONS.get(first, first) == CONVENTIONS.get(second, second)
    return alike and (first in WITH_COVER_LOST) == (second in WITH_COVER_LOST)


class AgreementView(View[RankLine], id=ids.AGREEMENT):
    """Ranks of every method with simultaneous intervals, and what the methods disagree about."""

    disagreements: tuple[Mapping[str, Any], ...] = ()
    n_disagreements: int = 0
    methods: tuple[Mapping[str, Any], ...] = ()
    sign: str = ""

    @property
    def contradictions(self) -> tuple[Mapping[str, Any], ...]:
        """The disagreements of methods that give the same kind of number."""
        return tuple(case for case in self.disagreements if same_convention(*case["methods"]))
