"""Ids of the built-in results: what findings cite, sections show and readers of a run ask for."""

from collections.abc import Mapping
from typing import Final

from ..core.support.errors import SITE

AGREEMENT: Final = "agreement"
AGREEMENT_PAIRS: Final = "agreement.pairs"
AGREEMENT_STABILITY: Final = "agreement.stability"
ALE: Final = "ale"
CALIBRATION: Final = "calibration"
CALIBRATION_COMPARISONS: Final = "calibration.comparisons"
CALIBRATION_COVERAGE: Final = "calibration.coverage"
CALIBRATION_DECISIONS: Final = "calibration.decisions"
CALIBRATION_GRADES: Final = "calibration.grades"
CALIBRATION_NET_BENEFIT: Final = "calibration.net_benefit"
CALIBRATION_PIT: Final = "calibration.pit"
CALIBRATION_RELIABILITY: Final = "calibration.reliability"
CALIBRATION_RESIDUALS: Final = "calibration.residuals"
CALIBRATION_ROC: Final = "calibration.roc"
CID: Final = "cid"
CID_CORRECTED: Final = "cid.corrected"
CID_COVER: Final = "cid.cover"
CID_SETS: Final = "cid.sets"
CID_GRAPH: Final = "cid.graph"
COMPARE_IMPORTANCE: Final = "compare.importance"
COMPARE_RELIANCE: Final = "compare.reliance"
COMPARE_SCORES: Final = "compare.scores"
COVER: Final = "cover"
DALEX: Final = "dalex"
DALEX_PARTS: Final = "dalex.model_parts"
DALEX_PERFORMANCE: Final = "dalex.model_performance"
DALEX_PROFILE: Final = "dalex.model_profile"
DALEX_ROWS: Final = "dalex.predict_parts"
DATA_QUALITY: Final = "data_quality"
DATA_QUALITY_MISSING: Final = "data_quality.missing"
GROUPS: Final = "groups"
GROUPS_DIFFERENCE: Final = "groups.difference"
GROUPS_PROXY: Final = "groups.proxy"
GROUPS_USE: Final = "groups.use"
H_STATISTIC: Final = "h_statistic"
PDP: Final = "pdp"
PDP_DISTRIBUTION: Final = "pdp.distribution"
PDP_INTERACTION: Final = "pdp.interaction"
PDP_OWN: Final = "pdp.own"
PFI: Final = "pfi"
PFI_CLAIMS: Final = "pfi.claims"
PFI_DELTA: Final = "pfi.delta"
PFI_DRIVERS: Final = "pfi.drivers"
PFI_PERMUTED: Final = "pfi.permuted"
PFI_BEFORE_AFTER: Final = "pfi.before_after"
PFI_READING: Final = "pfi.reading"
PFI_TRAIN: Final = "pfi.train"
PFI_UNCERTAINTY: Final = "pfi.uncertainty"
REDUNDANCY: Final = "redundancy"
REDUNDANCY_JOINT: Final = "redundancy.joint"
REDUNDANCY_PARTNER: Final = "redundancy.partner"
RSENS: Final = "rsens"
RSENS_ALONG: Final = "rsens.along"
RSENS_COMPARATORS: Final = "rsens.comparators"
RSENS_INTERACTION: Final = "rsens.interaction"
SEGMENTS: Final = "segments"
SEGMENTS_FEATURES: Final = "segments.features"
SELECTIVE: Final = "selective"
SELECTIVE_CURVE: Final = "selective.curve"
SELECTIVE_GROUPS: Final = "selective.groups"
SEGMENTS_PERIODS: Final = "segments.periods"
SEGMENTS_RESIDUALS: Final = "segments.residuals"
SEGMENTS_ROWS: Final = "segments.rows"
SENSITIVITY: Final = "sensitivity"
SHAP: Final = "shap"
GIVEN_SHAP: Final = "given_shap"
SHAP_INTERACTION: Final = "shap.interaction"
SHAP_IMPORTANCE: Final = "shap.importance"
SUPPORT: Final = "support"
SUPPORT_COPIES: Final = "support.copies"
SUPPORT_DISTRIBUTION: Final = "support.distribution"
SUPPORT_ROWS: Final = "support.rows"
SUPPORT_SHIFT: Final = "support.shift"
SUPPORT_VALUES: Final = "support.values"


def explainer_of(id: str) -> str:
    """Return the name of the explainer that gives the result `id`."""
    return id.partition(".")[0]


# the page of the documentation on the method of a result, by its id or by that of its explainer
METHOD_PAGES: Mapping[str, str] = {
    AGREEMENT: "agreement", ALE: "ale", CALIBRATION: "calibration", CID: "covered_information",
    COVER: "adjusted_importance", DALEX: "dalex", DATA_QUALITY: "data_quality", GROUPS: "groups",
    H_STATISTIC: "h_statistic", PDP: "profiles", PFI: "permutation_importance", PFI_CLAIMS: "model_implied",
    PFI_DELTA: "drivers", PFI_DRIVERS: "drivers", PFI_UNCERTAINTY: "drivers", REDUNDANCY: "redundancy", RSENS: "rsens",
    SEGMENTS: "segments", SELECTIVE: "selective", SENSITIVITY: "severity", SHAP: "shapley", GIVEN_SHAP: "shapley",
    SUPPORT: "support",
}  # fmt: skip


def method_address(id: str) -> str:
    """Return the address of the page on the method of a result; empty for one of another package.

    Examples
    --------
    >>> method_address("pfi.claims")[-26:], method_address("shap.importance")[-20:], method_address("ours")
    ('methods/model_implied.html', 'methods/shapley.html', '')
    """
    page = METHOD_PAGES.get(id) or METHOD_PAGES.get(explainer_of(id))
    return f"{SITE}/methods/{page}.html" if page else ""
