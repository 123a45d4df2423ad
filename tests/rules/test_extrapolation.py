"""What the model does off the data: negative Entropy-PFI, and PDP against ALE."""

import numpy as np
import pandas as pd
import pytest

from uq_report.checks.extrapolation import Extrapolation, nearest_partial
from uq_report.core.arrays import FloatArray, Table
from uq_report.core.distributions import Normal
from uq_report.core.errors import InputError
from uq_report.core.predictive import Distribution
from uq_report.core.results import ESTIMATE_COLUMNS, Profile
from uq_report.core.subject import make_subject
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun
from uq_report.testing import KnownTruth

from .importances import audited, diagnostic, outcome, pfi, run

NOTHING = (0.0, 0.003)
CALM = {"entropy": {"a": NOTHING, "b": NOTHING}}
X = np.linspace(0, 1, 6)


def profile(id: str, curve: FloatArray, error: float = 0.02, measure: str = "prediction", level: str = "") -> Profile:
    """Return a PDP or ALE of feature a; an ALE's error grows from 0 as it accumulates."""
    table = pd.DataFrame({"measure": measure, "feature": "a", "x": X, "level": level, "estimate": curve})
    table = table.assign(
        std_error=error, std_error_change=np.where(X > 0, error, 0.0), confidence=0.95, covers="new test rows"
    )
    columns = [*ESTIMATE_COLUMNS, "x", "level", *(["std_error_change"] if id == "ale" else [])]
    return Profile(
        id=id,
        explainer=id,
        title="",
        frame=pd.DataFrame(columns=list(Profile.columns)),
        estimates=table.assign(lower=curve, upper=curve)[columns],
    )


def profiled(ale: FloatArray, pdp: FloatArray, error: float = 0.02, check: Extrapolation | None = None) -> Outcome:
    results = pfi(CALM), profile("ale", ale, error), profile("pdp", pdp, error)
    return (check or Extrapolation()).check(run(*results))


def confident(**entropy: tuple[float, float]) -> Outcome:
    return Extrapolation().check(run(pfi({"entropy": entropy}), profile("ale", X), profile("pdp", X)))


def codes(found: Outcome) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.code, finding.features) for finding in found.findings]


def test_a_negative_entropy_importance_fires() -> None:
    found = confident(a=(-0.05, 0.01), b=NOTHING)
    assert codes(found) == [("UQ311", ("a",))]
    finding = found.findings[0]
    assert (finding.severity, finding.evidence, finding.measures) == ("high", ("pfi",), ("entropy",))
    assert (finding.observed, finding.threshold) == (-0.05, 0.0)
    assert "Entropy-PFI of a is negative: -0.05 nats, 95 % interval -0.0697 to -0.0303" in finding.statement


def test_the_joint_before_and_after_is_cited_where_the_feature_is_in_it() -> None:
    joint = diagnostic("redundancy.joint", [{"measure": "before", "feature": "a", "item": "b", "estimate": 1.0}])
    sick = pfi({"entropy": {"a": (-0.05, 0.01), "b": (-0.05, 0.01)}})
    found = Extrapolation().check(run(sick, joint, profile("ale", X), profile("pdp", 3 * X)))
    evidence = {(f.code, f.features): f.evidence for f in found.findings}
    assert evidence == {
        ("UQ311", ("a",)): ("pfi", "redundancy.joint"),
        ("UQ311", ("b",)): ("pfi",),
        ("UQ312", ("a",)): ("ale", "pdp", "redundancy.joint"),
    }
    assert "The pairs before and after a shuffle show where the data ends." in found.findings[0].statement


def test_positive_or_no_entropy_importance_stays_silent() -> None:
    assert confident(a=(0.05, 0.01), b=NOTHING).state == "passed"


def test_a_sign_that_the_adjustment_takes_away_is_undetermined() -> None:
    assert codes(confident(a=(-0.023, 0.011))) == [("UQ311", ("a",))]
    found = confident(a=(-0.023, 0.011), b=NOTHING, c=NOTHING)
    assert (found.state, codes(found)) == ("skipped", [])
    assert "UQ311 is undetermined for a." in found.reason


def test_curves_that_part_fire_with_their_changes() -> None:
    found = profiled(X, 3 * X)
    assert codes(found) == [("UQ312", ("a",))]
    finding = found.findings[0]
    assert "Between a = 0 and 1 the prediction changes by +1 near the data (ALE), and by +3" in finding.statement
    assert finding.observed == pytest.approx(-2)
    assert finding.lower is not None
    assert finding.upper is not None
    # Level 0.025 for one curve, five points, and an error of 0.02 for each of: ALE at 1, PDP at 0 and 1.
    assert finding.upper - finding.lower == pytest.approx(2 * 2.8070 * 0.06, rel=1e-3)
    assert finding.lower < -2 < finding.upper < 0


