"""Waivers: what was found stays in the run; it is open unless somebody answers for it on that day."""

import json
from pathlib import Path
from typing import Any

import pytest

from uq_report import runner
from uq_report.core.support.errors import InputError
from uq_report.evidence import codec
from uq_report.evidence.finding import Finding, Outcome, Waived, Waiver
from uq_report.evidence.run import Run
from uq_report.runner import plugins
from uq_report.runner.judge import judge, waive
from uq_report.runner.settings import Settings, WaiverSettings, make_settings
from uq_report.testing import linear_subject

DAY = "2026-06-30"
BROKEN = ("a not in top 3 of nll", "c not in top 3 of nll")


def finding(code: str = "UQ951", *features: str) -> Finding:
    return Finding(
        code=code, title="", severity="high", statement="", evidence=("pfi",), rests_on="", features=tuple(features)
    )


def found(*findings: Finding) -> Outcome:
    return Outcome(check="policy", state="found", findings=findings)


def waiver(code: str = "UQ951", feature: str = "", expires: str = DAY, owner: str = "Ada") -> WaiverSettings:
    return WaiverSettings(code=code, owner=owner, reason="known", expires=expires, feature=feature)


@pytest.mark.parametrize("as_of", ["2026-01-01", DAY])
def test_a_waiver_holds_until_its_last_day(as_of: str) -> None:
    outcome = waive(found(finding()), [waiver()], as_of)
    assert (outcome.state, outcome.findings) == ("ignored", ())
    assert outcome.reason == "waived by Ada until 2026-06-30"
    held = Waiver(code="UQ951", owner="Ada", reason="known", expires=DAY)
    assert outcome.waived == (Waived(finding=finding(), waiver=held),)


@pytest.mark.parametrize(
    "one",
    [
        waiver(expires="2026-06-29"),  # over
        waiver(code="UQ952"),  # another code
        waiver(feature="b"),  # another feature
    ],
)
def test_another_day_code_or_feature_changes_nothing(one: WaiverSettings) -> None:
    outcome = found(finding("UQ951", "a"))
    assert waive(outcome, [one], DAY) is outcome


def test_a_waiver_for_a_feature_is_not_one_for_several() -> None:
    outcome = found(finding("UQ951", "a", "b"))
    assert waive(outcome, [waiver(feature="a")], DAY) is outcome
    assert waive(found(finding("UQ951", "a")), [waiver(feature="a")], DAY).state == "ignored"


def test_what_is_not_waived_stays_open_beside_what_is() -> None:
    outcome = waive(found(finding("UQ951", "a"), finding("UQ951", "b")), [waiver(feature="a")], DAY)
    assert outcome.state == "found"
    assert [one.features for one in outcome.findings] == [("b",)]
    assert [one.finding.features for one in outcome.waived] == [("a",)]


def test_the_first_waiver_that_holds_is_kept_and_all_owners_are_named() -> None:
    both = found(finding("UQ951", "a"), finding("UQ951", "b"))
    over, ada, bob = waiver(expires="2020-01-01", owner="Eve"), waiver(feature="a"), waiver(owner="Bob")
    outcome = waive(both, [over, ada, bob], DAY)
    assert outcome.reason == "waived by Ada until 2026-06-30; waived by Bob until 2026-06-30"
    assert [one.waiver.owner for one in outcome.waived] == ["Ada", "Bob"]


@pytest.mark.parametrize("state", ["passed", "skipped", "not_applicable"])
def test_where_nothing_was_found_nothing_is_waived(state: Any) -> None:
    outcome = Outcome(check="policy", state=state, reason="r")
    assert waive(outcome, [waiver()], DAY) is outcome


def test_states_cannot_contradict_what_is_waived() -> None:
    held = waive(found(finding()), [waiver()], DAY).waived
    with pytest.raises(InputError, match="contradicts 1 waived"):
        Outcome(check="policy", state="passed", waived=held)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"code": "UQ951", "owner": "Ada", "reason": "r", "expires": "soon"}, r"waivers\.0\.expires must be"),
        ({"code": "UQ951", "owner": " ", "reason": "r", "expires": DAY}, r"waivers\.0\.owner must be"),
        ({"code": "UQ951", "owner": "Ada", "expires": DAY}, r"waivers\.0\.reason must be given"),
    ],
)
def test_a_waiver_needs_an_owner_a_reason_and_a_day(given: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_settings({"waivers": [given]})


def audited(*waivers: WaiverSettings) -> Run:
    """Return a run whose policy has two broken rules, about a and about c."""
    options: dict[str, Any] = {"pfi": {"n_repeats": 5, "measures": ["nll"]}, "checks.policy": {"require": BROKEN}}
    chosen = ("pfi", "agreement")
    settings = Settings(explainers=chosen, checks=("policy",), options=options, waivers=waivers, as_of=DAY)
    return runner.run(linear_subject(100), settings).run


def policy(run: Run) -> Outcome:
    return next(outcome for outcome in run.outcomes if outcome.check == "policy")


@pytest.mark.parametrize(
    ("waivers", "state", "n_open", "n_waived"),
    [
        ((), "found", 2, 0),
        ((waiver(feature="a"),), "found", 1, 1),
        ((waiver(),), "ignored", 0, 2),
        ((waiver(expires="2026-06-29"),), "found", 2, 0),
    ],
)
def test_an_audit_keeps_them_through_file_and_schema(waivers: Any, state: str, n_open: int, n_waived: int) -> None:
    run = audited(*waivers)
    outcome = policy(run)
    assert (outcome.state, len(outcome.findings), len(outcome.waived)) == (state, n_open, n_waived)
    assert len(run.findings) == n_open
    assert [rule.code for rule in outcome.rules] == ["UQ951", "UQ952"]
    assert codec.loads(codec.dumps(run)).outcomes == run.outcomes
    jsonschema = pytest.importorskip("jsonschema", reason="validating needs jsonschema")
    schema = json.loads(Path(codec.__file__).with_name("run.schema.json").read_text())
    jsonschema.validate(codec.encode(run), schema)


def test_every_registered_check_ends_in_one_state() -> None:
    run = audited(waiver())
    registered = [plugin.name for plugin in plugins.find("uq_report.checks")]
    assert [outcome.check for outcome in run.outcomes] == registered
    states = [outcome.state for outcome in run.outcomes]
    counts = {state: states.count(state) for state in ("found", "passed", "not_applicable", "skipped", "ignored")}
    assert sum(counts.values()) == len(registered)
    assert (counts["ignored"], counts["skipped"]) == (1, len(registered) - 1)


def test_judging_again_gives_the_same_outcomes() -> None:
    run = audited(waiver(feature="a"))
    catalog = plugins.catalog((), ())
    checks = {"policy": plugins.load(plugins.named(catalog[plugins.CHECKS], "policy", "check"))(require=BROKEN)}
    again = judge(catalog, checks, run, Settings(waivers=(waiver(feature="a"),), as_of=DAY))
    assert again.outcomes == run.outcomes
    assert again.failed == ()
