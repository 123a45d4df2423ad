"""MLflow: the evaluator and the log of a finished run, against a local store in SQLite without a server."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli
from uq_report.core.support.errors import InputError, MissingDependencyError, UQReportError
from uq_report.evidence import codec, run_folder
from uq_report.jobs.audit_file import MlflowPart
from uq_report.ops.tracking.record import TrackingError, log_finished, metrics

os.environ["MLFLOW_DISABLE_TELEMETRY"] = os.environ["DO_NOT_TRACK"] = "true"  # read while MLflow is imported
mlflow = pytest.importorskip("mlflow", reason="these tests log to MLflow")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning"),  # MLflow, of a type of its own
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),  # MLflow's own mappers
    pytest.mark.filterwarnings("ignore:Hint. Inferred schema contains integer:UserWarning"),  # MLflow, of y as 0 and 1
    # MLflow, on its import of XGBoost
    pytest.mark.filterwarnings("ignore:_ImportHookChainedLoader:ImportWarning"),
    pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning"),
]

FEW: dict[str, Any] = {"explainers": ["calibration"], "as_of": "2026-01-31"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of one store for all tests; its tables take seconds to make."""
    return f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}"


@pytest.fixture
def tracking(place: str, tmp_path: Path) -> Iterator[Any]:
    """Return a client of the store, with an experiment whose artifacts are in the test's folder."""
    mlflow.set_tracking_uri(place)
    client = mlflow.MlflowClient()
    mlflow.set_experiment(experiment_id=client.create_experiment(tmp_path.name, f"file://{tmp_path / 'artifacts'}"))
    yield client
    mlflow.end_run()


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["age", "income"])
    return table.assign(default=(table["age"] + rng.normal(size=60) > 0).astype(int), debt=table["income"] * 2 + 1)


