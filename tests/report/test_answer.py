"""The answer: no two of its sentences contradict each other, and each is decided at its stated threshold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.api.views import AuditRun
from uq_report.core.model.results import Diagnostic, Importance, Result
from uq_report.document.document import Card, texts as texts_of
from uq_report.document.text import MENTION, first_sentence, unmarked
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.reading.rank_ranges import FeatureRanking, answers
from uq_report.reading.rating import DECIDES, UNFIT, rating
from uq_report.reading.run_reader import RunReader
from uq_report.report.answer.section import Conclusion, answer_of, as_lines, rest

from .. import samples
from .cases import Case, estimates
from .findings_made import finding, rule
from .synthetic import holding, make_run

SAMPLES = samples.unpacked()
CASES = {
    "classes": make_run(),
    "fails": make_run(Case(gate="fails")),
    "cannot be judged": make_run(Case(gate="cannot be judged")),
    "not assessed": make_run(Case(gate="not assessed")),
    "numbers": make_run(Case(task="regression")),
    "no outcomes": make_run(Case(has_y=False, gate="not assessed")),
    "two features": make_run(Case(names=("a", "b"))),
    "one feature": make_run(Case(names=("a",))),
    "no shap": make_run(leave_out=("shap",)),
    "no shap, no dalex": make_run(leave_out=("shap", "dalex")),
    "no pfi": make_run(leave_out=("pfi",)),
    "nothing": Run(as_of="2026-11-21", subject={"label": "m"}, settings={}, environment={}),
}


@cache
def run_of(name: str) -> Run:
    return CASES[name] if name in CASES else samples.read(SAMPLES / name / "run.json")


EVERY = [*CASES, *sorted(path.parent.name for path in SAMPLES.glob("*/run.json"))]


@cache
def told(name: str) -> tuple[RunReader, Conclusion]:
    e = RunReader(run_of(name))
    return e, answer_of(e)


def card(answer: Conclusion, title: str) -> Card:
    return next(one for one in answer.cards if one.title.startswith(title))


def ranking_of(e: RunReader, role: str) -> FeatureRanking | None:
    return next((ranking for ranking in answers(e) if ranking.facts.role == role), None)


def verdicts(e: RunReader, role: str) -> Mapping[str, str]:
    ranking = ranking_of(e, role)
    if ranking is None or "verdict" not in ranking.table:
        return {}
    return dict(zip(ranking.table["feature"], ranking.table["verdict"], strict=True))


@pytest.mark.parametrize("name", EVERY)
def test_the_recommendation_is_that_of_the_findings(name: str) -> None:
    e, answer = told(name)
    assert answer.recommendation == rating(e.run.outcomes)
    worst = {finding.severity for finding in e.findings}
    assert (answer.recommendation.tone == "bad") == bool(worst & {"critical", "high"})
    assert DECIDES in answer.basis


@pytest.mark.parametrize("name", EVERY)
def test_calibration_is_not_acceptable_exactly_where_its_finding_is_low_or_above(name: str) -> None:
    e, answer = told(name)
    headline = card(answer, "Calibration").headline
    failed = [f for f in e.findings if f.code == "UQ101" and f.severity != "observation"]
    assert (headline == "Not acceptable") == bool(failed)
    assert (headline == "Acceptable") == (e.gate.tone == "good")
    assert ("Calibration is acceptable." in answer.because) == (headline == "Acceptable")
    assert not (failed and answer.recommendation.text == "Fit for purpose")


@pytest.mark.parametrize("name", EVERY)
def test_what_was_not_tested_has_no_score(name: str) -> None:
    _, answer = told(name)
    untested = card(answer, "Performance").headline == "Not tested"
    assert answer.because.startswith("Performance was not tested") == untested


@pytest.mark.parametrize("name", EVERY)
def test_no_undecided_feature_is_named_as_a_driver(name: str) -> None:
    e, answer = told(name)
    _, loss, *_ = answer.drives
    of_loss = verdicts(e, "loss")
    shown = re.sub(r"The estimate for .* is larger \([^)]*\), but rests on a few observations\.", "", loss)
    for feature in MENTION.findall(shown) if of_loss else ():
        assert of_loss[feature] in ("positive", "negative")


@pytest.mark.parametrize("name", EVERY)
def test_a_single_leader_is_named_only_where_every_interval_of_ranks_shows_it(name: str) -> None:
    e, answer = told(name)
    for sentence, role, lead in zip(
        answer.drives, ("prediction", "loss"), ("has the largest effect on the prediction:", "most: by"), strict=False
    ):
        if lead not in sentence:
            continue
        ranking = ranking_of(e, role)
        assert ranking is not None
        places = ranking.features[MENTION.findall(sentence)[0]]
        assert (places.first, places.last, places.by_intervals) == (1, 1, True)


def pool(e: RunReader) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return every number of the evidence, in percent too, skills as shares of their baselines, counts and facts."""
    found = [pd.to_numeric(result.estimates[c], errors="coerce").to_numpy(dtype=float) for result in e.results
             for c in result.estimates.columns if c not in ("measure", "feature", "covers", "item")]  # fmt: skip
    scores = e.find(ids.CALIBRATION)
    table = scores.estimates.set_index("item") if scores is not None else pd.DataFrame()
    ends = ["estimate", "lower", "upper"]
    for score in ("log_score", "crps"):
        if f"{score}_baseline" in table.index:
            rows = table.loc[[f"{score}_skill", f"{score}_baseline"], ends].to_numpy(dtype=float)
            found.append(rows[0] / rows[1, 0])
    counts = [float(x) for result in e.results for row in result.meta.get("counts", ()) for x in (*row, sum(row))]
    margins = [float(t) for o in e.run.outcomes for r in o.rules for t in r.thresholds.values()]
    used = [float(len(result.meta.get("rows_used", ()))) for result in e.results]
    facts = [float(x) for x in (e.subject.n, e.subject.d) if x is not None]
    facts += [max(e.subject.class_counts) / sum(e.subject.class_counts)] if e.subject.class_counts else []
    # what is missed is what is not recalled
    decisions = e.find(ids.CALIBRATION_DECISIONS)
    if decisions is not None:
        found += [1 - decisions.estimates[c].to_numpy(dtype=float) for c in ("estimate", "lower", "upper")]
    values = np.concatenate([*found, [*counts, *margins, *used, *facts]])
    values = np.abs(values[np.isfinite(values)])
    return np.concatenate([values, 100 * values])


