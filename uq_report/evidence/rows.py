"""Views of data quality and support, of attributions to single rows, and of two models side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from . import columns as col, ids
from .information import ItemLine
from .view import UNKNOWN, EstimateLine, View

OUTSIDE, SHUFFLED = "outside", "shuffled"  # items of `Support`
# items of `SupportValues`
BELOW_RANGE, ABOVE_RANGE = "below range", "above range"
UNSEEN_LEVEL, NEWLY_MISSING = "new level", "newly missing"
# measures of `DataQuality`, and the item of copied rows that chance does not explain
OVERLAP, OVERLAP_OTHER_Y, DUPLICATE_ROWS = "overlap", "overlap_other_y", "duplicate_rows"
CONSTANT, COPIED_COLUMN, SPARSE = "constant", "copied_column", "sparse"
PLACEHOLDER, MISSING, MISSING_TRAIN, TYPE_CHANGE = "placeholder", "missing", "missing_train", "type_change"
DISTINCTIVE = "distinctive"
CLASS = "class"  # the measure of `DataQuality` that counts rows of a class, which is no fault


class CountLine(ItemLine):
    """How many (`count`) of `n` rows or columns have the property `item`."""

    count: int
    n: int


class DataQualityView(View[CountLine], id=ids.DATA_QUALITY):
    """Missing, constant, copied and sparse columns, copies of rows, sentinels."""

    n: int = 0
    n_train: int = 0
    columns_checked: int = 0
    has_train: bool = False


class MissingLine(ItemLine):
    """Share of missing values of a column in `n` audited rows less that in `n_train` training rows."""

    n: int
    share: float
    share_train: float
    n_train: int


class MissingView(View[MissingLine], id=ids.DATA_QUALITY_MISSING):
    """Differences of the shares of missing values, of columns that have some."""


class SupportLine(ItemLine):
    """Share of `n` rows outside the support, as they are or with a feature shuffled."""

    n: int
    p_value: float = UNKNOWN
    expected: float = UNKNOWN


class SupportView(View[SupportLine], id=ids.SUPPORT):
    """Rows outside the training support, against the share `expected` of rows drawn as the training rows."""

    expected: float = UNKNOWN
    n_calibration: int = 0
    n_neighbors: int = 0
    n_reference: int = 0
    n_rows: int = 0
    n_train: int = 0
    units: float = float("inf")


class SupportRows(View[EstimateLine], id=ids.SUPPORT_ROWS):
    """How far each row is from the training rows."""

    expected: float = UNKNOWN


class ValueLine(ItemLine):
    """Values of a feature that the training rows do not have: count, `share` of `n`, and the `bound` left."""

    n: int
    share: float
    p_value: float
    bound: str


class SupportValues(View[ValueLine], id=ids.SUPPORT_VALUES):
    """Values beyond the training range, unseen levels, newly missing values; `tests` of them were tested."""

    tests: int = 0


class ShiftLine(ItemLine):
    """Distance of a feature's distributions in audited and training rows; `item` says how they differ."""

    n: int


class SupportDistribution(View[EstimateLine], id=ids.SUPPORT_DISTRIBUTION):
    """The shares of training and test sample (`item`) by bin or level `x`; `edges` and `labels` of each feature."""

    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)


class SupportShift(View[ShiftLine], id=ids.SUPPORT_SHIFT):
    """How far the audited rows' distribution of each column is from that of the training rows."""


class CopiesLine(ItemLine):
    """Share of `n` audited rows that are near copies of a training row, less that of `n_train` training rows.

    A near copy has a nearest training row at most `ratio` times as far as the second nearest. The difference is surely
    (one-sided, 99.5%) at least `least`.
    """

    n: int
    share: float
    share_train: float
    least: float
    ratio: float
    n_train: int


class SupportCopies(View[CopiesLine], id=ids.SUPPORT_COPIES):
    """Near copies of training rows."""


class AttributionLine(EstimateLine):
    """A feature's contribution to the measure of one row."""

    row: int


class Attributions(View[EstimateLine]):
    """Contributions to single rows, of any explainer: which are `explained`, why (`rows`), their values (`data`)."""

    explained: tuple[int, ...] = ()
    rows: Mapping[str, Sequence[int]] = field(default_factory=dict)
    data: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def values_of(self, row: int) -> Mapping[str, Any]:
        """Return the own values of an explained row by feature; none where the result does not record them."""
        if not isinstance(self.data, Mapping) or row not in self.explained:
            return {}
        at = self.explained.index(row)
        return {str(feature): values[at] for feature, values in self.data.items()}


class Shap(Attributions, id=ids.SHAP):
    """Shapley values, against what background, and whether shap's TreeExplainer gave those of the prediction."""

    lines: tuple[AttributionLine, ...]
    rows_used: tuple[int, ...] = ()
    background: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False
    by_tree_explainer: bool = False


class PairedLine(EstimateLine):
    """A difference with its paired interval, and what each model has."""

    champion: float
    challenger: float


class CompareScores(View[PairedLine], id=ids.COMPARE_SCORES):
    """Differences of mean scores; `benchmark` is the label of the second model where that is no challenger."""

    benchmark: str = ""


class PairedImportanceLine(PairedLine):
    """A difference of importances, with each model's verdict."""

    champion_verdict: str
    challenger_verdict: str


class CompareImportance(View[PairedImportanceLine], id=ids.COMPARE_IMPORTANCE):
    """Differences of permutation importances."""


class Reliance(NamedTuple):
    """A feature that one model alone relies on for a measure, and which (``"only the champion"``)."""

    measure: str
    feature: str
    who: str


class CompareReliance(View[EstimateLine], id=ids.COMPARE_RELIANCE):
    """What one model relies on and the other does not."""

    @property
    def reliances(self) -> tuple[Reliance, ...]:
        """The features that one model alone relies on."""
        cells = self.result.frame[[col.MEASURE, col.FEATURE, col.ITEM]].astype(str)
        return tuple(Reliance(*row) for row in cells.itertuples(index=False))
