"""Champion and challenger on the same rows: paired differences, reliance, and one document in two columns."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, NLL, SQUARED_ERROR
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal
from uq_report.document.document import Columns, Paragraph, Section
from uq_report.evidence import codec, ids
from uq_report.evidence.run import Run
from uq_report.render.outline import outline
from uq_report.report.assemble import document
from uq_report.report.kinds.brief import brief
from uq_report.runner.compare import compare
from uq_report.testing import KnownLinear, KnownTruth, linear_subject

ROWS = 1000
MEASURES = {m.name: m for m in (SQUARED_ERROR, NLL, ENTROPY)}
EMPTY = Run(as_of="2026-01-01", subject={}, settings={}, environment={})
# Blind to the feature c, and to what it does to the scale.
SHIFTED = KnownLinear((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))


def challenger(champion: Subject, model: Any = SHIFTED, **options: Any) -> Subject:
    return make_subject(model, KnownTruth(), champion.X, champion.y, **{"label": "challenger", **options})


@pytest.fixture(scope="module")
def pair() -> tuple[Subject, Subject]:
    champion = linear_subject(ROWS)
    return champion, challenger(champion)


@pytest.fixture(scope="module")
def both(pair: tuple[Subject, Subject]) -> AuditRun:
    return uq.audit(list(pair), explainers=["pfi", "calibration"], as_of="2026-01-01")


def test_scores_are_paired_means(pair: tuple[Subject, Subject], both: AuditRun) -> None:
    table = both[ids.COMPARE_SCORES].estimates.set_index("measure")
    nll = [-s.model.distribution(s.X).log_prob(np.asarray(s.y)) for s in pair]
    difference = nll[1] - nll[0]
    assert table.loc["nll", "estimate"] == pytest.approx(difference.mean())
    assert table.loc["nll", "std_error"] == pytest.approx(difference.std(ddof=1) / np.sqrt(len(difference)))
    assert table.loc["nll", "champion"] == pytest.approx(nll[0].mean())
    assert set(table["covers"]) == {"new test samples, paired"}
    assert {"squared_error", "nll", "entropy", "confidence_gap"} == set(table.index)


def test_importance_differences_are_those_of_the_two_audits(both: AuditRun) -> None:
    table = both[ids.COMPARE_IMPORTANCE].estimates
    np.testing.assert_allclose(table["estimate"], table["challenger"] - table["champion"], atol=1e-12)
    challenged = both.run.challenger
    assert challenged is not None
    own = challenged.result(ids.PFI).estimates
    np.testing.assert_allclose(table["challenger"], own["estimate"], atol=1e-12)


def test_only_the_champion_relies_on_c(both: AuditRun) -> None:
    frame = both[ids.COMPARE_RELIANCE].frame
    assert set(frame["feature"]) == {"c"}
    assert set(frame["item"]) == {"only the champion"}


def test_a_model_against_itself_differs_by_exactly_nothing(pair: tuple[Subject, Subject]) -> None:
    champion = pair[0]
    run = uq.audit([champion, challenger(champion, champion.model)], explainers=["pfi"], as_of="2026-01-01")
    for part in (ids.COMPARE_SCORES, ids.COMPARE_IMPORTANCE):
        table = run[part].estimates
        assert (table["estimate"] == 0).all()
        assert (table["std_error"] == 0).all()
    assert run[ids.COMPARE_RELIANCE].frame.empty


def test_the_paired_interval_covers_the_difference() -> None:
    """Score differences of two fixed models on new rows: 95% intervals cover in at least 88 of 100 samples."""
    truth = linear_subject(200_000, seed=99)
    nll = [-m.distribution(truth.X).log_prob(np.asarray(truth.y)) for m in (truth.model, SHIFTED)]
    expected = float((nll[1] - nll[0]).mean())
    covered = 0
    for seed in range(100):
        champion = linear_subject(80, seed)
        engines = Engine(champion, MEASURES), Engine(challenger(champion), MEASURES)
        table = compare(EMPTY, EMPTY, engines)[0].estimates
        row = table[table["measure"] == "nll"].to_dict("records")[0]
        covered += int(row["lower"] <= expected <= row["upper"])
    assert covered >= 88


def test_saved_and_loaded_alike(both: AuditRun) -> None:
    data = codec.dumps(both.run)
    assert codec.dumps(codec.loads(data)) == data


def test_the_document_stands_in_two_columns(both: AuditRun) -> None:
    made = document(both.run)
    assert made.layout == "landscape"
    assert made.sections[0].id == "comparison"

    def columns(sections: tuple[Section, ...]) -> int:
        return sum(isinstance(b, Columns) for s in sections for b in s.blocks) + sum(
            columns(s.sections) for s in sections
        )

    assert columns(made.sections) >= 10
    page = both.render("html").decode()
    assert "Champion: KnownLinear" in page
    assert "Challenger: challenger" in page


def test_the_comparison_is_page_1_and_leads_the_brief(both: AuditRun) -> None:
    plan = outline(document(both.run))
    assert [part.section.id for part in plan.answer] == ["comparison"]
    assert plan.front[0].section.id == "answer"
    told = brief(both.run)
    (section,) = [one for one in told.sections if one.id == "comparison"]
    first = section.blocks[0]
    assert isinstance(first, Paragraph)
    assert first.text.startswith("The challenger predicts worse by ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "KnownLinear"}, "different labels"),
        ({"y": None}, "same y"),
        ({"y": np.zeros(ROWS)}, "same y"),
        ({"sample_weight": np.ones(ROWS)}, "same sample_weight"),
    ],
)
def test_other_rows_are_refused(pair: tuple[Subject, Subject], change: dict[str, Any], message: str) -> None:
    champion = pair[0]
    given = {"y": champion.y, "label": "challenger", **change}
    other = make_subject(SHIFTED, KnownTruth(), champion.X, **given)
    with pytest.raises(InputError, match=message):
        uq.audit([champion, other], explainers=[])


def test_shuffled_rows_and_three_models_are_refused(pair: tuple[Subject, Subject]) -> None:
    champion = pair[0]
    with pytest.raises(InputError, match=r"column '[a-d]' differs"):
        uq.audit(
            [champion, make_subject(SHIFTED, KnownTruth(), champion.X[::-1], champion.y, label="x")], explainers=[]
        )
    with pytest.raises(InputError, match="got 3 subjects"):
        uq.audit([champion] * 3, explainers=[])


def test_features_of_one_model_alone_are_named(pair: tuple[Subject, Subject]) -> None:
    champion = pair[0]
    assert isinstance(champion.X, pd.DataFrame)
    fewer = champion.X.drop(columns="d")
    small = make_subject(KnownLinear((1.0, 1.0, 0.0), (0.0, 0.0, 0.0)), KnownTruth(), fewer, champion.y, label="small")
    run = uq.audit([champion, small], explainers=["pfi"], as_of="2026-01-01").run
    gaps = run.result(ids.COMPARE_IMPORTANCE).omissions
    assert [(gap.feature, gap.reason) for gap in gaps] == [("d", "only the champion has it")]


def test_classes_and_numbers_are_not_compared() -> None:
    X, y = pd.DataFrame({"a": np.linspace(-1, 1, 60)}), np.arange(60) % 2

    def classes(X: pd.DataFrame) -> Categorical:
        p = 0.5 + 0.3 * X["a"].to_numpy()
        return Categorical(np.column_stack([1 - p, p]), classes=(0, 1))

    def numbers(X: pd.DataFrame) -> Normal:
        return Normal(X["a"].to_numpy(), np.ones(len(X)))

    pair = [uq.explain(model, X, y, label=model.__name__) for model in (classes, numbers)]
    run = uq.audit(pair, explainers=["pfi"], as_of="2026-01-01").run
    for part in (ids.COMPARE_SCORES, ids.COMPARE_IMPORTANCE):
        assert run.result(part).estimates.empty
        assert "one model predicts classes and the other numbers" in run.result(part).omissions[0].reason


def test_nothing_in_common_is_refused() -> None:
    def model(X: pd.DataFrame) -> Normal:
        return Normal(X.to_numpy()[:, 0], np.ones(len(X)))

    pair = [uq.explain(model, pd.DataFrame({name: np.arange(9.0)}), label=name) for name in "ab"]
    with pytest.raises(InputError, match="no shared feature and no y shows that they do"):
        uq.audit(pair, explainers=[])