def strangers(e: RunReader, texts: Sequence[str]) -> Iterator[str]:
    """Yield the numbers of these texts that no number of the evidence rounds to."""
    values, names = pool(e), [str(f.name) for f in e.subject.features]
    for text in texts:
        plain = re.sub(
            "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "$^", "", MENTION.sub("", text)
        )
        for token in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)", plain):
            places = len(token.partition(".")[2]) or len(token.rstrip("0")) - len(token)
            if not np.any(np.abs(np.round(values, places) - float(token)) < 1e-9):
                yield token


def numbers_of(e: RunReader, answer: Conclusion) -> list[str]:
    """Return the sentences whose numbers are results; rows that would do follow from them."""
    cards = [text for one in answer.cards for text in (one.headline, *one.texts)]
    return [
        re.sub(r"[Aa]bout [\d,]+(?= observations| if)|up to \d+|\d+%(?= interval)|\d+ features?|sex \d", "", text)
        for text in (*cards, *answer.drives)
    ]


@pytest.mark.parametrize("name", [name for name in EVERY if name != "nothing"])
def test_every_number_is_in_the_evidence(name: str) -> None:
    e, answer = told(name)
    assert list(strangers(e, numbers_of(e, answer))) == []


def test_a_number_that_is_not_in_the_evidence_is_seen() -> None:
    e, _ = told("credit")
    assert list(strangers(e, ["It costs 7.3217 nats."])) == ["7.3217"]


@pytest.mark.parametrize("name", EVERY)
def test_the_answer_is_short_says_nothing_twice_and_prints_no_missing_number(name: str) -> None:
    _, answer = told(name)
    texts = [unmarked(text) for text in texts_of(answer)]
    assert sum(len(text.split()) for text in texts) <= 620  # four cards, and two sentences on the uncertainty
    sentences = [one for text in texts for one in re.split(r"(?<=[^.][.])\s+", text) if len(one.split()) > 4]
    assert len(sentences) == len(set(sentences))
    assert not [text for text in texts if re.search(r"\b(nan|inf|None|no number)\b", text) or "\u2026" in text]
    assert not [text for text in texts if re.search(r"(?<![\w.])-\d", text)]
    assert len(as_lines(answer)) <= 14


