"""The benchmark: fitted as scikit-learn fits it, with paired differences, or refused with what is allowed."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.api.benchmark import benchmark_of
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical
from uq_report.document.document import Table, inside
from uq_report.evidence import ids
from uq_report.report.assemble import document

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (RNG.random(300) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
TRAIN = (X[:150], Y[:150])


def forest(**more: Any) -> Any:
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(*TRAIN)
    return uq.explain(model, X[150:], Y[150:], train=TRAIN, label="Forest", **more)


@pytest.fixture(scope="module")
def audit() -> Any:
    return uq.audit(forest(), benchmark="logistic", explainers=["calibration"], as_of="2026-01-01", progress=False)


def test_the_benchmark_is_a_logistic_regression_of_the_training_rows(audit: Any) -> None:
    own = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(*TRAIN).predict_proba(X[150:])
    table = audit[ids.COMPARE_SCORES].estimates.set_index("measure")
    assert table.loc["nll", "challenger"] == pytest.approx(log_loss(Y[150:], own), rel=1e-6)
    assert table.loc["roc_auc", "challenger"] == pytest.approx(roc_auc_score(Y[150:], own[:, 1]))
    assert table.loc["accuracy", "challenger"] == pytest.approx(((own[:, 1] > 0.5) == Y[150:]).mean())


def test_differences_are_paired(audit: Any) -> None:
    table = audit[ids.COMPARE_SCORES].estimates.set_index("measure")
    scores = audit[ids.CALIBRATION].estimates.set_index("item")
    for measure, item in (("nll", "log_score"), ("roc_auc", "roc_auc"), ("accuracy", "accuracy")):
        assert table.loc[measure, "champion"] == pytest.approx(scores.loc[item, "estimate"])
        difference = table.loc[measure, "challenger"] - table.loc[measure, "champion"]
        assert table.loc[measure, "estimate"] == pytest.approx(difference)


def test_the_report_says_better_than_what(audit: Any) -> None:
    section = next(s for s in document(audit.run).sections if s.id == "performance").sections[0]
    texts = [getattr(block, "text", "") for block in section.blocks]
    assert any(text.startswith("Benchmark: logistic regression, fitted to 150 training") for text in texts)
    (table,) = (b for b in inside(section.blocks) if isinstance(b, Table) and b.id == "performance-benchmark")
    assert [row[0] for row in table.rows][:2] == ["Brier score", "log loss"]
    assert audit.run.settings["benchmark"] == "logistic"
    assert audit.run.challenger is None


def test_a_fitted_model_may_be_the_benchmark() -> None:
    model = LogisticRegression().fit(*TRAIN)
    run = uq.audit(forest(), benchmark=model, explainers=["calibration"], as_of="2026-01-01", progress=False)
    assert run.run.find(ids.COMPARE_SCORES).meta["benchmark"] == "LogisticRegression, as given"
    assert "benchmark" not in run.run.settings


def test_a_constant_predicts_the_training_distribution() -> None:
    classes = benchmark_of(forest(), "constant")
    np.testing.assert_allclose(classes.model.predict_proba(X)[:, 1], Y[:150].mean())
    y = X[:, 0] + RNG.normal(size=300)
    subject = uq.explain(BayesianRidge().fit(X[:150], y[:150]), X[150:], y[150:], train=(X[:150], y[:150]))
    dist = benchmark_of(subject, "constant").model(X[:2])
    assert dist.log_prob(np.zeros(2))[0] == pytest.approx(stats.norm(y[:150].mean(), y[:150].std(ddof=1)).logpdf(0.0))


def test_counts_have_a_poisson_regression() -> None:
    y = RNG.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    subject = uq.explain(PoissonRegressor().fit(X[:150], y[:150]), X[150:], y[150:], train=(X[:150], y[:150]))
    own = make_pipeline(StandardScaler(), PoissonRegressor()).fit(X[:150], y[:150])
    made = benchmark_of(subject, "poisson")
    np.testing.assert_allclose(made.model.predict(X[150:]), own.predict(X[150:]), rtol=1e-6)
    assert benchmark_of(subject, "constant").model(X[:1]).mean()[0] == pytest.approx(y[:150].mean())


def test_categories_and_missing_numbers_are_prepared() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "level": np.where(X[:, 1] > 0, "up", "down")})
    frame.loc[:4, "x"] = np.nan
    train = (frame[:150], Y[:150])
    subject = uq.explain(lambda rows: Categorical(np.full((len(rows), 2), 0.5)), frame[150:], Y[150:], train=train)
    assert benchmark_of(subject, "logistic").model.predict_proba(frame[:5]).shape == (5, 2)


@pytest.mark.parametrize(
    ("benchmark", "train", "words"),
    [
        ("ridge", TRAIN, "one of ['logistic', 'constant'], or a fitted model; got 'ridge'"),
        ("model.skops", TRAIN, "A file is named in audit.toml"),
        ("logistic", None, "there are no training rows with outcomes"),
    ],
)
def test_what_cannot_be_fitted_is_refused(benchmark: str, train: Any, words: str) -> None:
    model = LogisticRegression().fit(*TRAIN)
    with pytest.raises(InputError) as error:
        uq.audit(uq.explain(model, X[150:], Y[150:], train=train), benchmark=benchmark, progress=False)
    assert words in str(error.value)


def test_a_challenger_takes_the_place_of_a_benchmark() -> None:
    other = uq.explain(LogisticRegression().fit(*TRAIN), X[150:], Y[150:], label="Logistic")
    with pytest.raises(InputError, match=r"benchmark must be left out where a challenger is given"):
        uq.audit([forest(), other], benchmark="logistic", progress=False)


def test_a_file_names_the_benchmark(tmp_path: Any) -> None:
    """Relative to the file that names it; its hash is recorded."""
    from skops.io import dump

    frame = pd.DataFrame(X, columns=list("abc"))
    for name, model in (("a.skops", RandomForestClassifier(5, random_state=0)), ("b.skops", LogisticRegression())):
        dump(model.fit(frame[:150], Y[:150]), tmp_path / name)
    frame[150:].assign(y=Y[150:]).to_csv(tmp_path / "rows.csv", index=False)
    file = tmp_path / "audit.toml"
    file.write_text(
        '[model]\nsource = "a.skops"\n[data]\nsource = "rows.csv"\ntarget = "y"\n'
        '[run]\nbenchmark = "b.skops"\nexplainers = ["calibration"]\n[output]\nfolder = "out"\nformats = ["html"]\n'
    )
    run = uq.run(file, progress=False).run.run
    assert run.find(ids.COMPARE_SCORES) is not None
    assert len(run.subject["hashes"]["benchmark"]) == 64
