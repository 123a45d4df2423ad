"""What checks share: degrees of freedom, p-values, signs after adjustment, and how rules end together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report.checks.reading import (
    NAME,
    NAMED,
    RuleOutcome,
    absent,
    by_reason,
    close,
    freedom,
    lacking,
    likelihood,
    listed,
    signs,
    size_beyond,
    size_within,
    two_sided,
    with_reasons,
)
from uq_report.checks.rule import Rule
from uq_report.core.model.results import Omission
from uq_report.core.statistics.verdicts import SampleSize, beyond, within
from uq_report.evidence.importance import Pfi
from uq_report.evidence.run import NotRun

from .importances import pfi, run


@pytest.mark.parametrize(
    ("subject", "most", "expected"),
    [
        ({"n": 200}, np.inf, 199),
        ({"n": 200, "clusters": 30}, np.inf, 29),
        ({"n": 200}, 50, 50),
        ({"n": 20}, 50, 19),
        ({"n": 2}, np.inf, 1),
        ({"n": 1}, np.inf, 1),
        ({"n": 200}, 0.5, 1),
        ({"n": None}, np.inf, np.inf),
    ],
)
def test_a_mean_has_one_freedom_less_than_units_and_at_least_one(
    subject: dict[str, Any], most: float, expected: float
) -> None:
    assert freedom(run(**subject), most) == expected


@pytest.mark.parametrize("df", [1.0, 7.5, np.inf])
def test_p_values_are_those_of_two_sided_t_tests(df: float) -> None:
    estimate, error = np.array([-2.0, 0.3, 0.0, 1e-3]), np.array([1.0, 0.2, 0.5, 1.0])
    expected = 2 * stats.t.sf(np.abs(estimate / error), df)
    np.testing.assert_allclose(two_sided(estimate, error, df), expected, rtol=1e-12)


def test_an_exact_value_is_certain_and_one_without_error_has_no_p_value() -> None:
    p = two_sided([0.0, -0.2, 0.2, 0.2, np.nan], [0.0, 0.0, 0.0, np.nan, 0.1], 10)
    np.testing.assert_array_equal(p, [1, 0, 0, np.nan, np.nan])


def view(table: Mapping[str, tuple[float, float]], **columns: Any) -> Pfi:
    """Return importances of the loss; `columns` replace those of the estimates."""
    made = pfi({"nll": table})
    return Pfi.from_result(replace(made, estimates=made.estimates.assign(**columns)))


def test_signs_survive_the_adjustment_for_the_number_of_features() -> None:
    """Two-sided p-values of 0.01, 0.02 and 0.02: adjusted 0.03, 0.04 and 0.04."""
    error = 1 / stats.t.isf(np.array([0.01, 0.02, 0.02]) / 2, 199)
    three = view({name: (sign, float(e)) for name, sign, e in zip("abc", (1.0, -1.0, 1.0), error, strict=True)})
    found = signs(three, "nll", 0.035)
    assert [one.verdict for one in found.values()] == ["positive", "undetermined", "undetermined"]
    assert [one.interval for one in found.values()] == ["positive", "negative", "positive"]
    assert [one.p_value for one in found.values()] == pytest.approx([0.03, 0.04, 0.04])
    assert [found["b"].p_for(verdict) for verdict in ("negative", "positive")] == pytest.approx(
        [0.04, np.nan], nan_ok=True
    )
    assert [one.verdict for one in signs(three, "nll", 0.045).values()] == ["positive", "negative", "positive"]


def test_a_sign_whose_p_value_is_the_level_itself_counts() -> None:
    one = view({"a": (1.0, 0.4)})
    p = signs(one, "nll", 1.0)["a"].p_value
    assert [signs(one, "nll", level)["a"].verdict for level in (p, np.nextafter(p, 0))] == ["positive", "undetermined"]


def test_about_0_stays_and_distrusted_intervals_take_no_part_in_the_adjustment() -> None:
    """The p-value of a is 0.022: twice that is below 0.05, three times is not."""
    two = view({"a": (2.3, 1.0), "b": (1.0, 0.1), "c": (0.0, 0.001)}, unreliable=["", "few events", ""])
    found = signs(two, "nll", 0.05)
    assert [one.verdict for one in found.values()] == ["positive", "undetermined", "about 0"]
    assert found["a"].p_value == pytest.approx(2 * two_sided(2.3, 1.0, 199))
    assert np.isnan(found["b"].p_value)


def test_a_size_is_that_of_the_least_certain_of_a_family() -> None:
    pairs = [(0.01, 0.05), (0.04, 0.05), (float("nan"), 0.05), (0.04, 0.0)]
    known = run()
    size = size_beyond(known, pairs)
    assert size == beyond(200, 0.04, 0.05, "the true value is twice the margin", tests=4)
    assert size_beyond(run(n=None), pairs) is size_beyond(known, []) is None


def test_a_size_for_an_importance_of_0_is_that_of_undetermined_and_reliable_ones() -> None:
    of = view({"a": (0.0, 0.02), "b": (0.0, 0.03), "c": (9.0, 0.5)}, unreliable=["", "few events", ""])
    lines = [line for line in of.lines if line.measure == "nll"]
    known = run()
    assert {line.feature: line.verdict for line in lines} == {"a": "undetermined", "b": "undetermined", "c": "positive"}
    assert size_within(known, lines) == within(200, 200 * 0.02**2, lines[0].margin, "the true importance is 0")
    assert size_within(run(n=None), lines) is size_within(known, lines[1:]) is None


def test_undecided_features_are_told_with_the_reason_and_the_rows_that_would_do() -> None:
    why = ["", "few events (7 of 200 rows)", "few events (7 of 200 rows)", "no events (0 of 200 rows)"]
    of = view(dict.fromkeys("abcd", (1.0, 0.1)), unreliable=why, n_needed=[np.nan, 572.0, 572.0, np.nan])
    assert (
        with_reasons(of, "abcd")
        == with_reasons(of, "abcd", "brier", "nll")
        == (
            "a",
            "b and c (few events, 7 of 200 rows; about 572 observations are needed)",
            "d (no events, 0 of 200 rows)",
        )
    )
    assert with_reasons(of, "ba", "brier") == ("b", "a")


@pytest.mark.parametrize(
    ("measures", "name"),
    [(("nll", "nll_clipped"), "nll"), (("nll_clipped", "brier"), "nll_clipped"), (("brier",), ""), ((), "")],
)
def test_the_likelihood_is_the_plain_one_where_there_are_both(measures: tuple[str, ...], name: str) -> None:
    assert likelihood(Pfi.from_result(pfi({measure: {"a": (1.0, 0.1)} for measure in measures}))) == name


@pytest.mark.parametrize(
    ("not_run", "words"),
    [
        ((), "the partial dependence was not computed"),
        ((NotRun("pdp", "explainers", "no\ntime.", "limit"),), "the partial dependence was not computed: no time"),
        ((NotRun("pdp", "checks", "off", "not asked"),), "the partial dependence was not computed"),
        ((NotRun("ale", "explainers", "off", "not asked"),), "the partial dependence was not computed"),
        (
            (NotRun("pdp", "checks", "off", "not asked"), NotRun("pdp", "explainers", "late", "limit")),
            "the partial dependence was not computed: late",
        ),
    ],
)
def test_an_absent_result_has_the_reason_of_its_own_method(not_run: tuple[NotRun, ...], words: str) -> None:
    assert absent(run(not_run=not_run), "pdp") == words


def test_a_method_that_ran_without_such_a_result_did_not_give_it() -> None:
    assert absent(run(pfi({})), "pfi.train") == "permutation importance has no such result"


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        ((), ""),
        ((Omission("crps", "", "numbers only."), Omission("", "", "late")), ": numbers only"),
        ((Omission("", "", "late"), Omission("crps", "", "numbers only")), ": late"),
        ((Omission("nll", "", "numbers only"),), ""),
    ],
)
def test_what_a_result_lacks_has_the_reason_of_its_measure_or_of_all(gaps: tuple[Omission, ...], words: str) -> None:
    made = Pfi.from_result(replace(pfi({}), omissions=gaps))
    assert lacking(made, "crps") == f"permutation importance has no value for the CRPS{words}"


FINDING = Rule(code="UQ1", title="", when="", rests_on="").finding("low", "so it is.", ("pfi",))
CLEAR, OPEN, OFF = (
    RuleOutcome(code="UQ1", passed="Fine."),
    RuleOutcome(code="UQ2", undecided=("a",)),
    RuleOutcome(code="UQ3", absent="late"),
)


@pytest.mark.parametrize(
    ("parts", "state", "reason"),
    [
        ([CLEAR, RuleOutcome(code="UQ4"), replace(CLEAR, passed="Good.")], "passed", "Fine. Good."),
        ([CLEAR, OPEN], "skipped", "No verdict. UQ2 is undetermined for a."),
        ([CLEAR, OFF], "skipped", "No verdict. UQ3 was not judged: late."),
        ([OFF, replace(OFF, code="UQ5"), replace(OFF, absent="off")], "not_applicable", "late; off"),
        ([OFF, OPEN], "skipped", "No verdict. UQ3 was not judged: late. UQ2 is undetermined for a."),
        ([OFF, replace(CLEAR, findings=(FINDING,)), OPEN], "found", f"{OFF.remark} {OPEN.remark}"),
        ([replace(OPEN, because="few rows")], "skipped", "No verdict. UQ2 is undetermined for a: few rows."),
    ],
)  # fmt: skip
def test_rules_end_together_in_the_state_of_all(parts: list[RuleOutcome], state: str, reason: str) -> None:
    ended = close("demo", parts)
    assert (ended.check, ended.state, ended.reason) == ("demo", state, reason)
    assert ended.findings == tuple(finding for part in parts for finding in part.findings)


@pytest.mark.parametrize(
    ("names", "most", "words"),
    [
        ([], 2, ""),
        (["a"], 2, "a"),
        (["a", "b"], 2, "a and b"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
        (list("abcdef"), NAMED, "a, b, c, d, e and f"),
    ],
)
def test_names_are_listed_as_words(names: list[str], most: int, words: str) -> None:
    assert listed(names, most) == words


def test_names_are_cut_in_their_middle_only_where_they_are_endless() -> None:
    (long,) = by_reason({"x" * NAME: ""})
    (cut,) = by_reason({"x" * NAME + "y": ""})
    assert long == listed(["x" * NAME]) == "x" * NAME
    assert len(cut) == NAME
    assert cut == listed(["x" * NAME + "y"])


def test_a_rule_left_open_names_its_sample_size_and_the_check_the_largest() -> None:
    small, large, enough = (SampleSize(200, needed, 0.4, "it is 0") for needed in (300.0, 1234.0, 150.0))
    open_ = [RuleOutcome(code=f"UQ{k}", undecided=("a",), size=size) for k, size in enumerate((small, large, None))]
    ended = close("demo", open_)
    assert ended.n_needed == 1300
    words = "about 1,300 observations give 80% power if it is 0; the present sample had a chance of 40%)."
    assert f"UQ1 is undetermined for a. Inconclusive (n = 200; {words}" in ended.reason
    assert ended.reason.endswith("UQ2 is undetermined for a.")
    # no more observations are asked for where there were enough, nor by a rule that nothing is open in
    assert close("demo", [RuleOutcome(code="UQ1", undecided=("a",), size=enough)]).n_needed is None
    decided = RuleOutcome(code="UQ1", passed="p", size=large)
    assert close("demo", [decided]).n_needed is None
    assert close("demo", [decided]).reason == "p"