# --- thresholds


def scored(**items: tuple[float, float, float]) -> Result:
    """Return scores with their intervals; the 90% interval is the same."""
    rows = [
        {"item": item, "unit": "nats", "measure": "", "feature": "", "estimate": x, "lower": low, "upper": high,
         "lower_90": low, "upper_90": high}
        for item, (x, low, high) in items.items()
    ]  # fmt: skip
    table = estimates(rows, confidence=0.95, covers="new test samples")
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(
        id=ids.CALIBRATION,
        explainer=ids.CALIBRATION,
        title="",
        frame=frame,
        estimates=table,
        meta={"n": 250, "gap_variance": 0.25},
    )


def with_results(*results: Result, outcomes: Sequence[Outcome] = (), **subject: Any) -> RunReader:
    case = Case()
    run = make_run(case)
    kept = holding(replace(run, outcomes=tuple(outcomes)), case, results)
    return RunReader(replace(kept, subject={**run.subject, "groups": {}, "n": 250, **subject}))


BASE = {"log_score": (0.5, 0.4, 0.6), "log_score_baseline": (0.6, 0.5, 0.7)}


@pytest.mark.parametrize(
    ("low", "high", "words", "closes"),
    [
        (0.001, 0.2, "The model outperforms", "below that of a no-feature baseline (0.600)."),
        (0.0, 0.2, "The model is not shown to outperform", "not shown to be below that"),
        (-0.2, 0.0, "The model is not shown to outperform", "not shown to be below that"),
        (-0.2, -0.001, "The model performs worse than", "above that of a no-feature baseline (0.600)."),
    ],
)
def test_skill_is_told_by_its_interval(low: float, high: float, words: str, closes: str) -> None:
    e = with_results(scored(**BASE, log_score_skill=((low + high) / 2, low, high), roc_auc=(0.7, 0.6, 0.8)))
    answer = answer_of(e)
    assert answer.because.startswith(words)
    assert closes in card(answer, "Performance").texts[0]
    assert ("but ranks observations better than chance" in answer.because) == (words != "The model outperforms")


@pytest.mark.parametrize(("low", "said"), [(0.5, False), (0.501, True)])
def test_an_order_is_better_than_chance_only_above_one_half(low: float, said: bool) -> None:
    skill = (-0.1, -0.2, -0.05)
    answer = answer_of(with_results(scored(**BASE, log_score_skill=skill, roc_auc=(0.6, low, 0.7))))
    assert ("better than chance" in answer.because) == said


def gate(code: str = "", severity: Any = "high", margin: float = 0.05, **more: Any) -> Outcome:
    rules = (replace(rule("UQ102"), thresholds={"margin": margin}),)
    if not code:
        return Outcome(check=ids.CALIBRATION, state="passed", reason="it is within", rules=rules)
    found = finding(code, severity, evidence=(ids.CALIBRATION,), **more)
    return Outcome(check=ids.CALIBRATION, state="found", findings=(found,), rules=rules)


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        ((0.2, 0.001, 0.4), "over-confident: mean log loss exceeds mean entropy by 0.20"),
        ((0.2, 0.0, 0.4), "has no clear sign"),
        ((-0.2, -0.4, 0.0), "has no clear sign"),
        ((-0.2, -0.4, -0.001), "under-confident: mean log loss is below mean entropy by 0.20"),
    ],
)
def test_a_direction_of_miscalibration_is_that_of_its_interval(gap: tuple[float, float, float], words: str) -> None:
    answer = answer_of(with_results(scored(confidence_gap=gap), outcomes=[gate("UQ101")]))
    one = card(answer, "Calibration")
    assert one.headline == "Not acceptable"
    assert words in one.texts[0]


SMALL = {"threshold": 0.02, "observed": 0.005, "lower": 0.001, "upper": 0.01}


