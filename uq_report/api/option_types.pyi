"""Options of the verbs, for type checkers and completion; tests/api/test_option_types.py makes this file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

import pandas as pd

from ..core.engine.evaluator import Progress
from ..core.model.adapter import Adapter
from ..core.model.measures import Measure
from ..core.traits.stochastic import Stochastic
from ..core.validation.residuals import Residuals, Shorthand

Names = str | Sequence[str]
Measures = str | Measure | Sequence[str | Measure]

class CallOptions(TypedDict, total=False):
    """Keyword arguments of `call`."""

    data: Any
    train: tuple[Any, Any] | bool | None
    groups: Mapping[str, Iterable[str]] | None
    categorical: Iterable[str] | None
    sample_weight: Any
    clusters: Any
    time: Any
    block_size: int | None
    protected: Iterable[str] | Mapping[str, Any] | pd.Series[Any] | pd.DataFrame | None
    label: str | None
    adapter: str | Adapter | None
    residuals: Shorthand | Residuals | None
    positive_class: Any
    output: str | int | None
    max_rows: int | None
    stochastic: Stochastic | None
    n_members: int
    seed: int
    deny: Iterable[str]
    confidence: float
    n_jobs: int
    backend: str
    scheduler: str | None
    batch_rows: int | None
    row_budget: int | None
    fast_paths: bool
    progress: bool | Callable[[Progress], None] | None

class ImportanceOptions(CallOptions, total=False):
    """Keyword arguments of `importance`."""

    max_shuffle_variance: float
    features: Names | None
    exact: bool | None
    margin: Mapping[str, float] | float | None
    within_clusters: bool

class ProfileOptions(CallOptions, total=False):
    """Keyword arguments of `profile`."""

    pairs: Sequence[tuple[str, str]]
    grid_resolution: int
    percentiles: tuple[float, float]
    custom_values: Mapping[str, Sequence[Any]]
    mode: str
    max_ice: int
    max_levels: int

class EffectsOptions(CallOptions, total=False):
    """Keyword arguments of `effects`."""

    pairs: Sequence[tuple[str, str]]
    n_bins: int
    min_rows: int
    edges: Mapping[str, Sequence[float]]
    max_levels: int

class SensitivityOptions(CallOptions, total=False):
    """Keyword arguments of `sensitivity`."""

    alpha: float
    interactions: bool
    comparators: bool
    top: int
    pair_rel_tol: float
    step: float
    shared_unit: bool
    along: bool

class AttributionsOptions(CallOptions, total=False):
    """Keyword arguments of `attributions`."""

    n_local: int
    n_rows: int
    max_evaluations: int
    n_background: int
    max_exact: int
    n_permutations: int
    interactions: bool

class CoveredInformationOptions(CallOptions, total=False):
    """Keyword arguments of `coveredinformation`."""

    estimator: str
    penalty: float | None
    graph: Sequence[tuple[str, str]] | None
    potentials: str
    bins: int
    min_gain: float
    max_cover: int
    n_sets: int
    refit: bool
    gate: bool

class AdjustedImportanceOptions(CallOptions, total=False):
    """Keyword arguments of `adjustedimportance`."""

class RedundancyOptions(CallOptions, total=False):
    """Keyword arguments of `redundancy`."""

    n_splits: int

class CalibrationOptions(CallOptions, total=False):
    """Keyword arguments of `calibration`."""

    n_draws: int
    n_bins: int
    n_splits: int
    grades: tuple[float, ...]
    costs: tuple[float, ...]
    order: Names

class SegmentsOptions(CallOptions, total=False):
    """Keyword arguments of `segments`."""

    min_samples_leaf: int
    min_share: float

class SelectiveOptions(CallOptions, total=False):
    """Keyword arguments of `selective`."""

    n_draws: int
    n_band: int
    n_min: int
    max_levels: int

class GroupsOptions(CallOptions, total=False):
    """Keyword arguments of `groups`."""

    n_min: int
    max_levels: int
    n_draws: int
    n_proxies: int
    min_association: float

class DriftOptions(CallOptions, total=False):
    """Keyword arguments of `drift`."""

    expected: float
    n_neighbors: int
    n_repeats: int
    max_train: int

class AgreementOptions(CallOptions, total=False):
    """Keyword arguments of `agreement`."""

    sign: str
    n_draws: int
    top_k: int
    gini: bool

class InteractionsOptions(ProfileOptions, SensitivityOptions, AttributionsOptions, total=False):
    """Keyword arguments of `interactions`."""

    measures: Measures
    unstable_below: float
    rows: int | Sequence[int] | None
