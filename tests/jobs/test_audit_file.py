"""audit.toml: every mistake at once, the same run from flags and from a file, a first file that runs, gates."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import uq_report as uq
from uq_report import cli, jobs as files
from uq_report.core.support.errors import InputError
from uq_report.evidence import codec
from uq_report.jobs.audit_file import AuditFile
from uq_report.jobs.reading import read_audit

from ..packages import Packages, explainer
from . import audits_made

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "audit_file.md"
DATA = ["--model", "model.skops", "--data", "test.csv", "--target", "risk"]
ROLES = ["--ignore", "application", "--ignore", "household", "--ignore", "exposure", "--protected", "sex"]
QUICK = ["--explainers", "calibration", "--format", "markdown", "--as-of", "2026-01-31"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with a model and its tables."""
    monkeypatch.chdir(tmp_path)
    audits_made.write(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


BAD = """
[model]
sorce = "x"
source = "model.skops"
sha256 = "12"
positive_class = ["bad"]
adapter = "clasifier"
[data]
source = "test.csv"
train = "train.csv"
target = "risk"
sample_weight = "risk"
clusters = "houshold"
ignore = ["aplication"]
groups = { wealth = ["incom"] }
categorical = ["agee"]
protected = ["gender"]
[expectations]
savings = "incresing"
saving = "increasing"
[explainers.pfi]
n_repeat = 3
n_repeats = 0
chunk = 5
features = ["q"]
[explainers.pfy]
[explainers.redundancy]
nothing = 1
[checks.calibration]
efect = 1
[checks.policy]
require = []
[run]
seed = -1
as_of = "yesterday"
explainers = ["pfi", "pdpp"]
[policy]
fail_on = "hihg"
rules = ["foo"]
[output]
formats = ["htm"]
template = "brif"
appendix = "ful"
[[waivers]]
code = "UQ101"
owner = "me"
reason = "so"
expires = "soon"
[[actions]]
code = "UQ101"
owner = "me"
due = "2026-01-31"
feature = "incme"
"""
TOLD = (
    "model.sorce must be a known setting; got 'sorce'. Did you mean 'source'?",
    "model.sha256 must be a SHA-256 as 64 hexadecimal digits; got '12'.",
    "model.positive_class must be a valid string or a valid integer or a valid number or a valid boolean",
    "model.adapter must be a registered name; got 'clasifier'. Did you mean 'classifier'?",
    "data.sample_weight must be another column than data.target; got 'risk' for both.",
    "data.clusters must be a column of test.csv; got 'houshold'. Did you mean 'household'?",
    "data.ignore[0] must be a column of test.csv; got 'aplication'. Did you mean 'application'?",
    "data.groups.wealth[0] must be a feature of test.csv; got 'incom'. Did you mean 'income'?",
    "data.categorical[0] must be a feature of test.csv; got 'agee'. Did you mean 'age'?",
    "data.protected[0] must be a column of test.csv; got 'gender'.",
    "expectations.savings must be 'increasing' or 'decreasing'; got 'incresing'. Did you mean 'increasing'?",
    "expectations.saving must be a feature of test.csv; got 'saving'. Did you mean 'savings'?",
    "explainers.pfi.n_repeat must be a known option; got 'n_repeat'. Did you mean 'n_repeats'?",
    "explainers.pfi.n_repeats must be an integer >= 1; got 0.",
    "explainers.pfi.chunk must be a known option; got 'chunk'.",
    "explainers.pfi.features[0] must be a feature or group of test.csv; got 'q'.",
    "explainers must be keyed by explainer, or checks.<name>; got 'pfy'. Did you mean 'pfi'?",
    "explainers.redundancy.nothing must be a known option; got 'nothing'.",
    "checks.calibration.efect must be a known option; got 'efect'. Did you mean 'effect'?",
    "policy.rules and checks.policy.require must not both be given",
    "run.seed must be greater than or equal to 0; got -1.",
    "run.as_of must be a date written YYYY-MM-DD; got 'yesterday'.",
    "run.explainers must list registered names; got 'pdpp'. Did you mean 'pdp'?",
    "policy.fail_on must be 'critical', 'high', 'medium', 'low' or 'observation'; got 'hihg'. Did you mean 'high'?",
    "policy.rules[0] must be 'FEATURE [not] in top K of MEASURE",
    "output.formats[0] must be a registered name; got 'htm'. Did you mean 'html'?",
    "output.template must be a registered name; got 'brif'. Did you mean 'brief'?",
    "output.appendix must be a registered name; got 'ful'. Did you mean 'full'?",
    "waivers.0.expires must be a date written YYYY-MM-DD; got 'soon'.",
    "actions[0].feature must be a feature or group of test.csv; got 'incme'. Did you mean 'income'?",
)


@pytest.mark.parametrize("command", [("config", "check"), ("run",)])
def test_all_mistakes_of_keys_options_and_columns_are_told_in_one_error(folder: Path, command: tuple[str, ...]) -> None:
    Path("audit.toml").write_text(BAD)
    result = call(*command, "audit.toml")
    lines = result.stderr.removeprefix("Error: ").splitlines()
    assert (result.exit_code, result.stdout) == (3, "")
    for told in TOLD:
        assert [line for line in lines if line.startswith(f"audit.toml: {told}")], told
    assert len(lines) == len(TOLD)
    assert not (folder / "uq-report").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[data]\nsource = 'test.csv'", "audit.toml: model.source must be given; it is missing."),
        ("[model]\nsource = 'm.skops'", "audit.toml: data must be given; it is missing."),
        ("[model\n", "audit.toml must be TOML in UTF-8; got something else: "),
        (f"run.seed = {'9' * 5000}", "audit.toml must be TOML in UTF-8; got something else: Exceeds the limit"),
        (f"[{'.'.join('a' * 900)}]\nb = 1", "audit.toml must have at most 20 tables in each other; got more."),
        (f"[{'.'.join('a' * 5000)}]\nb = 1", "audit.toml must "),  # which of two, Python's version says
        ("[data]\nsource='t.csv'\npredictions={mean='m'}\n[model]\nsource='m.skops'", "Keep one of them."),
        ("data.source = ['mysql://me:s3cr3t@h']", "audit.toml: data.source must be a valid string; got ['mysql:***."),
        ("data = 3\n[model]\nsource='m.skops'", "audit.toml: data must be a valid dictionary or instance of DataPart"),
    ],
)
def test_what_is_missing_or_no_toml_is_told(folder: Path, text: str, told: str) -> None:
    Path("audit.toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(told)):
        read_audit("audit.toml")
    result = call("run", "audit.toml")
    assert (result.exit_code, "s3cr3t" in result.stderr) == (3, False)
    with pytest.raises(InputError, match="audit file must be readable"):
        read_audit("none.toml")


def test_a_key_of_a_wrong_type_is_named_once(folder: Path) -> None:
    Path("audit.toml").write_text("model.source = 'm.skops'\ndata.source = 3\nrun.sed = 1")
    assert call("config", "check", "audit.toml").stderr.splitlines() == [
        "Error: audit.toml: data.source must be a valid string; got 3.",
        "audit.toml: run.sed must be a known setting; got 'sed'. Did you mean 'seed'?",
    ]


def test_places_in_a_file_are_relative_to_it_and_those_of_flags_to_the_folder(folder: Path) -> None:
    Path("audits").mkdir()
    Path("audits/a.toml").write_text("model.source='m.skops'\ndata.source='t.csv'\ndata.train='sqlite:///x.db'\n")
    audit = read_audit("audits/a.toml")
    assert audit.model is not None
    assert (audit.model.source, audit.data.source) == (str(folder / "audits/m.skops"), str(folder / "audits/t.csv"))
    assert (audit.data.train, audit.output.folder) == ("sqlite:///x.db", str(folder / "audits/uq-report"))
    from uq_report.jobs.reading import describe_audit

    found = describe_audit("audits/a.toml", {"model.source": "n.skops", "output.history": "h"})
    assert found.audit is not None
    assert found.audit.model is not None
    assert (found.audit.model.source, found.audit.output.folder) == ("n.skops", None)


def test_flags_and_file_fill_the_same_objects_and_give_the_same_bytes(folder: Path) -> None:
    more = ["--max-rows", "40", "--seed", "3", "--positive-class", "bad", "--label", "L", "--train", "train.csv"]
    more += ["--confidence", "0.9"]
    options = ["--set", "checks.calibration.effect=0.05", "--set", "expectations.income=decreasing"]
    limits = ["--time-limit", "900", "--memory-limit-mb", "90000", "--deny", "dalex", "--title", "T"]
    flags = call("run", *DATA, *ROLES, *QUICK, *more, *options, *limits, "--output", "flags")
    assert flags.exit_code == 0, flags.stderr
    Path("audit.toml").write_text("""
        model = { source = "model.skops", label = "L", positive_class = "bad" }
        expectations = { income = "decreasing" }
        checks = { calibration = { effect = 0.05 } }
        budget = { time_limit = 900, memory_limit_mb = 90000 }
        about = { title = "T" }
        [data]
        source = "test.csv"
        train = "train.csv"
        target = "risk"
        ignore = ["application", "household", "exposure"]
        protected = ["sex"]
        max_rows = 40
        [run]
        seed = 4
        confidence = 0.9
        deny = ["dalex"]
        explainers = ["calibration"]
        as_of = "2026-01-31"
        [output]
        folder = "file"
        formats = ["markdown"]
    """)
    file = call("run", "audit.toml", "--seed", "3")
    assert file.exit_code == 0, file.stderr
    assert Path("flags/run.json").read_bytes() == Path("file/run.json").read_bytes()
    saved = uq.load("file").run
    assert saved.settings["confidence"] == 0.9
    assert (saved.settings["seed"], saved.subject["n"], saved.subject["protected"]) == (3, 40, ["sex"])
    assert saved.settings["options"]["checks.direction"] == {"monotone": {"income": "decreasing"}}


def test_init_writes_a_file_that_runs_and_explains_every_section(folder: Path) -> None:
    Path("audits").mkdir()
    made = call("init", *DATA, "--protected", "sex", "-o", "audits/audit.toml")
    assert (made.exit_code, made.stdout) == (
        0,
        "Written: audits/audit.toml. Run it with: uq-report run audits/audit.toml\n",
    )
    text = Path("audits/audit.toml").read_text()
    assert 'source = "../model.skops"' in text
    assert 'ignore = ["application", "exposure", "household"]' in text
    assert '#sample_weight = "exposure"' in text
    assert '#clusters = "household"' in text
    assert "#   region: categorical, object, 2 values" in text or "#   region: categorical, str, 2 values" in text
    assert call("config", "check", "audits/audit.toml").stdout == "audits/audit.toml: no mistakes found\n"
    result = call("run", "audits/audit.toml", *QUICK)
    assert result.exit_code == 0, result.stderr
    assert [f["name"] for f in uq.load("audits/uq-report").run.subject["features"]] == audits_made.FEATURES


def test_every_key_that_init_switches_off_is_a_known_one(folder: Path) -> None:
    assert call("init", *DATA, "-o", "a.toml", "-q").output == ""
    switched_on = re.sub(r"(?m)^#(?=[^ \n])", "", Path("a.toml").read_text())
    content = tomllib.loads(switched_on)
    AuditFile.model_validate(content)
    jsonschema = pytest.importorskip("jsonschema", reason="this test holds a file against the schema")
    jsonschema.validate(content, files.installed_schema())
    assert set(content) == set(AuditFile.model_fields)


def test_init_replaces_nothing_unless_forced_and_writes_nothing_that_does_not_run(folder: Path) -> None:
    Path("a.toml").write_text("mine")
    refused = call("init", *DATA, "-o", "a.toml")
    assert (refused.exit_code, Path("a.toml").read_text()) == (3, "mine")
    assert "a.toml is there already. Name another, or add --force." in refused.stderr
    assert call("init", *DATA[:4], "--target", "rsk", "-o", "a.toml", "--force").exit_code == 3
    assert Path("a.toml").read_text() == "mine"
    assert call("init", *DATA[:4], "-o", "a.toml", "--force").exit_code == 0
    assert '#target = "application"' in Path("a.toml").read_text()
    assert sorted(p.name for p in folder.iterdir()) == ["a.toml", "model.skops", "test.csv", "train.csv"]


def test_schema_is_printed_for_editors() -> None:
    result = call("config", "schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == files.installed_schema()
    assert "model" in files.installed_schema()["properties"]


def test_the_example_in_the_guide_runs(folder: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    Path("audit.toml").write_text(text)
    assert call("config", "check", "audit.toml").exit_code == 0
    result = call("run", "audit.toml", "--as-of", "2026-01-31", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["folder"] == str(folder / "report")
    assert (folder / "report/report.junit.xml").is_file()
    saved = uq.load("report").run
    assert told["run_sha256"] == codec.sha256(saved)
    assert saved.subject["protected"] == ["sex"]
    assert {o.check: o.state for o in saved.outcomes} == told["checks"]
    assert told["checks"]["policy"] in ("found", "passed")


def test_a_gate_ends_in_exit_code_1_with_the_report_written(folder: Path) -> None:
    rules = ["--set", 'policy.rules=["nll <= 0.0001"]']
    result = call("run", *DATA, *ROLES, *QUICK, *rules, "--fail-on", "high", "--quiet")
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.match(r"Failed: \d+ open findings? at or above high: .*UQ951 \(high\)", result.stderr)
    assert (folder / "uq-report/report.md").is_file()
    assert call("run", *DATA, *ROLES, *QUICK, *rules, "--fail-on", "critical", "-q").output == ""
    assert call("run", *DATA, "--fail-on", "severe").exit_code == 2
    assert call("run", *DATA, "--set", "seed").exit_code == 2


def test_a_required_part_that_fails_ends_in_exit_code_1(folder: Path, packages: Packages) -> None:
    packages.explainer("odd", explainer("odd", "raise ValueError('no')"))
    odd = [*DATA, *ROLES, *QUICK, "--explainers", "odd"]
    assert call("run", *odd).exit_code == 0
    result = call("run", *odd, "--require", "explainers.odd", "--json")
    assert result.exit_code == 1
    assert "Failed: required, and not run: explainers.odd: ValueError: no" in result.stderr
    assert json.loads(result.stdout)["exit_code"] == 1


def test_the_line_of_json_has_one_shape(folder: Path) -> None:
    result = call("run", *DATA, *ROLES, *QUICK, "--json", "--quiet")
    (line,) = result.stdout.splitlines()
    told = json.loads(line)
    assert (result.exit_code, result.stderr, told["exit_code"], told["reasons"]) == (0, "", 0, [])
    assert list(told["findings"]) == ["critical", "high", "medium", "low", "observation"]
    assert told["recommendation"] in (
        "Fit for purpose",
        "Fit for purpose with conditions",
        "Not fit for purpose",
        "Inconclusive",
    )
    assert told["run_sha256"] == codec.sha256(uq.load("uq-report").run)
    assert {"label", "as_of", "waived", "checks", "not_run", "not_reproducible", "folder"} < set(told)
    failed = call("run", *DATA, "--as-of", "x", "--json")
    assert failed.exit_code == 3
    assert json.loads(failed.stdout)["exit_code"] == 3
    assert "run.as_of must be a date written YYYY-MM-DD; got 'x'." in json.loads(failed.stdout)["reasons"]


def test_a_limit_of_time_is_told_in_the_report(folder: Path) -> None:
    result = call("run", *DATA, *ROLES, *QUICK, "--time-limit", "0.000001", "--json")
    assert result.exit_code == 0, result.stderr
    cut = json.loads(result.stdout)["not_reproducible"]
    assert cut.startswith("the time limit of 1e-06 s was reached: the model takes about ")
    assert cut.endswith(" s to predict its 60 rows once")
    assert "This run is not reproducible" in Path("uq-report/report.md").read_text()


def test_junit_is_a_format_and_retention_deletes_what_is_told(folder: Path) -> None:
    base = [
        *DATA,
        *ROLES,
        "--explainers",
        "calibration",
        "--format",
        "junit",
        "--history",
        "h",
        "--set",
        "output.keep=1",
    ]
    assert call("run", *base, "--as-of", "2026-01-31", "-q").output == ""
    result = call("run", *base, "--as-of", "2026-02-28", "--seed", "1")
    assert result.exit_code == 0
    assert "Deleted by output.keep = 1: Pipeline@1 of 2026-01-31" in result.stderr
    assert len(list(Path("h").glob("*/*/report.junit.xml"))) == 1