@pytest.mark.parametrize(
    ("severity", "more", "sentence", "headline"),
    [
        ("low", {}, "Calibration is not acceptable (UQ101, low).", "Not acceptable"),
        ("observation", {}, "Calibration is inconclusive at n = 250.", "Inconclusive"),
        ("observation", SMALL, "Calibration is acceptable.", "Acceptable"),
    ],
)
def test_a_test_that_rejects_is_acceptable_only_where_the_gain_is_shown_to_be_small(
    severity: Any, more: dict[str, float], sentence: str, headline: str
) -> None:
    answer = answer_of(with_results(scored(confidence_gap=(0.2, 0.1, 0.3)), outcomes=[gate("UQ101", severity, **more)]))
    one = card(answer, "Calibration")
    assert sentence in answer.because
    assert one.headline == headline
    assert ("A test rejects calibration, without a material loss" in one.texts[0]) == (headline == "Acceptable")


def test_miscalibrated_lifetimes_name_the_events() -> None:
    result = scored(confidence_gap=(0.2, 0.1, 0.3))
    result = replace(result, meta={**result.meta, "seen": 51, "expected": 34.2})
    texts = card(answer_of(with_results(result, outcomes=[gate("UQ101")])), "Calibration").texts
    assert texts[0].endswith("(90% CI 0.10 to 0.30). 51 events came where it expects 34.")


def test_an_inconclusive_calibration_has_the_sample_size_needed() -> None:
    answer = answer_of(with_results(scored(confidence_gap=(0.0, -0.1, 0.1)), outcomes=[gate("UQ102", "observation")]))
    one = card(answer, "Calibration")
    assert (one.headline, one.aside) == ("Inconclusive", "n = 250")
    assert one.texts[0].endswith(
        "tolerance ±0.05. Inconclusive (n = 250; about 860 observations give 80% power if the model is calibrated, "
        "about 2,500 if the gap is half the tolerance; the present sample had a chance below 10%)."
    )
    assert "Calibration is inconclusive at n = 250." in answer.because


@pytest.mark.parametrize(
    ("other", "limited"),
    [
        ((), False),
        ((finding("UQ401", "low"),), True),
        ((finding("UQ401", "observation"),), False),
        ((finding("UQ901"),), False),
    ],
)
def test_a_calibration_that_is_acceptable_may_be_limited(other: tuple[Finding, ...], limited: bool) -> None:
    outcomes = [gate(), *([Outcome(check="x", state="found", findings=other)] if other else [])]
    answer = answer_of(with_results(scored(confidence_gap=(0.0, -0.01, 0.01)), outcomes=outcomes))
    one = card(answer, "Calibration")
    assert one.headline == "Acceptable"
    assert one.texts[0] == "Calibration gap 0.000 nats (90% CI −0.010 to 0.010), within the tolerance of ±0.05."
    assert one.texts[1:] == (("Limitation: Title of UQ401 (UQ401).",) if limited else ())


def test_without_a_check_calibration_is_not_tested() -> None:
    assert card(answer_of(with_results()), "Calibration").headline == "Not tested"


def ranked(loss: Mapping[str, tuple[float, float, str]]) -> Result:
    """Return importances with intervals and verdicts, by their ends."""
    rows = [
        {"measure": "nll", "feature": name, "estimate": (low + high) / 2, "lower": low, "upper": high,
         "verdict": verdict, "margin": 0.01, "p_value": 0.1, "spread_low": low, "spread_high": high,
         "unpermuted": 0.5, "n_needed": np.nan, "exact_zero": False, "remark": ""}
        for name, (low, high, verdict) in loss.items()
    ]  # fmt: skip
    table = estimates(rows, confidence=0.95, covers="new test samples")
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id=ids.PFI, explainer=ids.PFI, title="", frame=frame, estimates=table)


UP, ZERO, UNSURE, DOWN = "positive", "about 0", "undetermined", "negative"


def sentence(loss: Mapping[str, tuple[float, float, str]]) -> str:
    return unmarked(answer_of(with_results(ranked(loss))).drives[1])


