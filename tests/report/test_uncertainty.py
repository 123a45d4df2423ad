"""What page 1 states of the uncertainty: which unit drives it, and whether corrupted values are visible in it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Importance, Result
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.importance import (
    ALIKE,
    CONFIDENT,
    HARMLESS,
    HIDDEN,
    INCONCLUSIVE,
    LESS,
    MORE,
    OPEN_RISE,
)
from uq_report.reading.run_reader import RunReader
from uq_report.report.answer import drivers as uncertainty
from uq_report.report.answer.drivers import drivers

from .cases import Case, diagnostic, estimates
from .made import size
from .synthetic import holding, make_run

N_IS = "(n = 400)"


def unit(name: str, value: float, first: int, last: int, error: float = 0.002, **more: Any) -> dict[str, Any]:
    """The line of a unit that may have these ranks; the uncertainty differs by 0.2 nats between two observations."""
    return size(name, value, error, item="unit", first=first, last=last, apart=0, rare=False) | more


def read(
    *units: dict[str, Any],
    difference: float = 0.2,
    verdict: str = "differs",
    joint: dict[str, list[str]] | None = None,
    measure: str = "uncertainty_change",
) -> str:
    """Return what is stated of the uncertainty."""
    between = size("", difference, 0.005) | {"item": "difference", "verdict": verdict}
    lines = [line | {"measure": measure} for line in (between, *units)]
    table = estimates(lines, confidence=0.95, covers="new test samples")
    result = replace(diagnostic(ids.PFI_DRIVERS, "", table, explainer=ids.PFI), meta={"units": joint or {}})
    found = uncertainty.read(RunReader(holding(make_run(), Case(), [result])))
    assert found is not None
    return unmarked(uncertainty.uncertainty(found))


def test_u1_one_leader_is_the_main_driver_from_half_of_the_difference_on() -> None:
    others = unit("age", 0.05, 2, 2), unit("income", 0.03, 3, 3), unit("noise", 0.021, 4, 4, error=0.0001)
    assert read(unit("duration", 0.15, 1, 1), *others) == (
        "Uncertainty is driven mainly by duration: permuting it changes the entropy by 0.1500 nats on average (95% CI "
        "0.1460 to 0.1540), 75% of the average difference between two observations (0.200 nats). age (0.0500) and "
        "income (0.0300) follow."
    )
    assert read(unit("duration", 0.1041, 1, 1)).startswith("Uncertainty is driven mainly by duration")
    assert read(unit("duration", 0.1039, 1, 1)).startswith("Uncertainty is driven most by duration")


def test_u1_names_correlated_features_and_owners_groups() -> None:
    joint = {"a + b": ["a", "b"]}
    assert read(unit("a + b", 0.15, 1, 1), joint=joint).startswith(
        "Uncertainty is driven mainly by the correlated features a and b (permuted together): permuting them changes "
    )
    assert read(unit("both", 0.15, 1, 1), joint={"both": ["duration", "age"]}).startswith(
        "Uncertainty is driven mainly by the group “both” (duration and age, permuted together): permuting them "
    )
    follow = read(unit("x", 0.15, 1, 1), unit("a + b", 0.1, 2, 2), joint=joint)
    assert follow.endswith("The correlated features a and b (permuted together) (0.1000) follows.")


def test_u2_two_to_four_leaders_share_the_lead() -> None:
    units = [unit(f"x{k}", 0.15 - 0.01 * k, 1, 4, error=0.01) for k in range(4)]
    assert read(*units[:2], unit("y", 0.05, 3, 3, error=0.01)) == (
        f"x0 and x1 drive the uncertainty most (0.150 and 0.140 nats); their ranking is not statistically "
        f"distinguishable {N_IS}. y (0.050) follows."
    )
    assert read(*units).startswith("x0, x1, x2 and x3 drive the uncertainty most (0.150, 0.140, 0.130 and 0.120 nats)")


def test_u3_more_than_four_leaders_and_none_dominates() -> None:
    units = [unit(f"x{k}", 0.15 - 0.01 * k, 1, 5, error=0.01) for k in range(5)]
    assert read(*units) == (
        "No single feature dominates the uncertainty: 5 features change the entropy by 0.11 to 0.15 nats each."
    )


def test_u4_a_constant_uncertainty_has_no_driver() -> None:
    still = unit("a", 0.0, 1, 1, error=0.0)
    assert read(still, difference=0.012, verdict="constant") == (
        "The stated uncertainty is practically the same for all observations (average difference 0.012 nats, tolerance "
        "0.020): no feature determines it."
    )
    assert read(still, difference=0.0, verdict="constant") == (
        "The model states the same uncertainty for every observation."
    )
    assert read(still, difference=0.02, verdict="open") == (
        f"Whether the stated uncertainty differs between observations is inconclusive {N_IS}."
    )


def test_u5_a_unit_that_changes_few_pairs_by_much_is_named() -> None:
    rare = unit("step", 0.08, 2, 2, rare=True, changed=0.07, where_changed=1.25)
    assert read(unit("a", 0.15, 1, 1), rare).endswith(
        "step changes it in fewer cases (7% of pairs), but by 1.2 nats where it does."
    )
    assert "fewer cases" not in read(unit("a", 0.15, 1, 1), rare | {"rare": False})


def test_u6_a_flag_is_stated_and_bars_the_main_driver() -> None:
    shifted: dict[str, Any] = {"flag": "mean change", "shift": -0.08, "shift_lower": -0.09, "shift_upper": -0.07}
    text = read(unit("a", 0.15, 1, 1, **shifted))
    assert text.startswith("Uncertainty is driven most by a")
    assert text.endswith(
        "Part of this size arises from combinations of values that do not occur in the data (mean shift −0.080 nats)."
    )
    wider = read(unit("a", 0.25, 1, 1, flag="beyond the difference"))
    assert wider.endswith("Part of this size arises from combinations of values that do not occur in the data.")
    follower = read(unit("a", 0.15, 1, 1), unit("b", 0.1, 2, 2, **shifted))
    assert "mainly by a" in follower
    assert "combinations" not in follower


def test_u7_what_the_uncertainty_does_not_use_is_named() -> None:
    unused = [unit(name, 0.0, 2, 3, error=0.0) for name in ("b", "c + d")]
    text = read(unit("a", 0.15, 1, 1), *unused, joint={"c + d": ["c", "d"]})
    assert text.endswith("No permutation of b, c or d changed the entropy: the model's uncertainty does not use them.")
    assert read(unit("a", 0.15, 1, 1), unused[0]).endswith("does not use it.")


def test_leaders_that_are_not_shown_are_not_named() -> None:
    open_ = unit("a", 0.03, 1, 2, error=0.02)
    assert read(open_, unit("b", 0.02, 1, 2, error=0.02)) == (
        f"Which features drive the uncertainty most is inconclusive {N_IS}."
    )
    assert read(*(unit(f"x{k}", 0.01, 1, 9) for k in range(3))) == (
        "No feature alone changes the entropy by more than a tenth of the average difference between two observations "
        "(0.200 nats)."
    )


def test_a_standard_deviation_is_called_so() -> None:
    text = read(unit("a", 0.15, 1, 1), measure="sd_change")
    assert "permuting it changes the predictive standard deviation by 0.1500 units of the outcome on average" in text


# ---------------------------------------------------------------------- corrupted values

UP, ZERO, UNSURE, DOWN = (
    (0.1, 0.01, "positive"),
    (0.0, 0.001, "about 0"),
    (0.0, 0.02, "undetermined"),
    (-0.1, 0.01, "negative"),
)


def importance(cases: Sequence[tuple[str, tuple[float, float, str], tuple[float, float, str]]]) -> Importance:
    """Permutation importance for log loss and entropy of features by name."""
    rows = [
        {"measure": measure, "feature": name, "estimate": value, "std_error": error, "lower": value - 2 * error,
         "upper": value + 2 * error, "verdict": verdict, "margin": 0.01, "p_value": 0.1, "spread_low": 0.0,
         "spread_high": 0.0, "unpermuted": 0.5, "n_needed": np.nan, "exact_zero": False, "remark": ""}
        for name, *both in cases
        for measure, (value, error, verdict) in zip(("nll", "entropy"), both, strict=True)
    ]  # fmt: skip
    table = estimates(rows, confidence=0.95, covers="new test samples")
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    meta = {"degrees_of_freedom": 399}
    return Importance(id=ids.PFI, explainer=ids.PFI, title="", frame=frame, estimates=table, meta=meta)


def corrupted(
    item: str,
    E: tuple[float, float, str],
    predicted: tuple[float, float] | None = None,
    L: tuple[float, float, str] = UP,
    names: str = "a",
) -> str:
    """Return what is stated of features whose others predict them with this R² and upper limit."""
    gap = L[0] - E[0]
    lines = [
        {"measure": "nll", "feature": x, "estimate": gap, "lower": gap - 0.02, "upper": gap + 0.02, "item": item}
        for x in names
    ]
    results: list[Result] = [
        importance([(name, L, E) for name in names]),
        diagnostic(ids.PFI_READING, "", estimates(lines), explainer=ids.PFI),
    ]
    if predicted is not None:
        value, upper = predicted
        skill = {"measure": "r_squared", "estimate": value, "lower": value - 0.05, "upper": upper, "n": 400}
        rows = [skill | {"feature": name, "item": "without target"} for name in names]
        results.append(diagnostic(ids.REDUNDANCY, "", estimates(rows), explainer=ids.REDUNDANCY))
    return unmarked(uncertainty.corrupted(RunReader(holding(make_run(), Case(), results))))


def test_n1_what_no_model_could_detect() -> None:
    assert corrupted(HIDDEN, ZERO, (0.02, 0.0999)) == (
        "Corrupted values of a increase the log loss by 0.100 nats and are not visible in the stated uncertainty. a is "
        "not predictable from the other features, so hardly any model could detect it: check it at data entry."
    )
    assert corrupted(OPEN_RISE, UNSURE, (0.02, 0.0999)) == corrupted(HIDDEN, ZERO, (0.02, 0.0999))
    assert corrupted(HIDDEN, ZERO, (0.02, 0.09), names="ab") == (
        "Corrupted values of a and b increase the log loss by 0.100 and 0.100 nats and are not visible in the stated "
        "uncertainty. They are not predictable from the other features, so hardly any model could detect them: check "
        "them at data entry."
    )


def test_n2_what_the_other_features_predict_in_part() -> None:
    assert corrupted(HIDDEN, ZERO, (0.1, 0.2)) == (
        "Corrupted values of a increase the log loss by 0.100 nats without increasing the stated uncertainty, although "
        "the other features predict a in part (R² 0.10)."
    )
    plain = "Corrupted values of a increase the log loss by 0.100 nats without increasing the stated uncertainty."
    assert corrupted(HIDDEN, ZERO, (0.0999, 0.2)) == corrupted(HIDDEN, ZERO) == plain


def test_n3_part_of_the_loss_is_not_signalled() -> None:
    assert corrupted(LESS, (0.02, 0.005, "positive"), (0.5, 0.6)) == (
        "Corrupted values of a increase the log loss by 0.100 nats and the stated uncertainty by 0.020 nats: 0.080 "
        "nats are not signalled."
    )


@pytest.mark.parametrize(("item", "words"), [(ALIKE, "by as much as"), (MORE, "by more than")])
def test_n4_the_uncertainty_rises_by_as_much_or_more(item: str, words: str) -> None:
    assert corrupted(item, UP, (0.5, 0.6)) == (
        f"Corrupted values of a increase the log loss by 0.100 nats, and the stated uncertainty rises {words} the loss."
    )


def test_n5_the_model_becomes_more_confident() -> None:
    assert corrupted(CONFIDENT, DOWN, (0.5, 0.6)) == (
        "Corrupted values of a increase the log loss by 0.100 nats, and the model becomes more confident (entropy "
        "−0.100 nats)."
    )


@pytest.mark.parametrize("item", [INCONCLUSIVE, OPEN_RISE, HARMLESS])
def test_n6_all_else_is_not_stated(item: str) -> None:
    assert corrupted(item, UNSURE, (0.5, 0.6)) == ""
    assert corrupted(item, UNSURE) == ""


def test_only_what_increases_the_loss_after_holm_is_stated_four_features_at_most() -> None:
    assert corrupted(HIDDEN, ZERO, L=(0.0, 0.001, "about 0")) == ""
    assert corrupted(HIDDEN, ZERO, L=(0.021, 0.01, "positive")) != ""
    assert corrupted(HIDDEN, ZERO, L=(0.021, 0.01, "positive"), names="ab") == ""  # p = 0.036 for each
    assert "a, b, c and d increase" in corrupted(HIDDEN, ZERO, names="abcdef")


def test_page_1_has_a_fourth_item_only_where_corruption_is_stated() -> None:
    run = make_run()
    assert len(drivers(RunReader(run))) in (3, 4)
    bare = replace(run, results=tuple(r for r in run.results if r.id != ids.PFI_READING))
    assert len(drivers(RunReader(bare))) == 3
    shapley = replace(run, results=tuple(r for r in bare.results if r.explainer != ids.PFI))
    assert "not measured" in drivers(RunReader(replace(shapley, results=())))[2]
    assert isinstance(shapley.results[0].estimates, pd.DataFrame)
