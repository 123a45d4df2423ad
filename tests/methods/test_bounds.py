"""What the options of explainers are where nothing is asked, and both sides of what each may be."""

from dataclasses import fields
from typing import Any

import pytest

from uq_report.core.support.errors import InputError
from uq_report.runner import plugins

EXPLAINERS: dict[str, Any] = {plugin.name: plugins.load(plugin) for plugin in plugins.find(plugins.EXPLAINERS)}
# Numbers that results are made with: decisions, not to be changed in passing.
USUAL: dict[str, dict[str, float]] = {
    "agreement": {"n_draws": 2000, "top_k": 5},
    "ale": {"n_bins": 20, "min_rows": 10, "max_levels": 30},
    "calibration": {"n_draws": 999, "n_bins": 10, "n_splits": 5},
    "cid": {"bins": 4, "min_gain": 0.005, "max_cover": 5, "n_sets": 50},
    "cover": {"n_repeats": 10},
    "dalex": {
        "n_local": 1, "n_repeats": 10, "max_rows": 1000, "n_background": 100, "max_profiles": 4, "grid_points": 21,
        "n_paths": 25,
    },
    "data_quality": {"sparse": 0.95},
    "groups": {"n_min": 30, "max_levels": 6, "n_draws": 999, "n_proxies": 2, "min_association": 0.3},
    "h_statistic": {"max_rows": 50, "top": 6, "unstable_below": 0.01},
    "pdp": {"grid_resolution": 20, "max_ice": 60, "max_levels": 30},
    "pfi": {"n_repeats": 30, "max_shuffle_variance": 0.1},
    "redundancy": {"n_splits": 5},
    "rsens": {"alpha": 1.0, "max_rows": 200, "top": 8, "pair_rel_tol": 0.1, "step": 0.5},
    "segments": {"max_leaf_nodes": 6, "min_samples_leaf": 20, "min_share": 0.05},
    "selective": {"n_draws": 200, "n_band": 400, "n_min": 30, "max_levels": 6},
    "shap": {
        "n_local": 1, "n_rows": 50, "max_evaluations": 1_000_000, "n_background": 100, "max_exact": 10,
        "n_permutations": 20,
    },
    "support": {"expected": 0.05, "n_neighbors": 5, "n_repeats": 3, "max_train": 2000, "max_rows": 10_000},
}  # fmt: skip
LEAST: dict[str, dict[str, int]] = {
    "agreement": {"n_draws": 100, "top_k": 1},
    "ale": {"n_bins": 1, "min_rows": 1, "max_levels": 2},
    "calibration": {"n_draws": 99, "n_bins": 2, "n_splits": 2},
    "cid": {"bins": 2, "max_cover": 0, "n_sets": 10},
    "dalex": {
        "n_local": 0, "n_repeats": 2, "max_rows": 1, "n_background": 1, "max_profiles": 1, "grid_points": 2,
        "n_paths": 2,
    },
    "groups": {"n_min": 5, "max_levels": 2, "n_draws": 99, "n_proxies": 0},
    "h_statistic": {"max_rows": 3, "top": 2, "unstable_below": 0},
    "pdp": {"grid_resolution": 2, "max_ice": 0, "max_levels": 1},
    "pfi": {"n_repeats": 1, "max_shuffle_variance": 0},
    "redundancy": {"n_splits": 2, "max_rows": 10},
    "rsens": {"max_rows": 2, "top": 2},
    "segments": {"max_leaf_nodes": 2, "min_samples_leaf": 5},
    "selective": {"n_draws": 20, "n_band": 99, "n_min": 5, "max_levels": 2},
    "shap": {"n_local": 0, "n_rows": 0, "max_evaluations": 1, "n_background": 1, "max_exact": 0, "n_permutations": 4},
    "support": {"n_neighbors": 1, "n_repeats": 3, "max_rows": 10, "max_train": 40},
}  # fmt: skip
# The largest value that is taken, and one that is not.
MOST = (
    ("groups", "min_association", 1.0, 1.01),
    ("h_statistic", "unstable_below", 0.99, 1.0),
    ("pfi", "max_shuffle_variance", 0.99, 1.0),
    ("segments", "min_share", 0.5, 0.51),
    ("shap", "max_exact", 20, 21),
    ("shap", "n_permutations", 6, 7),
    ("support", "expected", 0.5, 0.51),
)


def test_the_usual_numbers() -> None:
    numbers = {
        name: {
            field.name: field.default
            for field in fields(explainer)
            if isinstance(field.default, int | float) and not isinstance(field.default, bool)
        }
        for name, explainer in EXPLAINERS.items()
    }
    assert numbers == USUAL


@pytest.mark.parametrize(
    ("name", "option", "least"), [(name, option, least) for name, own in LEAST.items() for option, least in own.items()]
)
def test_the_least_that_an_option_may_be(name: str, option: str, least: int) -> None:
    assert getattr(EXPLAINERS[name](**{option: least}), option) == least
    with pytest.raises(InputError, match=rf"{name}\.{option} must be"):
        EXPLAINERS[name](**{option: least - 1})


@pytest.mark.parametrize(("name", "option", "most", "beyond"), MOST)
def test_the_most_that_an_option_may_be(name: str, option: str, most: float, beyond: float) -> None:
    assert getattr(EXPLAINERS[name](**{option: most}), option) == most
    with pytest.raises(InputError, match=rf"{name}\.{option} must be"):
        EXPLAINERS[name](**{option: beyond})