def test_who_leads_alone_is_named_and_others_share_the_lead() -> None:
    apart = sentence({"a": (0.3, 0.4, UP), "b": (0.1, 0.29, UP)})
    assert apart == "Permuting a increases the log loss most: by 0.35 nats (95% CI 0.30 to 0.40)."
    meet = sentence({"a": (0.3, 0.4, UP), "b": (0.1, 0.3, UP)})
    assert meet == (
        "Permuting a and b increases the log loss most: a by 0.35 nats (95% CI 0.30 to 0.40); their ranking is not "
        "statistically distinguishable (n = 250)."
    )


def test_an_undecided_feature_that_may_lead_leaves_no_single_leader() -> None:
    loss = sentence({"a": (0.1, 0.2, UP), "b": (-0.1, 0.25, UNSURE)})
    assert "b" not in loss.split()
    assert loss.endswith("whether it leads is inconclusive (n = 250).")


def test_harm_and_nothing_at_all_are_said() -> None:
    assert sentence({"a": (0.1, 0.2, UP), "b": (-0.2, -0.1, DOWN)}).endswith("Permuting b decreases the log loss.")
    few = sentence({"a": (-0.001, 0.001, ZERO)})
    assert few == "Permuting any single feature changes the log loss by less than the margin."
    unclear = sentence({"a": (-0.1, 0.1, UNSURE)})
    assert unclear == "No feature is shown to increase the log loss when permuted (n = 250)."


def test_without_outcomes_the_loss_is_not_guessed() -> None:
    _, answer = told("no outcomes")
    assert answer.drives[1] == "What drives the loss is unknown: no outcomes were given."
    assert card(answer, "Performance").headline == "Not tested"
    assert "no outcomes were given" in answer.because


def groups(measure: str, low: float, high: float, **more: Any) -> Result:
    """Return one difference of women against the rest, with its interval, and that of their outcomes."""
    line = {"measure": measure, "feature": "sex", "item": "f", "estimate": (low + high) / 2, "lower": low,
            "upper": high, "n": 87, "unit": "probability", "p_value": 0.1, "n_rest": 163, "overall": 0.3,
            "scale": 0.5}  # fmt: skip
    came = {
        **line,
        "measure": "outcome",
        "estimate": -0.01,
        "lower": -0.13,
        "upper": 0.11,
        "unit": "share of observations",
    }
    table = estimates([line, came], confidence=0.95, covers="new test samples")
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    meta = {"attributes": {"sex": {"groups": ["f", "m"], "withheld": [], **more}}, "n_min": 30}
    key = ids.GROUPS_DIFFERENCE
    return Diagnostic(id=key, explainer=ids.GROUPS, title="", frame=frame, estimates=table, meta=meta)


@pytest.mark.parametrize(
    ("low", "high", "headline"),
    [
        (0.01, 0.1, "+5.5 points"),
        (0.0, 0.1, "No difference shown"),
        (-0.1, 0.0, "No difference shown"),
        (-0.1, -0.01, "−5.5 points"),
    ],
)
def test_a_group_is_affected_where_the_interval_is_apart_from_0(low: float, high: float, headline: str) -> None:
    one = card(answer_of(with_results(groups("prediction", low, high))), "Groups")
    assert one.headline == headline
    assert one.texts[-1].endswith("Outcomes: −1 points (−13 to 11).") == (headline != "No difference shown")


def test_a_finding_on_groups_is_never_called_no_difference() -> None:
    found = Outcome(check="groups", state="found", findings=(finding("UQ802", "high", "sex"),))
    one = card(answer_of(with_results(groups("prediction", 0.0, 0.1), outcomes=[found])), "Groups")
    assert (one.headline, one.texts[0]) == ("See finding", "Title of UQ802 (UQ802).")


def test_wrong_predictions_for_a_group_come_first_where_a_finding_says_so() -> None:
    found = Outcome(check="groups", state="found", findings=(finding("UQ801", "high", "sex"),))
    residual = groups("residual", -0.2, -0.1, withheld=["x"])
    one = card(answer_of(with_results(residual, outcomes=[found])), "Groups")
    assert (one.headline, one.aside) == ("+15 points", "sex = f (10 to 20)")
    assert one.texts[-1] == "Not testable (n < 30): x of sex."
    assert card(answer_of(with_results(residual)), "Groups").headline == "Not testable"


