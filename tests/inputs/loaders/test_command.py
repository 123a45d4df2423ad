"""Models behind a command: the numbers are those of the same model in Python, and wrong answers are told."""

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.support.errors import InputError, ModelError, PendingError
from uq_report.inputs.loaders.command_ import CommandLoader, CommandModel, distribution_of
from uq_report.jobs.audit_file import AuditFile
from uq_report.jobs.sources import source_name

SCRIPT = """
import sys
import numpy as np
import pandas as pd
rows = pd.read_csv(sys.argv[1], na_values="NA")
p = 1 / (1 + np.exp(-rows["a"] - 0.5 * rows["b"]))
out = pd.DataFrame({"p_good": 1 - p, "p_bad": p})
{more}
out.to_csv(sys.argv[2], index=False)
"""
X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
Y = np.where(X["a"] > 0, "bad", "good")


def own(rows: pd.DataFrame) -> Any:
    p = 1 / (1 + np.exp(-rows["a"] - 0.5 * rows["b"]))
    return uq.dist.Categorical(np.column_stack([1 - p, p]), classes=["good", "bad"])


def model(folder: Path, more: str = "") -> CommandModel:
    script = folder / "predict.py"
    script.write_text(SCRIPT.replace("{more}", more))
    loaded = CommandLoader().load(f"command:{sys.executable} {script} {{rows}} {{predictions}}")
    assert isinstance(loaded, CommandModel)
    return loaded


def test_importance_is_that_of_the_same_model_in_python(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"measures": ["entropy", "nll"], "n_repeats": 3, "exact": False}
    by_command = uq.importance(model(tmp_path), X, Y, **asked).estimates
    np.testing.assert_allclose(
        by_command["estimate"], uq.importance(own, X, Y, **asked).estimates["estimate"], atol=1e-9
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("out = out.iloc[1:]", "must write one line for each of 30 rows; got 29"),
        ("out.iloc[3, 0] = np.nan", "must write finite numbers; got others in 1 of 30 rows, first in row 4"),
        ("out = out.sort_values('p_bad')", "its answers change when the rows are given in reverse order"),
        ("out['row'] = range(30, 0, -1)", "must write rows 1 to 30 in their order; got another order in row"),
        (
            "out = out.rename(columns={'p_bad': 'bad'})",
            r"must write the columns p_<class> for each class, .* got \['p_go",
        ),
        ("out['p_bad'] = 'x'", "must write numbers; got ValueError"),
        ("out *= 2", "must write a distribution for each row"),
        ("sys.exit('no such model')", "must end with exit code 0; got 1. It printed: no such model"),
        ("sys.exit(0)", r"must write \{predictions\}; it wrote nothing"),
    ],
)
def test_wrong_answers_are_told(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        model(tmp_path, more)(X)


def test_a_command_that_is_not_there_and_one_without_its_files() -> None:
    with pytest.raises(
        ModelError, match="the command no_such_program must run within 600 seconds; got FileNotFoundError"
    ):
        CommandLoader().load("command:no_such_program {rows} {predictions}")(X)
    with pytest.raises(
        InputError, match=r"model\.command must name \{rows\} and \{predictions\}; got 'R -f a\.R \{rows\}'"
    ):
        CommandLoader().load("command:R -f a.R {rows}")
    with pytest.raises(InputError, match=r"model\.command must be words of a command line"):
        CommandLoader().load("command:R 'a {rows} {predictions}")


def test_columns_say_which_distribution() -> None:
    numbers = np.array([[1.0, 2.0, 4.0]])
    assert distribution_of(numbers, ["q05", "q50", "q975"], "it").quantile(np.array([0.5])).ravel().tolist() == [2.0]
    draws = np.stack([np.arange(20.0), np.arange(20.0) + 1])
    assert distribution_of(draws, [f"draw_{k}" for k in range(20)], "it").mean().tolist() == [9.5, 10.5]
    assert distribution_of(np.array([[2.0, 1.0]]), ["sd", "mean"], "it").mean().tolist() == [1.0]


def test_the_hash_is_of_the_command_and_its_script(tmp_path: Path) -> None:
    script = tmp_path / "predict.R"
    script.write_text("one")
    source = f"command:Rscript {script} {{rows}} {{predictions}}"
    first = CommandLoader().sha256(source)
    script.write_text("two")
    assert first != CommandLoader().sha256(source)
    assert "runs its code" in CommandLoader().caution(source)
    assert source_name(source) == "command:Rscript predict.R {rows} {predictions}"


def test_the_key_of_the_audit_file() -> None:
    command = "Rscript predict.R {rows} {predictions}"
    audit = AuditFile.model_validate({"model": {"command": command}, "data": {"source": "rows.csv"}})
    assert audit.model is not None
    assert audit.model.source == f"command:{command}"
    assert audit.mistakes() == []
    both = AuditFile.model_validate({"model": {"command": command, "source": "m.skops"}, "data": {"source": "r.csv"}})
    assert both.mistakes() == [
        "model.source must be left out where model.command is given; got both. Keep one of them."
    ]


def test_a_plan_is_audited_once_all_predictions_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run equals that of the same function; earlier rounds leave nothing but rows to predict."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60).round(2), "b": rng.integers(0, 3, 60)})

    def probabilities(rows: pd.DataFrame) -> pd.DataFrame:
        p = 1 / (1 + np.exp(-rows["a"].to_numpy() - 0.5 * rows["b"].to_numpy()))
        return pd.DataFrame({"p_0": 1 - p, "p_1": p})

    y = (rng.random(60) < probabilities(X)["p_1"]).astype(int)
    X.assign(y=y).to_csv(tmp_path / "test.csv", index=False)
    asked: dict[str, Any] = {
        "model.source": f"planned:{tmp_path / 'plan'}",
        "data": {"source": str(tmp_path / "test.csv"), "target": "y"},
        "run.explainers": ["pfi"],
        "output": {"folder": str(tmp_path / "report"), "formats": ["markdown"]},
    }
    audits: list[Any] = []
    audit: Any = uq.audit

    def recorded(*args: Any, **more: Any) -> Any:
        audits.append(audit(*args, **more))
        return audits[-1]

    monkeypatch.setattr("uq_report.api.auditing.audit", recorded)
    for _ in range(2):
        with pytest.raises(PendingError, match=r"must have predictions of \d+ more rows"):
            uq.run(changes=asked)
        assert not (tmp_path / "report").exists()
        rows = pd.read_csv(tmp_path / "plan" / "rows.csv")
        probabilities(rows).to_csv(tmp_path / "plan" / "predictions.csv", index=False)
    source = CommandLoader().sha256(asked["model.source"])
    done = uq.run(changes=asked)
    assert [one.run == done.run.run for one in audits] == [False, True]
    assert done.run.run.subject["hashes"]["model"] == source == CommandLoader().sha256(asked["model.source"])
    same = uq.importance(lambda rows: uq.dist.Categorical(probabilities(rows).to_numpy(), classes=[0, 1]), X, y)
    pd.testing.assert_frame_equal(done.run["pfi"].estimates, same.estimates)


def test_a_plan_is_not_sent_to_another_process(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="keeps a list of missing rows"):
        pickle.dumps(CommandLoader().load(f"planned:{tmp_path}"))
