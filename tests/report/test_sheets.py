"""Feature sheets: who gets one, what each says, and that its sentences stop where its evidence does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from uq_report.core.model.results import Importance, Interaction, Profile, Result
from uq_report.document.document import Figure, Paragraph, Section, Table, inside, texts
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome, Severity
from uq_report.evidence.run import Run
from uq_report.reading.effects import FALLS, RISES, TURNS, move
from uq_report.reading.feature_index import Ledger, leaders
from uq_report.reading.rank_ranges import ranked_features
from uq_report.reading.run_reader import RunReader
from uq_report.report.sections import sheets as sheet_words
from uq_report.report.sections.sheets import sheets

from .. import samples
from .cases import Case, estimates
from .findings_made import finding
from .synthetic import holding, make_run

pytestmark = pytest.mark.usefixtures("undrawn")

SAMPLES = sorted(samples.unpacked().glob("*/run.json"))
COVERS = {"confidence": 0.95, "covers": "new test samples"}
UP, DOWN, FLAT = (0.2, 0.3, 0.6), (0.6, 0.3, 0.2), (0.30, 0.31, 0.32)
BUMP, HIDDEN = (0.2, 0.6, 0.21), (0.2, 0.19, 0.6)
HALF = 0.05


def points(values: Sequence[float], measure: str, feature: str = "a", levels: Sequence[str] = ()) -> pd.DataFrame:
    """A curve along 0, 1, 2 whose points have an interval of ± HALF."""
    return estimates(
        [
            {"measure": measure, "feature": feature, "x": float(x), "level": level, "estimate": v}
            | {"std_error": HALF / 2, "lower": v - HALF, "upper": v + HALF}
            for x, (v, level) in enumerate(zip(values, levels or ("",) * len(values), strict=True))
        ],
        **COVERS,
    )


def profile(curves: Mapping[str, Sequence[float]], levels: Sequence[str] = ()) -> Profile:
    table = pd.concat([points(values, measure, levels=levels) for measure, values in curves.items()], ignore_index=True)
    frame = table.assign(feature_2="", x_2=float("nan"), level_2="", curve=-1, value=table["estimate"])
    return Profile(id=ids.PDP, explainer=ids.PDP, title="PDP", frame=frame[list(Profile.columns)], estimates=table)


def pfi(**verdicts: tuple[float, float, float, str]) -> Importance:
    """An importance of ``a`` by measure: estimate, ends and verdict."""
    extra = {"margin": 0.01, "p_value": 0.1, "spread_low": 0.0, "spread_high": 0.0, "unpermuted": 0.5}
    rows = [
        {"measure": m, "feature": "a", "estimate": v, "lower": low, "upper": high, "verdict": verdict}
        | {**extra, "n_needed": 0.0, "exact_zero": False, "remark": ""}
        for m, (v, low, high, verdict) in verdicts.items()
    ]
    table = estimates(rows, **COVERS)
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id=ids.PFI, explainer=ids.PFI, title="PFI", frame=frame, estimates=table)


def ledger(*results: Result, names: tuple[str, ...] = ("a",)) -> Ledger:
    case = Case(names=names)
    return Ledger(RunReader(holding(replace(make_run(case), outcomes=()), case, results)))


def effect(prediction: Sequence[float], doubt: Sequence[float] | None, levels: Sequence[str] = ()) -> str:
    curves = {"prediction": prediction} | ({} if doubt is None else {"entropy": doubt})
    return sheet_words.effect(ledger(profile(curves, levels)), "a")


def all_texts(section: Section | None) -> list[str]:
    assert section is not None
    return [unmarked(text) for text in texts([section])]


def tables(section: Section) -> list[Table]:
    return [block for part in section.sections for block in inside(part.blocks) if isinstance(block, Table)]


@pytest.mark.parametrize(
    ("values", "direction"), [(UP, RISES), (DOWN, FALLS), (BUMP, TURNS), (HIDDEN, RISES), ((0.2, 0.4, 0.35), RISES)]
)
def test_a_curve_rises_or_falls_if_no_point_between_is_shown_to_exceed_its_ends(
    values: Sequence[float], direction: int
) -> None:
    found = move(points(values, "m"))
    assert found is not None
    assert found.direction == direction
    if direction != TURNS:
        assert {found.low.estimate, found.high.estimate} == {values[0], values[-1]}


def test_a_curve_moves_only_if_its_ends_are_apart() -> None:
    assert move(points((0.2, 0.2 + 2.01 * HALF), "m")) is not None
    assert move(points((0.2, 0.2 + 1.99 * HALF), "m")) is None
    assert move(points(UP, "m").assign(lower=float("nan"))) is None


@pytest.mark.parametrize(
    ("prediction", "doubt", "told"),
    [
        (UP, UP, "rises from 0.20 at 0 to 0.60 at 2, and so does the predictive uncertainty (0.20 to 0.60 nats)."),
        (UP, DOWN, "rises from 0.20 at 0 to 0.60 at 2, while the predictive uncertainty falls (0.60 to 0.20 nats)."),
        (DOWN, UP, "falls from 0.60 at 0 to 0.20 at 2, while the predictive uncertainty rises (0.20 to 0.60 nats)."),
        (UP, FLAT, "rises from 0.20 at 0 to 0.60 at 2; the uncertainty shows no significant change."),
        (UP, BUMP, "rises from 0.20 at 0 to 0.60 at 2; the uncertainty is highest at 1 (0.60 nats)."),
        (UP, None, "rises from 0.20 at 0 to 0.60 at 2."),
        (
            BUMP,
            DOWN,
            "rises from 0.20 at 0 to 0.60 at 1, then falls to 0.21 at 2; the uncertainty is highest at 0 (0.60 nats).",
        ),
    ],
)
def test_the_uncertainty_is_described_relative_to_a_prediction_that_changes(
    prediction: Sequence[float], doubt: Sequence[float] | None, told: str
) -> None:
    assert effect(prediction, doubt).removeprefix("The predicted probability of bad ") == told


def test_without_a_significant_change_no_direction_is_stated() -> None:
    assert effect(FLAT, FLAT) == "The average prediction shows no significant change, nor does the uncertainty."
    assert effect(FLAT, None) == "The average prediction shows no significant change."
    rises = (
        "The average prediction shows no significant change; the uncertainty rises from 0.20 nats at 0 to 0.60 at 2."
    )
    assert effect(FLAT, UP) == rises


def test_levels_have_no_direction() -> None:
    told = effect(UP, DOWN, ("red", "green", "blue"))
    assert "is lowest for red (0.20) and highest for blue (0.60); the uncertainty is highest for red" in told


@pytest.mark.parametrize(
    ("loss", "doubt", "told"),
    [
        ((0.2, 0.1, 0.3, "positive"), (0.0, -0.001, 0.001, "about 0"),
         "Permuting it increases the loss, without increasing the stated uncertainty."),
        ((0.2, 0.1, 0.3, "positive"), (0.1, 0.05, 0.15, "positive"),
         "Permuting it increases the loss, and the stated uncertainty then rises by 0.10 nats."),
        ((0.2, 0.1, 0.3, "positive"), (-0.1, -0.15, -0.05, "negative"),
         "Permuting it increases the loss, yet the stated uncertainty then falls by 0.10 nats."),
        ((0.2, 0.1, 0.3, "positive"), (0.1, -0.1, 0.3, "undetermined"),
         "Permuting it increases the loss."),
        ((-0.2, -0.3, -0.1, "negative"), (0.1, 0.05, 0.15, "positive"),
         "Permuting it decreases the loss."),
        ((0.001, -0.005, 0.006, "about 0"), (0.1, 0.05, 0.15, "positive"),
         "Permuting it changes the loss by about 0."),
        ((0.02, -0.05, 0.09, "undetermined"), (0.1, 0.05, 0.15, "positive"),
         "Its importance for the loss is inconclusive."),
    ],
)  # fmt: skip
def test_the_importance_for_the_loss_follows_its_verdict(loss: Any, doubt: Any, told: str) -> None:
    assert sheet_words.importance(ledger(pfi(nll=loss, entropy=doubt)), "a") == told


RAISED, OPEN = (0.12, 0.08, 0.16, "positive"), (0.12, -0.08, 0.32, "undetermined")
SHOWN, FALLEN = (0.02, 0.01, 0.03, "positive"), (-0.02, -0.03, -0.01, "negative")
NOTHING = (0.0, -0.001, 0.001, "about 0")


@pytest.mark.parametrize(
    ("loss", "doubt", "epistemic", "sentence"),
    [
        (RAISED, RAISED, SHOWN, "Of the increase in uncertainty of 0.120 nats, 0.020 are epistemic."),
        (NOTHING, RAISED, SHOWN, "Of the increase in uncertainty of 0.120 nats, 0.020 are epistemic."),
        (RAISED, RAISED, NOTHING, "The epistemic part of this increase is about 0."),
        (
            RAISED,
            RAISED,
            (0.2, 0.15, 0.25, "positive"),
            "Permuting it increases the epistemic uncertainty by 0.20 nats.",
        ),
        (RAISED, OPEN, SHOWN, "Permuting it increases the epistemic uncertainty by 0.020 nats."),
        (RAISED, RAISED, FALLEN, "Permuting it decreases the epistemic uncertainty by 0.020 nats."),
        (RAISED, OPEN, NOTHING, ""),
        (RAISED, RAISED, OPEN, ""),
        (RAISED, RAISED, None, ""),
    ],
)
def test_the_epistemic_part_is_named_where_it_is_shown(loss: Any, doubt: Any, epistemic: Any, sentence: str) -> None:
    parts = {} if epistemic is None else {"aleatoric": NOTHING, "epistemic": epistemic}
    assert sheet_words.epistemic(ledger(pfi(nll=loss, entropy=doubt, **parts)), "a") == sentence


def test_the_variance_of_members_is_no_part_of_an_entropy() -> None:
    parts = {"aleatoric_variance": NOTHING, "epistemic_variance": SHOWN}
    words = sheet_words.epistemic(ledger(pfi(nll=RAISED, entropy=RAISED, **parts)), "a")
    assert words.startswith("Permuting it increases the epistemic uncertainty by 0.020")


def with_findings(run: Run, *findings: Finding) -> Run:
    return replace(run, outcomes=(Outcome(check="c", state="found", findings=findings),))


def test_features_that_lead_or_have_a_finding_get_a_sheet_at_most_six() -> None:
    names = tuple(f"feature {k}" for k in range(30))
    run = make_run(Case(names=names))
    chosen = leaders(Ledger(RunReader(run)))
    assert len(chosen) == 6
    assert leaders(Ledger(RunReader(run)), 3) == [name for name in chosen if name in leaders(Ledger(RunReader(run)), 3)]
    worst = names[-5]
    assert worst not in chosen
    for severity, held in (("low", True), ("observation", False)):
        level: Severity = severity  # type: ignore[assignment] # one of the two above
        told = leaders(Ledger(RunReader(with_findings(run, finding("UQ901", level, worst)))))
        assert (len(told), worst in told) == (6, held)


def test_the_first_of_every_ranking_keeps_its_sheet_however_many_findings_there_are() -> None:
    names = tuple(f"feature {k}" for k in range(30))
    run = make_run(Case(names=names))
    found = Ledger(RunReader(with_findings(run, *(finding("UQ901", "high", name) for name in names))))
    assert {ranking.order[0] for ranking in found.leading[:3]} <= set(leaders(found))


def test_every_feature_has_a_sheet_or_a_line() -> None:
    names = tuple(f"feature {k}" for k in range(60))
    section = sheets(RunReader(make_run(Case(names=names))))
    assert section is not None
    own = [part.feature for part in section.sections if part.feature]
    others = tables(section)[-1]
    lines = [row[0] for row in (*others.rows, *others.rest)]
    assert sorted([*own, *map(str, lines)]) == sorted(names)
    assert (len(own), len(others.rows), others.total_rows) == (6, 40, 54)


@pytest.mark.parametrize("left", [(), ("pdp",), ("pfi",), ("shap",), ("pdp", "pfi", "shap", "dalex")], ids=str)
@pytest.mark.parametrize("case", [Case(), Case(has_y=False), Case(task="regression"), Case(names=("a", "b"))], ids=str)
def test_a_run_that_lacks_something_has_sheets_without_gaps(case: Case, left: tuple[str, ...]) -> None:
    section = sheets(RunReader(make_run(case, leave_out=left)))
    assert section is not None
    found = [text for text in all_texts(section) if re.search(r"\b(nan|inf|None)\b", text)]
    assert not found
    for part in section.sections:
        assert part.blocks
        assert not [block for block in inside(part.blocks) if isinstance(block, Table) and not block.rows]
    assert ("No curves were computed" in " ".join(all_texts(section))) == ("pdp" in left)


def test_no_sheets_without_results_or_features() -> None:
    run = make_run()
    assert sheets(RunReader(replace(run, results=()))) is None
    bare = replace(run, subject={**run.subject, "features": []})
    assert sheets(RunReader(holding(bare, Case(), [r for r in run.results if r.explainer == "calibration"]))) is None


def test_a_group_has_a_line_of_its_own_and_no_place_among_features() -> None:
    run = samples.read(next(path for path in SAMPLES if path.parent.name == "credit"))
    section = sheets(RunReader(run))
    assert section is not None
    assert "accounts" not in [part.feature for part in section.sections]
    assert any(str(row[0]).startswith("accounts: ") for row in tables(section)[-1].rows)
    asides = {part.feature: part.aside for part in section.sections if part.feature}
    assert asides["duration"] == "number, 4 to 72"


def test_profiles_of_changes_or_slopes_are_no_averages() -> None:
    curves = profile({"prediction": UP})
    assert Ledger(RunReader(holding(make_run(), Case(), [curves]))).average is not None
    sloped = replace(curves, options={"mode": "derivative"})
    assert Ledger(RunReader(holding(make_run(), Case(), [sloped]))).average is None


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_every_number_of_a_sheet_is_in_the_evidence(path: Path) -> None:
    run = samples.read(path)
    section = sheets(RunReader(run))
    assert section is not None
    for part in section.sections:
        if not part.feature:
            continue
        known = numbers_of(run, part.feature)
        told = [b.text for b in part.blocks if isinstance(b, Paragraph)]
        told += [
            str(row[1]) for b in inside(part.blocks) if isinstance(b, Table) for row in b.rows if row[0] != "findings"
        ]
        for text in told:
            for found in re.findall(r"(?<![\w.])−?\d+\.\d+(?![\w.×])", unmarked(text)):
                assert is_known(found, known), (part.feature, found, text)


def numbers_of(run: Run, feature: str) -> list[float]:
    """Every number that the run holds of a feature or of the group it is in."""
    groups = [g for g, members in RunReader(run).subject.groups.items() if feature in members]
    known: list[float] = []
    for result in run.results:
        table = result.estimates
        about = table["feature"].isin([feature, *groups])
        if isinstance(result, Interaction):
            about |= table["feature_2"] == feature
        known += table[about].select_dtypes("number").to_numpy(dtype=float).ravel().tolist()
    return known


def is_known(text: str, known: Sequence[float]) -> bool:
    """Say whether a printed number is a known one, rounded to its decimals."""
    value, places_ = float(text.replace("−", "-")), len(text.partition(".")[2])
    return any(abs(abs(value) - abs(one)) <= 0.5001 * 10**-places_ for one in known)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_ranks_are_the_places_of_the_rankings(path: Path) -> None:
    run = samples.read(path)
    result = run.result(ids.PFI)
    held = ranked_features(run, ids.PFI, "nll", result.estimates[result.estimates["measure"] == "nll"])
    section = sheets(RunReader(run))
    assert section is not None
    for part in section.sections:
        for block in inside(part.blocks) if part.feature else ():
            if isinstance(block, Table):
                ranks = {row[0]: row[2] for row in block.rows}
                assert ranks["increase in loss"] == held[part.feature].words


def test_the_table_says_its_units_once() -> None:
    section = sheets(RunReader(make_run()))
    assert section is not None
    assert str(section.blocks[0]).count("In the tables: loss and uncertainty in nats.") == 1
    numbers = [
        row[1] for part in sheets_of(make_run()) for t in inside(part.blocks) if isinstance(t, Table) for row in t.rows
    ]
    assert not [value for value in numbers if "nats" in str(value)]


def sheets_of(run: Run) -> list[Section]:
    section = sheets(RunReader(run))
    assert section is not None
    return [part for part in section.sections if part.feature]


def test_a_figure_says_its_numbers_and_ids_follow_the_feature() -> None:
    section = sheets(RunReader(make_run()))
    assert section is not None
    part = next(part for part in section.sections if part.feature == "duration")
    (figure,) = (block for block in inside(part.blocks) if isinstance(block, Figure))
    assert (part.id, figure.id) == ("sheet-duration", "sheet-duration-figure")
    assert "Average prediction: lowest" in figure.alt
    assert len([p for p in section.sections if p.id.startswith("sheet-")]) == len({p.id for p in section.sections}) - 1