def test_without_groups_nobody_is_named() -> None:
    assert [one.title for one in answer_of(with_results()).cards] == [
        "Performance",
        "Calibration",
        "Usefulness of the uncertainty",
        "Groups",
    ]
    assert answer_of(with_results()).cards[-1].headline == "Not assessed"


def actions_of(*findings: Finding, **settings: Any) -> tuple[RunReader, Conclusion]:
    outcomes = (Outcome(check="x", state="found", findings=findings),) if findings else ()
    run = replace(make_run(), outcomes=outcomes)
    e = RunReader(replace(run, settings={**run.settings, **settings}))
    return e, answer_of(e)


def test_findings_that_ask_for_the_same_are_one_step_and_owners_are_named() -> None:
    one, two = finding("UQ1", "low", remedy="Do it. At once."), finding("UQ2", "high", "age", remedy="Do it.")
    actions = [{"code": "UQ2", "owner": "Ann", "due": "2026-12-31", "feature": ""}]
    _, answer = actions_of(one, two, actions=actions)
    (step,) = answer.actions
    assert (step.lead, step.aside, step.tone) == ("Do it.", "findings UQ2 and UQ1 · Ann", "bad")
    assert step.text == ""


def test_the_action_for_an_inconclusive_rule_names_the_sample_size() -> None:
    for code, text in (("UQ952", "About 2,300 observations give 80% power."), ("UQ803", "")):
        outcome = Outcome(check="x", state="found", findings=(finding(code, "medium", remedy="Do."),), n_needed=2300)
        (step,) = answer_of(RunReader(replace(make_run(), outcomes=(outcome,)))).actions
        assert step.text == text


def test_findings_without_a_remedy_are_steps_of_their_own() -> None:
    _, answer = actions_of(finding("UQ1"), finding("UQ2"))
    assert [step.lead for step in answer.actions] == ["Review finding UQ1.", "Review finding UQ2."]


@pytest.mark.parametrize(("n", "left"), [(3, 0), (4, 1)])
def test_three_steps_are_told_and_the_rest_is_known(n: int, left: int) -> None:
    e, answer = actions_of(*(finding(f"UQ{k}", "medium", remedy=f"Do {k}.") for k in range(n)))
    assert (len(answer.actions), len(rest(e))) == (3, left)


def test_without_findings_there_is_something_to_watch() -> None:
    assert actions_of()[1].actions[0].lead == "Run the audit with checks."
    e = RunReader(replace(make_run(), outcomes=(Outcome(check="x", state="passed"),)))
    assert answer_of(e).actions[0].lead == "Monitor the model in use."


def test_a_sentence_is_whole_or_not_there() -> None:
    assert first_sentence("It is 0.5 nats (p.a.) of y. More.", 40) == "It is 0.5 nats (p.a.) of y."
    assert first_sentence("It costs 0.47 nats. age claims more.") == "It costs 0.47 nats."
    assert first_sentence("It costs 0.4. age claims 2% (1 to 3). More.", 13) == "It costs 0.4."
    assert first_sentence("x" * 239) == f"X{'x' * 238}."
    assert first_sentence("x" * 240) == ""


def test_the_foot_says_what_ran() -> None:
    e = RunReader(replace(make_run(), not_run=(NotRun("cid", "uq_report.explainers", "denied", "not asked"),)))
    foot = answer_of(e).foot
    assert "400 observations of 9 features" in foot
    assert "2 checks: 1 passed and 1 without a verdict." in foot
    assert foot.endswith("the code that serves the model, 1 method or check that did not run.")


def test_a_notebook_shows_the_answer_and_escapes_what_comes_from_outside() -> None:
    run = make_run(Case(gate="fails"))
    bad = finding("UQ9", "critical", title="<b>x</b>", remedy="<script>", statement="<i>")
    run = replace(
        run, subject={**run.subject, "label": "<img>"}, outcomes=(Outcome(check="x", state="found", findings=(bad,)),)
    )
    html = AuditRun(run)._repr_html_()
    assert UNFIT.text in html
    assert len(html) < 5000
    assert not re.search("<(script|img|i>)", html)
    assert "\ue000" not in html + repr(AuditRun(run))
    assert repr(AuditRun(run)).splitlines()[1].startswith(f"{UNFIT.text}. ")
    assert html.startswith("<p><strong>Audit of &lt;img&gt;, ")
