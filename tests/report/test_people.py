"""What only people can say: printed as given, open where not; thresholds, limits and sign-off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from uq_report.core.model.results import Omission
from uq_report.document.document import Badge, Bullets, Facts, Paragraph, Section, Table, texts
from uq_report.document.text import sentence
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, RunChanges
from uq_report.reading.run_reader import OPEN, RunReader
from uq_report.report.assemble import shell
from uq_report.report.placing import PluginSections
from uq_report.report.sections.appendix import SOUNDNESS, chapter
from uq_report.report.sections.findings import monitoring
from uq_report.report.sections.limitations import limitations, limits_of_methods, omissions
from uq_report.report.sections.model import data, model, sign_off
from uq_report.report.sections.reproducibility import reproducibility
from uq_report.runner.settings import About

from .cases import Case
from .findings_made import PASSED, finding, rule, run_with, waived
from .reading import all_blocks
from .synthetic import make_run

TEXTS = {key: f"said: {key}\x1b[31m" for key in About.model_fields if key != "status"}


def evidence(about: dict[str, str] | None = None, **settings: Any) -> RunReader:
    run = make_run(Case())
    return RunReader(replace(run, settings={**run.settings, "about": about or {}, **settings}))


def facts(section: Section) -> dict[str, object]:
    return {label: cell for block in all_blocks(section) if isinstance(block, Facts) for label, cell in block.rows}


def open_line(section: Section) -> str:
    return next(
        b.text
        for b in section.blocks
        if isinstance(b, Paragraph) and b.text.startswith(("To be completed", "All items"))
    )


def bullets(section: Section) -> list[str]:
    return [item for block in all_blocks(section) if isinstance(block, Bullets) for item in block.items]


def table(section: Section, key: str) -> Table:
    return next(block for block in all_blocks(section) if isinstance(block, Table) and block.id == key)


ELSEWHERE = ("title", "classification", "legal_basis", "observation", "unit")  # on page 1, with groups, everywhere


def test_texts_that_were_given_are_printed_once_cleaned() -> None:
    e = evidence({**TEXTS, "status": "final"})
    told = {**facts(model(e)), **facts(data(e, PluginSections(e))), **facts(monitoring(e)), **facts(sign_off(e))}
    assert told["Purpose"] == "said: purpose[31m"
    assert told["Licence"] == "said: data_licence[31m"
    assert told["Response when a threshold is breached"] == "said: response[31m"
    assert OPEN not in told.values()
    assert "said: assumptions[31m" in str(chapter(PluginSections(e), SOUNDNESS).sections[0])
    printed = str(
        [
            model(e),
            data(e, PluginSections(e)),
            chapter(PluginSections(e), SOUNDNESS).sections[0],
            monitoring(e),
            sign_off(e),
        ]
    )
    assert all(f"said: {key}[31m" in printed for key in TEXTS if key not in ELSEWHERE)


def test_texts_that_were_not_given_are_open_and_never_made_up() -> None:
    e = evidence()
    assert facts(model(e))["Materiality: exposure and reliance"] == OPEN
    assert facts(chapter(PluginSections(e), SOUNDNESS))["Assumptions and design choices"] == OPEN
    assert [row[1] for row in table(sign_off(e), "sign-off-table").rows] == [OPEN] * 3
    told = open_line(sign_off(e))
    assert all(key.replace("_", " ") in told for key in ("purpose", "materiality", "response"))
    assert "the status (draft)" in told


def test_the_banner_says_draft_unless_people_said_final() -> None:
    def banner(**about: str) -> str:
        return shell(evidence(about), title="t", subtitle="s").banner

    assert banner() == "DRAFT"
    assert banner(classification="internal") == "internal · DRAFT"
    assert banner(classification="internal", status="final") == "internal"
    assert banner(status="final") == ""


def test_open_items_name_unowned_findings_and_vanish_when_all_is_done() -> None:
    one = Outcome(check="over", state="found", findings=(finding("UQ401", "high"),))
    assert "owner and due date of 1 finding;" in open_line(sign_off(RunReader(run_with(PASSED, one))))
    about = {**TEXTS, "status": "final"}
    done = RunReader(run_with(PASSED, settings={"about": about}))  # type: ignore[dict-item] # about is no list
    assert open_line(sign_off(done)) == "All items are complete."


def test_the_sign_off_fits_half_a_page_and_says_how_to_prove_and_sign() -> None:
    told = " ".join(texts([sign_off(evidence())]))
    assert len(told.split()) <= 150
    assert "uq-report verify --deep report.pdf" in told
    assert "uq-report sign report.pdf" in told


def test_every_rule_is_a_threshold_with_source_and_state() -> None:
    raised = finding("UQ401", "high", "age", observed=0.3, lower=0.26, upper=0.34, threshold=0.25)
    over = Outcome(
        check="over",
        state="found",
        findings=(raised,),
        waived=(waived(finding("UQ402", observed=0.1, threshold=0.05)),),
        reason="UQ403 is undetermined for a. b and c. UQ404 was not judged: no y.",
        rules=tuple(rule(f"UQ40{k}") for k in (1, 2, 3, 4, 5)),
    )
    skipped = Outcome(check="late", state="skipped", reason="too slow", rules=(rule("UQ601"),))
    options: Any = {"options": {"checks.over": {"level": 0.05, "b": 1}}}
    section = monitoring(RunReader(run_with(over, skipped, settings=options)))
    rows = {row[0]: row[2:] for row in table(section, "monitoring-rules").rows}
    assert rows["UQ401"] == (
        "options.checks.over.b, options.checks.over.level",
        Badge("raised", "bad"),
        "0.300 (0.260 to 0.340), threshold 0.25",
    )
    assert rows["UQ402"][1:] == (Badge("raised but waived", "neutral"), "0.100, threshold 0.05")
    assert rows["UQ403"][1:] == (Badge("inconclusive", "unknown"), "for a. b and c")
    assert rows["UQ404"][1:] == (Badge("not assessed", "unknown"), "no y")
    assert rows["UQ405"][1:] == (Badge("not raised", "good"), "")
    assert rows["UQ601"] == ("default", Badge("not assessed", "unknown"), "Too slow.")


def test_margins_of_verdicts_are_thresholds_too() -> None:
    rows = table(monitoring(evidence()), "monitoring-margins").rows
    assert ("pfi", "negative log-likelihood", 0.01, "nats", "options.pfi.n_repeats") in rows


def test_limits_follow_from_what_the_run_lacks() -> None:
    run = make_run(Case(has_y=False, gate="not assessed"))
    subject = {**run.subject, "has_train": False, "sampled_from": 5000, "protected": []}
    told = " ".join(bullets(limitations(RunReader(replace(run, subject=subject)))))
    for words in (
        "No outcomes were given",
        "No training sample",
        "400 of 5000 observations",
        "protected attributes",
        "clusters",
    ):
        assert words in told
    assert "of at most 2.4 percentage points" in told  # 50 sqrt(4600 / (400 * 4999)) = 2.398
    full = {**run.subject, "has_y": True, "protected": ["sex"], "clusters": 30, "features": []}
    compared = replace(make_run(Case()), subject=full, changes=RunChanges(previous={}))
    told = " ".join(bullets(limitations(RunReader(compared))))
    for words in ("No outcomes", "No training sample", "drawn at random", "Not given", "missing"):
        assert words not in told


def test_limits_of_one_reason_are_one_line_and_there_are_at_most_twelve() -> None:
    run = make_run(Case())
    same = tuple(NotRun(f"x{k}", "uq_report.explainers", "it was denied", "not asked") for k in range(4))
    told = bullets(limitations(RunReader(replace(run, not_run=same))))
    assert "Not run: x0, x1, x2 and x3. It was denied." in told
    checks = (Outcome(check="a", state="skipped", reason="no y"), Outcome(check="b", state="skipped", reason="no y"))
    told = bullets(limitations(RunReader(replace(run, outcomes=checks))))
    assert "No verdict: a and b. No y." in told
    many = tuple(NotRun(f"x{k}", "uq_report.explainers", f"reason {k}", "data") for k in range(40))
    told = bullets(limitations(RunReader(replace(run, not_run=many))))
    assert len(told) == 12
    assert len(set(told)) == 12
    # of the run: not given, no y-file and 40 reasons ...; one line represents those beyond the seventh
    assert sum("Not run" in item for item in told) + int(told[6].split()[0]) >= 40


def test_every_omission_stands_behind_with_its_reason() -> None:
    run = make_run(Case(has_y=False, gate="not assessed"))
    section = omissions(
        RunReader(replace(run, not_run=(NotRun("shap", "uq_report.explainers", "it was denied", "not asked"),)))
    )
    gaps = {(result.id, sentence(gap.reason)) for result in run.results for gap in result.omissions}
    assert ("pfi", "It needs outcomes, which were not given.") in gaps
    assert {(row[0], row[-1]) for row in table(section, "not-run-omissions").rows} == gaps
    assert table(section, "not-run-table").rows == (("explainers", "shap", "It was denied."),)


def test_every_method_in_use_says_how_it_fails() -> None:
    told = bullets(limits_of_methods(evidence()))
    assert any(item.startswith("Permutation importance") for item in told)
    assert not any(item.startswith("Covered information") for item in told)  # not part of this run


def test_a_direction_check_stands_in_conceptual_soundness_whatever_its_name() -> None:
    one = Outcome(check="mine", state="found", findings=(finding("UQ901", feature="age"),), rules=(rule("UQ901"),))
    e = RunReader(run_with(one))
    section = next(s for s in chapter(PluginSections(e), SOUNDNESS).sections if s.id == "directions")
    assert bullets(section) == ["UQ901 (medium) age: statement of UQ901"]
    none = evidence()
    absent = next(s for s in chapter(PluginSections(none), SOUNDNESS).sections if s.id == "directions")
    assert "No check compared the effects" in str(absent)


def test_reproducibility_prints_both_commands_and_no_empty_text() -> None:
    section = reproducibility(evidence({"purpose": "", "title": "Mine"}), "ab" * 32)
    told = facts(section)
    assert (told["Rebuild"], told["Verify"]) == ("uq-report render run.json", "uq-report verify --deep report.pdf")
    keys = [row[0] for row in table(section, "settings-table").rows]
    assert "about.title" in keys
    assert "about.purpose" not in keys


def test_measures_without_results_because_they_are_infinite_are_limitations() -> None:
    run = make_run(Case())
    gap = Omission("nll", "", "it is infinite for 6 of 400 observations before any permutation")
    other = Omission("entropy", "", "entropy needs a density")
    told = bullets(limitations(RunReader(replace(run, results=(replace(run.results[0], omissions=(gap, other)),)))))
    said = "Results for the loss are left out where a value is infinite; no observation was dropped."
    assert said in told
    assert not [text for text in bullets(limitations(RunReader(run))) if "infinite" in text]