@pytest.fixture(scope="module")
def folder(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run's folder, with a file of somebody else in it."""
    place = tmp_path_factory.mktemp("run")
    subject = uq.explain(classifier(rows), rows[["age", "income"]], rows["default"], label="credit")
    uq.audit(subject, progress=False, **FEW).write(place, ("html",))
    (place / "customers.csv").write_text("secret")
    return place


def classifier(rows: pd.DataFrame) -> LogisticRegression:
    return LogisticRegression().fit(rows[["age", "income"]], rows["default"])


def logged(model: Any) -> str:
    """Return the address of a model in the store; requirements are not looked up, which would take seconds."""
    return str(mlflow.sklearn.log_model(model, name="model", pip_requirements=[]).model_uri)


def files(client: Any, run_id: str) -> set[str]:
    found = client.list_artifacts(run_id, "uq_report")
    return {entry.path.removeprefix("uq_report/") for entry in found}


def test_evaluate_logs_the_report_and_returns_it(tracking: Any, rows: pd.DataFrame, tmp_path: Path) -> None:
    with mlflow.start_run() as active:
        result = mlflow.models.evaluate(
            logged(classifier(rows)), rows[["age", "income", "default"]], targets="default", model_type="classifier",
            evaluators=["uq_report"], evaluator_config={"uq_report": {**FEW, "seed": 3, "formats": ["html", "pdf"]}},
        )  # fmt: skip
    run_id = active.info.run_id
    run = result.artifacts["uq_report/run.json"].content.run
    assert (run.settings["seed"], run.as_of, run.subject["n"]) == (3, "2026-01-31", 60)
    assert [feature["name"] for feature in run.subject["features"]] == ["age", "income"]
    assert run.subject["sources"]["target"] == "default"
    assert run.subject["sources"]["model"].startswith("models:/")

    q = classifier(rows).predict_proba(rows[["age", "income"]])
    nll, entropy = -np.log(q[np.arange(60), rows["default"]]).mean(), -(q * np.log(q)).sum(axis=1).mean()
    assert result.metrics["uq_report/nll"] == pytest.approx(nll, rel=1e-9)  # run.json holds ten digits
    assert result.metrics["uq_report/entropy"] == pytest.approx(entropy, rel=1e-9)  # run.json holds ten digits
    assert result.metrics["uq_report/confidence_gap"] == pytest.approx(nll - entropy, rel=1e-6)
    assert result.metrics["uq_report/findings_high"] == sum(f.severity == "high" for f in run.findings)
    kept = tracking.get_run(run_id).data
    assert kept.metrics == result.metrics
    assert kept.tags["uq_report.recommendation"] in {
        "Fit for purpose",
        "Fit for purpose with conditions",
        "Not fit for purpose",
        "Inconclusive",
    }
    assert kept.tags["uq_report.run_sha256"] == codec.sha256(run)
    assert files(tracking, run_id) == {"report.html", "report.pdf", "run.json", "clock.json", "evidence"}
    assert not [*Path.cwd().glob("mlruns")], "everything is in the store"

    result.save(tmp_path / "saved")
    again = mlflow.models.EvaluationResult.load(tmp_path / "saved")
    assert again.artifacts["uq_report/report.pdf"].content.startswith(b"%PDF")
    assert codec.sha256(again.artifacts["uq_report/run.json"].content.run) == codec.sha256(run)
    artifact = type(result.artifacts["uq_report/report.html"])(f"runs:/{run_id}/uq_report/report.html")
    assert artifact.content == result.artifacts["uq_report/report.html"].content


def test_a_regressor_gives_its_standard_deviation(tracking: Any, rows: pd.DataFrame) -> None:
    model = BayesianRidge().fit(rows[["age", "income"]], rows["debt"] + rows["default"])
    data = rows[["age", "income", "debt"]]
    result = mlflow.models.evaluate(
        logged(model), data, targets="debt", model_type="regressor", evaluators="uq_report",
        evaluator_config={**FEW, "train": (data[["age", "income"]], data["debt"]), "label": "debt"},
    )  # fmt: skip
    run = result.artifacts["uq_report/run.json"].content.run
    assert (run.subject["label"], run.subject["n"], run.subject["n_train"]) == ("debt", 60, 60)
    assert "uq_report/report.html" in result.artifacts
    assert "uq_report/report.pdf" not in result.artifacts
    std = model.predict(data[["age", "income"]], return_std=True)[1]
    entropy = np.log(std * np.sqrt(2 * np.pi * np.e)).mean()
    assert result.metrics["uq_report/entropy"] == pytest.approx(entropy, rel=1e-9)


def evaluate(model: Any, rows: pd.DataFrame, config: dict[str, Any], model_type: str = "regressor") -> Any:
    return mlflow.models.evaluate(
        model, rows[["age", "income", "debt"]], targets="debt", model_type=model_type, evaluators="uq_report",
        evaluator_config=config,
    )  # fmt: skip


def test_a_model_without_a_predictive_distribution_is_refused(tracking: Any, rows: pd.DataFrame) -> None:
    point = LinearRegression().fit(rows[["age", "income"]], rows["debt"])
    with pytest.raises(UQReportError, match="LinearRegression"):
        evaluate(logged(point), rows, dict(FEW))
    with pytest.raises(InputError, match=r"must be logged with its scikit-learn estimator.*got flavors none"):
        evaluate(lambda X: X["age"], rows, dict(FEW))


def test_unknown_settings_are_named_all_at_once(tracking: Any, rows: pd.DataFrame) -> None:
    model = logged(BayesianRidge().fit(rows[["age", "income"]], rows["debt"]))
    with pytest.raises(InputError) as caught:
        evaluate(model, rows, {"sead": 1, "trian": None})
    first, second = str(caught.value).splitlines()
    assert first == "mlflow.evaluator_config.sead must be a known setting; got 'sead'. Did you mean 'seed'?"
    assert second.endswith("Did you mean 'train'?")
    with pytest.raises(InputError, match=r"mlflow.evaluator_config.seed must be greater than or equal to 0; got -1"):
        evaluate(model, rows, {"seed": -1})


def test_the_evaluator_does_not_run_where_nobody_named_it(tracking: Any, rows: pd.DataFrame) -> None:
    model = logged(LinearRegression().fit(rows[["age", "income"]], rows["debt"]))
    result = mlflow.models.evaluate(
        model, rows[["age", "income", "debt"]], targets="debt", model_type="regressor",
        evaluator_config={"log_explainer": False, "log_model_explainability": False},
    )  # fmt: skip
    assert "r2_score" in result.metrics
    assert not [name for name in result.metrics if name.startswith("uq_report")]
    with pytest.raises(mlflow.MlflowException, match="could not be evaluated by any"):
        evaluate(model, rows, {}, "question-answering")


def test_a_finished_folder_is_logged_to_a_new_run(tracking: Any, folder: Path, place: str) -> None:
    run_id = log_finished(folder, MlflowPart(tracking_uri=place, experiment=tracking_name()))
    kept = tracking.get_run(run_id)
    run, _ = run_folder.read(folder)
    assert (kept.info.status, kept.info.run_name) == ("FINISHED", "credit")
    assert kept.data.metrics == metrics(run)
    assert kept.data.tags["uq_report.label"] == "credit"
    assert files(tracking, run_id) == {"report.html", "run.json", "clock.json", "evidence"}


def test_a_run_the_store_has_is_not_logged_twice(tracking: Any, folder: Path, place: str) -> None:
    where = MlflowPart(tracking_uri=place, experiment=tracking_name())
    tracking.set_terminated(log_finished(folder, where), "FAILED")
    whole = log_finished(folder, where, once=True)
    assert log_finished(folder, where, once=True) == whole, "one that failed does not count"
    assert log_finished(folder, where) != whole


def tracking_name() -> str:
    """Return the name of the experiment of the running test."""
    return str(mlflow.get_experiment(mlflow.tracking.fluent._get_experiment_id()).name)


def test_a_folder_joins_the_run_it_is_told(tracking: Any, folder: Path, place: str) -> None:
    with mlflow.start_run() as active:
        where = MlflowPart(tracking_uri=place, run_id=active.info.run_id)
        assert log_finished(folder, where) == active.info.run_id
        assert tracking.get_run(active.info.run_id).info.status == "RUNNING"
    assert "report.html" in files(tracking, active.info.run_id)


def test_what_fails_half_way_is_marked_in_the_store(tracking: Any, folder: Path, place: str, tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("in the way")
    with pytest.raises(TrackingError, match=r"must be a store that can be written; got an error of sqlite"):
        log_finished(folder, MlflowPart(tracking_uri=place, experiment=tracking_name()))
    (only,) = tracking.search_runs([tracking.get_experiment_by_name(tracking_name()).experiment_id])
    assert only.info.status == "FAILED"
    assert (folder / "report.html").is_file()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Any]], None]:
    """Return what exchanges the client of MLflow."""
    return partial(monkeypatch.setattr, "mlflow.tracking.MlflowClient")


