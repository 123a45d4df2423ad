"""The short appendix: what was chosen, what computed, who else has a part in it; defaults are counted, not listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from uq_report.core.explainer import MethodCard
from uq_report.document.document import Facts, Section, Table, texts
from uq_report.evidence.run import MethodRecord, PluginRecord, Run
from uq_report.reading.run_reader import RunReader
from uq_report.report.placing import PluginSections
from uq_report.report.sections.model import data, model
from uq_report.report.sections.reproducibility import computing, in_short, inventory, methods, reproducibility

from . import reading
from .synthetic import make_run

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def with_subject(run: Run, **facts: object) -> RunReader:
    return RunReader(replace(run, subject={**run.subject, **facts}))


def told(section: Section) -> str:
    return " ".join(texts([section]))


def rows(section: Section, key: str) -> Sequence[Sequence[object]]:
    return [row for b in reading.all_blocks(section) if isinstance(b, Table) and b.id == key for row in b.rows]


PARAMETERS = {"a": "1", "b": "None", "c": "'x'"}


@pytest.mark.parametrize(
    ("at_default", "listed", "words"),
    [
        (["b", "c"], [("a", "1")], "1 of 3 parameters differs from its default."),
        (["c"], [("a", "1"), ("b", "None")], "2 of 3 parameters differ from their defaults."),
        (["a", "b", "c"], [], "None of 3 parameters differs from its default."),
        (None, [], "3 parameters were recorded; defaults are not known."),
    ],
)
def test_parameters_at_their_defaults_are_counted(
    run: Run, at_default: list[str] | None, listed: list[tuple[str, str]], words: str
) -> None:
    e = with_subject(run, model_parameters=PARAMETERS, parameters_at_default=at_default)
    short, full = model(e, whole=False), model(e, whole=True)
    assert rows(short, "model-parameters-table") == listed
    assert rows(full, "model-parameters-table") == list(PARAMETERS.items())
    assert words in told(short)


def test_settings_at_their_defaults_are_counted(run: Run) -> None:
    settings = {
        "seed": 7,
        "options": {"pfi": {"n_repeats": 3}},
        "deny": [],
        "time_limit": None,
        "fast_paths": True,
        "about": {"title": "T"},
    }
    e = RunReader(replace(run, settings=settings))
    short, full = (reproducibility(e, "ab", whole=whole) for whole in (False, True))
    assert rows(short, "settings-table") == [("options.pfi.n_repeats", "3")]
    assert "4 other settings" in told(short)  # seed, deny, time_limit and fast_paths
    off = RunReader(replace(run, settings={"fast_paths": False}))
    assert rows(reproducibility(off, "ab", whole=False), "settings-table") == [("fast_paths", "no")]
    assert [row[0] for row in rows(full, "settings-table")] == [
        "about.title",
        "deny",
        "fast_paths",
        "options.pfi.n_repeats",
        "seed",
        "time_limit",
    ]
    assert not rows(short, "options-table")
    assert rows(full, "options-table")
    untouched = RunReader(replace(run, settings={"seed": 0}))
    assert "All settings and options are at their defaults." in told(reproducibility(untouched, "ab", whole=False))


def test_the_seed_and_the_level_of_intervals_are_always_said(run: Run) -> None:
    section = reproducibility(RunReader(replace(run, settings={"seed": 7, "confidence": 0.9})), "ab", whole=False)
    facts = dict(row for b in section.blocks if isinstance(b, Facts) for row in b.rows)
    assert (facts["Seed"], facts["Level of intervals"], facts["SHA-256 of run.json"]) == (7, 0.9, "ab")


def test_only_packages_that_computed_are_named(run: Run) -> None:
    assert "shap" in computing(RunReader(run))
    without = replace(run, results=tuple(r for r in run.results if r.explainer != "shap"))
    assert "shap" not in computing(RunReader(without))
    assert computing(with_subject(run, model_class="torch.nn.Sequential"))[-1] == "torch"
    assert computing(with_subject(run, model_class="sklearn.ensemble.X")).count("scikit-learn") == 1
    environment = {"python": "3.11", "numpy": "2.4", "mlflow": "3.1", "torch": "2.1"}
    short, full = (
        reproducibility(RunReader(replace(run, environment=environment)), "ab", whole=w) for w in (False, True)
    )
    assert "numpy 2.4" in told(short)
    assert not {"mlflow", "torch"} & set(told(short).replace(",", " ").split())
    assert ("mlflow", "3.1") in rows(full, "versions-table")


def test_plugins_of_others_are_named_and_ours_are_counted(run: Run) -> None:
    ours = replace(run, plugins=(PluginRecord("explainers", "pfi", "uq-report", "0.1", 1, 12000, "ran: 3 results"),))
    assert told(inventory(RunReader(ours), whole=False)).endswith(
        "In use: 1 explainer. All plugins come with this package."
    )
    section = inventory(RunReader(run), whole=False)
    assert "stranger (explainer) of uq-stranger 2.0: 3 results, 10 predictions." in told(section)
    assert "come with this package" not in told(section)
    assert not rows(section, "plugins-table")
    assert len(rows(inventory(RunReader(run), whole=True), "plugins-table")) == len(run.plugins)


def test_fast_paths_that_predicted_are_named_with_what_they_did(run: Run) -> None:
    outcomes = ("5,000 predictions; 64 compared with those of the model, at most 1e-15 apart", "not used")
    records = [
        PluginRecord("fast_paths", name, "uq-report", "0.1", 1, 0, outcome)
        for name, outcome in zip("ab", outcomes, strict=True)
    ]
    text = told(inventory(RunReader(replace(run, plugins=tuple(records))), whole=False))
    assert "by these fast paths: a: 5,000 predictions; 64 compared" in " ".join(text.split())
    assert " b " not in text


def test_a_strangers_results_stand_in_the_short_annex_and_ours_do_not(run: Run) -> None:
    (section,) = PluginSections(RunReader(run)).strangers()
    assert section.id == "explainer-stranger"
    assert [part.id for part in section.sections] == [
        "result-stranger",
        "result-stranger.surface",
        "result-stranger.table",
    ]
    ours = tuple(replace(p, distribution="uq_report") for p in run.plugins)
    assert PluginSections(RunReader(replace(run, plugins=ours))).strangers() == ()


def card(**texts_: str) -> MethodRecord:
    return MethodRecord(name="m", section="", options={}, card=MethodCard(title="M", **texts_))


def test_a_method_in_short_is_what_it_is_and_the_first_sentence_of_each_limit() -> None:
    method = card(
        definition="A mean. Of rows.", assumes="The model is fixed; rows too.", fails="It is 0.5 of it. Not more.",
        interval="None.", references="breiman",
    )  # fmt: skip
    words = "A mean. Of rows. Assumes: The model is fixed. Failure mode: It is 0.5 of it. Source: Breiman 2001."
    assert in_short(method) == words
    assert in_short(card(definition="A mean.")) == "A mean."


def test_methods_are_rows_in_short_and_cards_in_full(run: Run) -> None:
    short, full = (methods(RunReader(run), whole=whole) for whole in (False, True))
    titles = [method.card.title for method in RunReader(run).methods_in_use]
    (facts,) = (block for block in short.blocks if isinstance(block, Facts))
    assert [label for label, _ in facts.rows] == [part.title for part in full.sections] == titles
    assert len(told(short).split()) < len(told(full).split())


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("features", "listed"), [(60, False), (61, True), (300, True)])
def test_every_feature_is_named_where_tables_print_only_the_first(
    run: Run, features: int, listed: bool, whole: bool
) -> None:
    facts = [{**run.subject["features"][0], "name": f"feature number {k}"} for k in range(features)]
    e = with_subject(run, features=facts)
    section = data(e, PluginSections(e), whole=whole)
    shown = told(section)
    assert ("in the order of the columns" in shown) is listed
    if listed:
        named = [row for b in reading.all_blocks(section) if isinstance(b, Facts) for row in b.rows if "All" in row[0]]
        ((label, names),) = named
        assert label == f"All {features} features, in the order of the columns"
        assert str(names).split("; ") == [f"feature number {k}" for k in range(features)]
