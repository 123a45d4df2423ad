"""What a notebook shows: pictures without any backend, short tables, no data, and no progress once work is done."""

import pickle
from base64 import b64decode
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.api.tables import MAX_ROWS, as_table, compact
from uq_report.core.support.errors import InputError
from uq_report.document.plots.picture import pictured, save_figure
from uq_report.evidence.finding import by_cause

SECRET = 123456.789
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(60, 3)) + SECRET, columns=["a", "<b>", "c"])
Y = np.where(X["a"] + X["<b>"] > 2 * SECRET, "secret", "plain")
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
SUBJECT = uq.explain(MODEL, X, Y, train=(X, Y), label="<i>m</i>")
RUN = uq.audit(SUBJECT, explainers=["pfi", "calibration"], progress=False)
VIEW = RUN["pfi"]
NUMBERS = X["a"] - SECRET + rng.normal(size=60)
BAYES = uq.explain(BayesianRidge().fit(X, NUMBERS), X, NUMBERS)


def test_a_subject_shows_counts_on_one_line_and_no_data() -> None:
    text = repr(SUBJECT)
    assert text == (
        "Subject '<i>m</i>': adapter classifier, 60 observations, 3 features, with outcomes, 60 training observations"
    )
    page = SUBJECT._repr_html_()
    assert "<i>" not in page
    assert "&lt;b&gt; (numeric)" in page


@pytest.mark.parametrize("shown", [SUBJECT, VIEW, RUN, RUN.findings, RUN.not_run], ids=lambda x: type(x).__name__)
def test_no_display_holds_a_value_of_the_data(shown: Any) -> None:
    for text in (repr(shown), shown._repr_html_()):
        assert "123456" not in text
        assert len(text) < 60_000


def test_a_figure_is_a_picture_by_itself(tmp_path: Path) -> None:
    figure = VIEW.plot()
    pictures, size = figure._repr_mimebundle_()  # type: ignore[attr-defined]
    assert pictures["image/svg+xml"].startswith("<svg")
    assert b64decode(pictures["image/png"]).startswith(b"\x89PNG")
    assert size["image/png"]["width"] == round(100 * figure.get_figwidth())
    again, _ = pickle.loads(pickle.dumps(figure))._repr_mimebundle_()
    assert again["image/svg+xml"] == pictures["image/svg+xml"]
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        assert save_figure(figure, tmp_path / f"f{suffix}").read_bytes().startswith(start)
    with pytest.raises(InputError, match=r"save\.path must end in \.svg, \.png, \.pdf; got 'f\.gif'"):
        save_figure(figure, tmp_path / "f.gif")


def test_a_foreign_figure_is_a_picture_too() -> None:
    from matplotlib.figure import Figure

    assert "image/png" in pictured(Figure())._repr_mimebundle_()[0]  # type: ignore[attr-defined]


def test_the_short_table_has_estimates_intervals_and_verdicts_and_the_rest_is_folded() -> None:
    table = compact(VIEW.estimates)
    assert list(table.columns) == ["measure", "feature", "estimate", "interval", "verdict"]
    one = compact(VIEW.estimates[VIEW.estimates["measure"] == "nll"])
    assert list(one.columns) == ["feature", "nll", "interval", "verdict"]
    page = VIEW._repr_html_()
    assert page.index(">verdict</th>") < page.index("<details><summary>All columns") < page.index("std_error")


def test_long_tables_end_and_say_how_much_is_left() -> None:
    rows = pd.DataFrame({"v": np.arange(MAX_ROWS + 2)})
    assert "2 further rows are in the frame." in as_table(rows)
    assert "further" not in as_table(rows.head(MAX_ROWS))


def test_findings_and_what_did_not_run_are_tables() -> None:
    assert list(RUN.findings.columns) == [
        "code",
        "severity",
        "title",
        "statement",
        "remedy",
        "features",
        "evidence",
        "docs",
    ]
    assert list(RUN.findings["code"]) == [finding.code for finding, _ in by_cause(RUN.run.findings)]
    longest = max(RUN.findings["statement"], key=len)
    assert escape(longest) in as_table(RUN.findings), "texts are not cut"
    code, page = RUN.findings.loc[0, ["code", "docs"]]
    assert f'<a href="{page}">{code}</a>' in as_table(RUN.findings)
    assert ">docs</th>" not in as_table(RUN.findings)
    assert "&lt;b&gt;" in as_table(pd.DataFrame({"<b>": ["<b>"]}))
    assert "<b>" not in as_table(pd.DataFrame({"<b>": ["<b>"]}))


def test_a_table_is_copied_and_has_its_columns_as_attributes() -> None:
    assert RUN.findings.code.equals(RUN.findings["code"])
    assert pickle.loads(pickle.dumps(RUN.findings)).equals(RUN.findings)


@pytest.mark.parametrize(
    ("subject", "label"),
    [
        (SUBJECT, "observed frequency"),
        (BAYES, "probability integral"),
    ],
)
def test_the_figure_of_the_calibration_is_its_curve(subject: Any, label: str) -> None:
    axes = uq.calibration(subject, n_draws=99).plot().axes
    assert any(label in axis.get_xlabel() + axis.get_ylabel() for axis in axes)
    assert set(RUN.not_run["cause"]) == {"not asked"}


CELLS = """
import numpy as np, pandas as pd, uq_report as uq
from sklearn.linear_model import BayesianRidge, LogisticRegression
X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["a", "b"])
y = (X["a"] > 0).astype(int)
subject = uq.explain(LogisticRegression().fit(X, y), X, y)
subject
---
uq.importance(subject, n_repeats=3).plot()
---
uq.profile(subject, "a", grid_resolution=5).plot()
---
uq.profile(subject, ("a", "b"), grid_resolution=5).plot()
---
uq.attributions(subject, rows=[0]).plot()
---
uq.calibration(subject, n_draws=99)["calibration.reliability"].plot()
---
uq.audit(subject, explainers=["pfi"])
"""


def test_an_executed_notebook_shows_a_picture_for_every_plot_and_no_trace_of_progress() -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS.split("---")]
    book = nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=300).execute()
    for cell in book.cells:
        kinds = [set(output.get("data", {})) for output in cell.outputs]
        assert all(output.output_type in ("display_data", "execute_result") for output in cell.outputs), cell.outputs
        if ".plot()" in cell.source:
            assert {"image/svg+xml", "image/png"} <= kinds[-1], cell.source
        assert [kind for kind in kinds[:-1] if kind] == [], "only what is shown last remains"
    assert "text/html" in book.cells[0].outputs[-1].data
    assert "text/html" in book.cells[-1].outputs[-1].data
    assert "matplotlib_inline" not in str(book)