def test_a_failure_tells_no_password(folder: Path, client: Callable[..., None]) -> None:
    def refuse(uri: str) -> None:
        raise OSError(f"cannot reach {uri}")

    client(refuse)
    with pytest.raises(TrackingError) as caught:
        log_finished(folder, MlflowPart(tracking_uri="https://me:hunter2@mlflow.example"))
    assert "https://me:***@mlflow.example" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_address_that_cannot_be_parsed_is_an_error_of_the_store(folder: Path, client: Callable[..., None]) -> None:
    def refuse(uri: str) -> None:
        raise ValueError(f"cannot parse {uri}")

    client(refuse)
    for uri in ("http://me:hunter2@[::1", "http://[::1", "http://me:x@hunter2@mlflow.example"):
        with pytest.raises(TrackingError, match="an error of http: the address is not clear") as caught:
            log_finished(folder, MlflowPart(tracking_uri=uri))
        assert "hunter2" not in str(caught.value)


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the address of a server that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield f"http://me:hunter2@127.0.0.1:{listening.getsockname()[1]}"


def test_a_store_that_does_not_answer_is_given_up(folder: Path, silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")  # the thread that is left ends with the test
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    before = time.monotonic()
    with pytest.raises(TrackingError, match=r"http did not answer within 0\.1 s\. The report is complete") as caught:
        log_finished(folder, MlflowPart(tracking_uri=silent, timeout=0.1))
    assert time.monotonic() - before < 60
    assert "hunter2" not in str(caught.value)
    with pytest.raises(TrackingError, match=r"got an error of http: .*timed out") as caught:
        log_finished(folder, MlflowPart(tracking_uri=silent, timeout=60))
    assert "hunter2" not in str(caught.value)


def test_requests_end_by_themselves_unless_the_user_says_how(
    folder: Path, place: str, client: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    client(lambda uri: pytest.fail("not asked for"))
    for name in ("TIMEOUT", "MAX_RETRIES"):
        monkeypatch.delenv(f"MLFLOW_HTTP_REQUEST_{name}", raising=False)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "7")
    with pytest.raises(BaseException, match="not asked for"):
        log_finished(folder, MlflowPart(tracking_uri=place))
    limits = {name: os.environ[f"MLFLOW_HTTP_REQUEST_{name}"] for name in ("TIMEOUT", "MAX_RETRIES")}
    assert limits == {"TIMEOUT": "7", "MAX_RETRIES": "2"}


@pytest.mark.parametrize("end", [None, KeyboardInterrupt])
def test_what_is_late_or_interrupted_ends_as_failed(
    tracking: Any,
    folder: Path,
    place: str,
    client: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    end: type[BaseException] | None,
) -> None:
    going, goes_on, terminated = Event(), Event(), Event()

    class Client(mlflow.MlflowClient):  # type: ignore[misc,name-defined] # MLflow is not typed here
        def log_artifact(self, *what: Any) -> None:
            going.set()
            assert goes_on.wait(60)
            super().log_artifact(*what)

        def set_terminated(self, *how: Any) -> None:
            super().set_terminated(*how)
            terminated.set()

    def result(self: Any, seconds: float) -> Any:
        assert going.wait(60)
        raise TimeoutError if end is None else end

    client(Client)
    monkeypatch.setattr(Future, "result", result)
    with pytest.raises(end or TrackingError):
        log_finished(folder, MlflowPart(tracking_uri=place, experiment=tracking_name()))
    goes_on.set()
    assert terminated.wait(60)
    (only,) = tracking.search_runs([tracking.get_experiment_by_name(tracking_name()).experiment_id])
    assert only.info.status == "FAILED"


def test_a_missing_mlflow_is_told_before_the_audit(without: Callable[..., None]) -> None:
    without("mlflow")
    changes = {"data.source": "nowhere.csv", "mlflow.tracking_uri": "http://nowhere"}
    with pytest.raises(MissingDependencyError, match=r"pip install 'uq_report\[mlflow\]'"):
        uq.run(changes=changes)


def test_mlflow_lists_its_evaluators_without_importing_ours() -> None:
    heavy = "{'scipy', 'weasyprint', 'uq_report.api', 'uq_report.core', 'uq_report.runner'}"
    code = (
        "import sys, mlflow.models\nbefore = set(sys.modules)\n"
        "assert 'uq_report' in mlflow.models.list_evaluators()\n"
        "import uq_report.ops.tracking.evaluator\n"
        f"print(sorted(m for m in sys.modules if m in {heavy} and m.startswith('uq_report')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
    assert "Failure attempting to register" not in done.stderr


def audit_file(folder: Path, rows: pd.DataFrame, place: str) -> None:
    rows[["age", "income", "default"]].to_csv(folder / "rows.csv", index=False)
    (folder / "made_for_mlflow.py").write_text(
        "import pandas as pd\nfrom sklearn.linear_model import LogisticRegression\ndef model():\n"
        "    t = pd.read_csv('rows.csv')\n    return LogisticRegression().fit(t[['age', 'income']], t['default'])\n"
    )
    (folder / "audit.toml").write_text(
        f'''[model]
source = "made_for_mlflow:model"
label = "credit"
[data]
source = "rows.csv"
target = "default"
[run]
explainers = ["calibration"]
[output]
folder = "out"
formats = ["html"]
[mlflow]
tracking_uri = "{place}"
experiment = "{tracking_name()}"
'''
    )


def test_the_command_logs_what_it_wrote(
    tracking: Any, rows: pd.DataFrame, place: str, tmp_path: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    audit_file(tmp_path, rows, place)
    done = CliRunner().invoke(cli.app, ["run", "audit.toml"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Report in ")
    logged_to = re.search(r"Logged to MLflow: run (\w{32})", done.stderr)
    assert logged_to is not None
    assert tracking.get_run(logged_to[1]).data.metrics == metrics(run_folder.read("out")[0])

    model = logged(classifier(rows))
    assert CliRunner().invoke(cli.app, ["run", "audit.toml", "-q", "--model", model]).exit_code == 0
    facts = run_folder.read("out")[0].subject
    assert (facts["sources"]["model"], len(facts["hashes"]["model"])) == (model, 64)
    tracking.create_experiment(f"{tmp_path} blocked", f"file://{tmp_path / 'rows.csv'}")
    broken = CliRunner().invoke(cli.app, ["run", "audit.toml", "-q", "--experiment", f"{tmp_path} blocked"])
    assert (broken.exit_code, broken.stdout) == (75, "")
    assert "Not logged to MLflow: mlflow.tracking_uri must be a store that can be written" in broken.stderr
    assert Path("out/report.html").is_file()
    tracking.create_experiment(f"{tmp_path} healed", f"file://{tmp_path / 'healed'}")
    filed = ["run", "audit.toml", "--model", model, "--history", "filed", "--as-of", "2026-01-31", "--experiment"]
    assert CliRunner().invoke(cli.app, [*filed, f"{tmp_path} blocked"]).exit_code == 75
    healed = [CliRunner().invoke(cli.app, [*filed, f"{tmp_path} healed"]) for _ in range(2)]
    assert ["Unchanged" in one.stdout for one in healed] == [True, True]
    assert healed[0].stderr.splitlines()[-1] == healed[1].stderr.splitlines()[-1] != "", "logged late, and once"
    lost = CliRunner().invoke(
        cli.app, ["run", "--model", "made_for_mlflow:model", "--data", "rows.csv", "--experiment", "credit"]
    )
    assert lost.exit_code == 3
    assert "mlflow.tracking_uri must be given; it is missing." in lost.stderr
