"""Single cases: sums are exact, changes are the smallest, the domain is measured, and the sheet is one page."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli
from uq_report.api.single_case import Case
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.evidence import columns as col
from uq_report.runner.cases import GowerDomain

from ..jobs import audits_made

rng = np.random.default_rng(0)
X = pd.DataFrame({"a": np.arange(101) / 100, "b": rng.uniform(size=101), "k": np.where(np.arange(101) % 4, "x", "y")})


def model(rows: pd.DataFrame) -> Any:
    """Decide for 1 from a = 0.605 on; the entropy rises with b."""
    p = np.where(rows["a"] >= 0.605, 0.5 + 0.4 * (1 - rows["b"]), 0.5 - 0.4 * (1 - rows["b"]))
    return uq.dist.Categorical(np.column_stack([1 - p, p]), classes=[0, 1])


Y = (X["a"] > 0.6).astype(int)
SUBJECT = uq.explain(model, X, Y, train=(X, Y), protected=["k"], label="<b>m</b>")
CASE = uq.case(SUBJECT, 50)


def test_attributions_sum_to_the_measure_exactly() -> None:
    frame = CASE.attributions.frame
    assert set(frame["measure"]) == {"prediction", "entropy", "nll"}
    for measure, part in frame.groupby("measure"):
        total = part["base"].iloc[0] + part["value"].sum()
        own = CASE.measures.set_index("measure")["value"].to_dict()[measure]
        assert total == pytest.approx(own, abs=1e-12)


def test_measures_are_those_of_the_distribution_with_their_percentiles() -> None:
    p = model(X).probabilities
    entropy = -(p * np.log(p)).sum(axis=1)
    line = CASE.measures.set_index("measure").loc["entropy"]
    assert line["value"] == pytest.approx(entropy[50], abs=1e-12)
    assert line["percentile"] == pytest.approx((entropy < entropy[50]).mean() + 0.5 * (entropy == entropy[50]).mean())
    assert CASE.distribution["value"].tolist() == pytest.approx(p[50].tolist())
    assert CASE.decision == "0"


def test_the_smallest_change_of_the_decision_is_the_next_tried_value_beyond_the_threshold() -> None:
    line = CASE.changes[CASE.changes["changes"] == "decision"]
    assert line["feature"].tolist() == ["a"], "no value of b or k changes the decision"
    tried = np.sort(CASE.profiles.query("feature == 'a' and measure == 'prediction'")["x"])
    assert line["to"].item() == tried[tried >= 0.605].min()
    between = ((X["a"] > 0.5) & (X["a"] <= line["to"].item())).mean()
    assert line["size"].item() == pytest.approx(between)
    assert line["result"].item().startswith("decision 1, prediction ")


def test_a_change_of_the_uncertainty_crosses_the_median_of_the_sample() -> None:
    p = model(X).probabilities
    entropy = -(p * np.log(p)).sum(axis=1)
    lines = CASE.changes[CASE.changes["changes"] == "uncertainty"]
    assert lines["feature"].tolist() == ["b"]
    changed = model(X.iloc[[50]].assign(b=lines["to"].item())).entropy()[0]
    assert (changed > np.median(entropy)) != (entropy[50] > np.median(entropy))


def test_profiles_run_through_the_observation() -> None:
    values = CASE.measures.set_index("measure")["value"].to_dict()
    for (feature, measure), part in CASE.profiles.groupby([col.FEATURE, col.MEASURE]):
        own = part[part["own"]]
        assert len(own) == 1, feature
        assert own["value"].item() == pytest.approx(values[measure], abs=1e-12)


def test_a_row_given_as_a_new_one_is_the_same_case() -> None:
    new = uq.case(SUBJECT, X.iloc[[50]], outcome=Y[50])
    pd.testing.assert_frame_equal(pd.DataFrame(new.changes), pd.DataFrame(CASE.changes))
    pd.testing.assert_frame_equal(
        new.attributions.frame.drop(columns="row"), CASE.attributions.frame.drop(columns="row")
    )
    assert new.domain == CASE.domain
    values = dict(X.iloc[50])
    for form in (values, pd.Series(values), list(values.values())):
        assert uq.case(SUBJECT, form).decision == "0"
    assert "nll" not in uq.case(SUBJECT, values).measures["measure"].tolist()


def test_two_new_rows_are_inside_and_outside() -> None:
    inside, outside = (uq.case(SUBJECT, {"a": a, "b": 0.5, "k": "x"}) for a in (0.5, 5.0))
    assert (inside.domain.inside, outside.domain.inside) == (True, False)  # type: ignore[union-attr]
    assert outside.domain is not None
    assert outside.domain.beyond == ("a is above their range",)
    level = uq.case(SUBJECT, {"a": 0.5, "b": 0.5, "k": "z"}).domain
    assert level is not None
    assert level.beyond == ("k has a level that none of them has",)


def test_gowers_distance_and_its_limit_by_hand() -> None:
    domain = GowerDomain(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), np.array([True, False]), k=1, share=0.5)
    row = np.array([[1.0, 0.0]])
    assert domain.distances(row).tolist() == [[0.25, 0.5, 0.25]]
    assert domain.kth(row).tolist() == [0.25]
    assert domain.kth(domain.reference, own=True).tolist() == [0.5, 0.75, 0.5]
    assert domain.limit == 0.5
    assert domain.nearest(row[0], 2)[1].tolist() == [0.25, 0.25]
    gone = GowerDomain(np.array([[np.nan], [1.0]]), np.array([True]), k=1).distances(np.array([[np.nan], [1.0]]))
    assert gone.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_groups_are_all_the_same_decision_and_protected_ones() -> None:
    table = CASE.groups[CASE.groups["measure"] == "prediction"].set_index("group")
    assert table["n"].to_dict() == {"all observations": 100, "same decision (0)": 60, "k = x": 74}
    others = np.delete(model(X).mean(), 50)
    assert table.loc["all observations", "median"] == pytest.approx(np.median(others))


def test_numbers_decide_by_a_threshold_alone() -> None:
    def f(rows: pd.DataFrame) -> Any:
        return uq.dist.Normal(rows["a"], 0.1 + rows["b"])

    plain, decided = uq.case(f, X, 20), uq.case(f, X, 20, threshold=0.5)
    assert (plain.decision, decided.decision) == ("", "below 0.5")
    assert set(plain.changes["changes"]) == {"uncertainty"}
    (line,) = decided.changes.query("changes == 'decision'").to_dict("records")
    assert line["to"] >= 0.5
    assert plain.distribution["item"].tolist()[2] == "50% quantile"
    assert plain.distribution["value"].tolist()[2] == pytest.approx(0.2, abs=1e-9)
    assert any("no decision" in note.lower() for note in plain.notes)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (101, "case.row must be a row number from 0 to 100; got 101."),
        (-1, "case.row must be a row number from 0 to 100; got -1."),
        ({"a": 1.0, "bb": 1.0, "k": "x"}, "without ['b'], and besides ['bb']. Did you mean 'b'?"),
        ({"a": "high", "b": 1.0, "k": "x"}, "case.row['a'] must be of type float64; got 'high'."),
        (X.iloc[:2], "case.row must be one row with the columns ['a', 'b', 'k']; got 2 rows"),
        ("17", "case.row must be a row number, or a frame, mapping or list of one value for each of 3 features"),
    ],
)
def test_what_is_no_observation_is_refused(row: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        uq.case(SUBJECT, row)
    assert message in str(caught.value)


def test_levels_of_a_category_must_be_known() -> None:
    frame = X.assign(k=X["k"].astype("category"))
    subject = uq.explain(model, frame, Y)
    with pytest.raises(InputError, match=r"case\.row\['k'\] must be one of \['x', 'y'\]; got 'z'"):
        uq.case(subject, {"a": 0.5, "b": 0.5, "k": "z"})
    assert uq.case(subject, {"a": 0.5, "b": 0.5, "k": "y"}).decision == "0"
    array = uq.explain(lambda rows: uq.dist.Normal(rows[:, 0], 1.0), X[["a", "b"]].to_numpy())
    assert uq.case(array, [0.5, 0.1]).measures["value"][0] == 0.5


def test_stored_predictions_have_no_new_rows_and_no_changes() -> None:
    stored = uq.explain(model(X), X, Y)
    with pytest.raises(UnsupportedError, match=r"case\.row must be a row number where predictions are stored"):
        uq.case(stored, {"a": 0.5, "b": 0.5, "k": "y"})
    made = uq.case(stored, 3)
    assert made.changes.empty
    assert made.profiles.empty
    assert any("only predictions are at hand" in note for note in made.notes)


def test_few_observations_give_no_domain() -> None:
    made = uq.case(uq.explain(model, X.iloc[:8], Y[:8]), 3)
    assert made.domain is None
    assert "Training domain: not assessed." in repr(made)
    assert "not assessed" in made.render("html").decode()


def test_displays_hold_no_data_and_escape_names() -> None:
    assert repr(CASE).startswith("Case observation 50. Decision: 0. prediction: ")
    assert "<b>m" not in CASE.render("html").decode()
    page = CASE._repr_html_()
    assert "<table" in page
    secret = uq.case(SUBJECT, {"a": 0.5123456789, "b": 0.5, "k": "x"})
    for text in (repr(secret), secret._repr_html_()):
        assert "0.512" not in text


def test_the_sheet_is_one_page_and_holds_its_numbers(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pages are counted with pypdf")
    path = CASE.save(tmp_path / "case.pdf")
    document = pypdf.PdfReader(io.BytesIO(path.read_bytes()))
    assert len(document.pages) == 1
    assert list(document.attachments) == ["case.csv"]
    assert CASE.save(tmp_path / "case.pdf").read_bytes() == path.read_bytes()
    saved = pd.read_csv(CASE.save(tmp_path / "case.csv"), keep_default_na=False)
    assert len(saved) == len(CASE.frame)
    assert CASE.save(tmp_path / "case.svg").read_text().startswith("<svg")
    page = CASE.save(tmp_path / "case.html").read_text()
    for heading in ("Prediction and uncertainty", "Contributions of the features", "Smallest changes", "Comparison"):
        assert heading in page
    with pytest.raises(InputError, match=r"save\.path must end in \.html"):
        CASE.save(tmp_path / "case.doc")
    with pytest.raises(InputError, match=r"plot\.kind must be one of \['case', 'attributions'\]; got 'bar'"):
        CASE.plot("bar")
    assert "image/png" in CASE.plot("attributions")._repr_mimebundle_()[0]  # type: ignore[attr-defined]


def test_a_saved_run_and_its_model_give_the_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    audits_made.write(tmp_path)

    def call(*words: str) -> Any:
        return CliRunner().invoke(cli.app, list(words))

    ignored = [word for name in ("application", "household", "exposure") for word in ("--ignore", name)]
    base = [
        "--model",
        "model.skops",
        "--data",
        "test.csv",
        "--train",
        "train.csv",
        "--target",
        "risk",
        "--protected",
        "sex",
    ]
    done = call("run", *base, *ignored, "--explainers", "data_quality", "--format", "junit", "-o", "report", "--quiet")
    assert done.exit_code == 0, done.output
    shutil.copy("test.csv", "other.csv")
    made = call(
        "case", "report/run.json", "--row", "17", "--model", "model.skops", "--format", "html", "--format", "csv"
    )
    assert made.exit_code == 0, made.output
    assert "Case observation 17. Decision: " in made.output
    assert sorted(p.name for p in Path("report/cases").iterdir()) == ["case-17.csv", "case-17.html"]
    table = pd.read_csv("report/cases/case-17.csv").query("part == 'measure'").set_index("measure")["value"]
    rows = pd.read_csv("test.csv")
    q = audits_made.model(pd.read_csv("train.csv")).predict_proba(rows[audits_made.FEATURES])[17]
    assert table["entropy"] == pytest.approx(-(q * np.log(q)).sum(), rel=1e-9)
    rows.head(2).to_csv("new.csv", index=False)
    new = call("case", "report", "--rows", "new.csv", "--model", "model.skops", "--format", "html", "-o", "sheets")
    assert new.exit_code == 0, new.output
    assert sorted(p.name for p in Path("sheets").iterdir()) == ["case-new-1.html", "case-new-2.html"]
    other = call("case", "report", "--row", "1", "--model", "model.skops", "--data", "train.csv")
    assert (other.exit_code, "case.data must be what the run was made of" in other.output) == (3, True)
    assert call("case", "report", "--model", "model.skops").exit_code != 0
    assert call("case", "report", "--row", "999", "--model", "model.skops").exit_code == 3


def test_a_classifier_is_called_as_any_other_verb() -> None:
    fitted = LogisticRegression().fit(X[["a", "b"]], Y)
    made = uq.case(fitted, X[["a", "b"]], Y, 3)
    assert isinstance(made, Case)
    assert made.decision == str(fitted.predict(X[["a", "b"]])[3])