@pytest.mark.parametrize(
    ("pdp", "error"),
    [
        pytest.param(X + 5, 0.02, id="the same but for a constant"),
        pytest.param(1.05 * X, 0.0, id="by less than a tenth of the range"),
        pytest.param(3 * X, 0.5, id="by less than the errors"),
    ],
)
def test_curves_that_are_not_shown_to_part_stay_silent(pdp: FloatArray, error: float) -> None:
    found = profiled(X, pdp, error)
    assert (found.state, codes(found)) == ("passed", [])
    assert "No PDP is shown to part from its ALE." in found.reason


def test_flat_curves_do_not_part_by_rounding() -> None:
    rounding = np.ones(6) + 1e-16 * np.linspace(0, 5, 6)
    assert profiled(np.zeros(6), rounding, 0.0).state == "passed"


def test_a_step_between_the_points_of_the_grid_is_no_difference() -> None:
    ale, pdp = np.where(X > 0.45, 1.0, 0.0), np.where(X > 0.45, 1.0, 0.0)
    local, partial = profile("ale", ale, 0.0).estimates, profile("pdp", pdp, 0.0).estimates
    moved = partial.assign(x=np.where((X > 0) & (X < 1), X + 0.07, X))
    assert nearest_partial(local, moved)["estimate"].tolist() == ale.tolist()
    shifted = profile("pdp", pdp, 0.0)
    shifted.estimates["x"] = moved["x"]
    assert Extrapolation().check(run(pfi(CALM), profile("ale", ale, 0.0), shifted)).state == "passed"


def test_an_unknown_error_is_undetermined() -> None:
    ale = profile("ale", X)
    ale.estimates.loc[3:, "std_error_change"] = np.nan
    found = Extrapolation().check(run(pfi(CALM), ale, profile("pdp", 3 * X)))
    assert (found.state, "UQ312 is undetermined for a." in found.reason) == ("skipped", True)


@pytest.mark.parametrize("missing", ["ale", "pdp"])
def test_without_both_profiles_they_are_not_compared(missing: str) -> None:
    other = profile("pdp" if missing == "ale" else "ale", X)
    found = Extrapolation().check(run(pfi(CALM), other, not_run=(NotRun(missing, "explainers", "denied"),)))
    assert found.state == "skipped"
    assert f"UQ312 was not judged: {missing} was not run: denied." in found.reason


def test_levels_and_measures_of_y_are_not_compared() -> None:
    levels = profile("ale", X, level="red"), profile("pdp", 3 * X, level="red")
    of_y = profile("ale", X, measure="nll"), profile("pdp", 3 * X, measure="nll")
    for pair in (levels, of_y):
        found = Extrapolation().check(run(pfi(CALM), *pair))
        assert "no numeric feature has both a plain PDP and an ALE of these measures" in found.reason
        assert codes(found) == []
    with pytest.raises(InputError, match=r"extrapolation\.measures must be names of measures that need no y"):
        Extrapolation(measures=("nll",))


def test_all_curves_share_the_level() -> None:
    one = profile("ale", X, 0.13), profile("pdp", 2.1 * X, 0.13)
    assert codes(Extrapolation().check(run(pfi(CALM), *one))) == [("UQ312", ("a",))]
    assert codes(Extrapolation(level=0.02).check(run(pfi(CALM), *one))) == []


def test_without_any_evidence_it_does_not_apply() -> None:
    found = Extrapolation().check(run(pfi({"nll": {"a": NOTHING}})))
    assert (found.state, found.reason) == (
        "not_applicable",
        "pfi has no entropy; ale was not run and pdp was not run",
    )
    assert "pfi was not run" in Extrapolation().check(run()).reason


class Overconfident:
    """A mean and a scale that are right where x0 and x1 agree, and wrong where they do not."""

    def distribution(self, rows: Table) -> Distribution:
        values = np.asarray(rows, dtype=float)
        apart = np.abs(values[:, 0] - values[:, 1])
        return Normal(values[:, 0] + values[:, 0] * apart, np.exp(-apart))


def test_a_model_that_is_confident_off_the_data_is_found_end_to_end() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=300)
    rows = np.column_stack([shared, shared + 0.05 * rng.normal(size=300), rng.normal(size=300)])
    y = shared + rng.normal(size=300)
    subject = make_subject(Overconfident(), KnownTruth(), rows, y)
    options = {"pfi": {"n_repeats": 5}, "redundancy": {"max_rows": 200}}
    done = audited(subject, ["pfi", "ale", "pdp", "redundancy"], rules=["extrapolation"], options=options)
    found = outcome(done, "extrapolation")
    assert {("UQ311", ("x0",)), ("UQ311", ("x1",)), ("UQ312", ("x0",))} <= set(codes(found))
    assert not any("x2" in features for _, features in codes(found))
    assert all("redundancy.joint" in finding.evidence for finding in found.findings)
