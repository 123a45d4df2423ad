"""Options of plugins: types are checked, every mistake is told at once, and what an option is can be looked up."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import uq_report as uq
from uq_report import cli, jobs as files, runner
from uq_report.core.support.errors import InputError
from uq_report.runner import options, plugins
from uq_report.runner.options import Option, options_of, read_options
from uq_report.runner.prepare import make_explainer
from uq_report.runner.settings import Settings
from uq_report.testing import linear_subject

from ..jobs import audits_made
from ..packages import Packages, explainer

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "audit_file.md"
STRANGE = """
from __future__ import annotations
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

if TYPE_CHECKING:
    from elsewhere import Thing

class Kind(Enum):
    ROUND = "round"

class Own:
    pass

def refuse(value):
    raise RuntimeError("a bug of the plugin's")

@dataclass(frozen=True)
class Extra:
    {fields}

    name: ClassVar[str] = "extra"
    section: ClassVar[str] = "drivers"
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def explain(self, subject, engine, prior):
        return []
"""


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


def lines_of(**given: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        uq.audit(linear_subject(20), progress=False, **given)
    return str(caught.value).splitlines()


def strange(packages: Packages, fields: str) -> None:
    packages.explainer("extra", STRANGE.format(fields=fields))


@pytest.mark.parametrize(
    ("name", "option", "value", "allowed", "default"),
    [
        ("pfi", "n_repeats", "ten", "an integer", "30"),
        ("pfi", "n_repeats", "10", "an integer", "30"),
        ("pfi", "n_repeats", 3.7, "an integer", "30"),
        ("pfi", "n_repeats", True, "an integer", "30"),
        ("pfi", "train", 1, "true or false", "true"),
        ("pfi", "measures", 3, "a list of texts", '["loss", "nll", "entropy", "decomposition"]'),
        ("pfi", "measures", ["nll", 1], "a list of texts", '["loss", "nll", "entropy", "decomposition"]'),
        ("pfi", "margin", "0.1", "a table of numbers or a number or None", "None"),
        ("pdp", "percentiles", [0.1], "a list of 2 numbers", "[0.0, 1.0]"),
        ("pdp", "pairs", [["a", "b", "c"]], "a list of lists of 2 texts", "[]"),
        ("redundancy", "max_rows", 2.5, "an integer or None", "None"),
        ("checks.calibration", "effect", "small", "a number", "0.02"),
        ("checks.policy", "severity", "worst", "'critical', 'high', 'medium', 'low' or 'observation'", '"high"'),
    ],
)
def test_a_value_of_another_type_is_one_line(name: str, option: str, value: Any, allowed: str, default: str) -> None:
    key = name if name.startswith("checks.") else f"explainers.{name}"
    told = lines_of(options={name: {option: value}})
    assert told == [f"{key}.{option} must be {allowed}; got {value!r}. The default is {default}."]


@pytest.mark.parametrize(
    ("name", "option", "value", "read"),
    [
        ("pfi", "margin", 1, 1.0),
        ("pfi", "margin", {"nll": 1}, {"nll": 1.0}),
        ("pfi", "measures", ["nll"], ("nll",)),
        ("pfi", "measures", "nll", ("nll",)),
        ("pdp", "pairs", ("a", "b"), (("a", "b"),)),
        ("pfi", "measures", np.array(["nll"]), ("nll",)),
        ("pfi", "n_repeats", np.int64(4), 4),
        ("pfi", "train", np.bool_(False), False),
        ("pfi", "features", None, None),
        ("pdp", "pairs", [["a", "b"]], (("a", "b"),)),
        ("pdp", "percentiles", (0, 1), (0.0, 1.0)),
        ("pdp", "custom_values", {"a": np.array([0.5, 1.0])}, {"a": (0.5, 1.0)}),
        ("pdp", "custom_values", {"a": pd.Series(["x"])}, {"a": ("x",)}),
        ("shap", "rows", range(3), (0, 1, 2)),
        ("shap", "rows", pd.Index([1, 2]), (1, 2)),
    ],
)
def test_what_means_the_same_is_taken(name: str, option: str, value: Any, read: Any) -> None:
    made = make_explainer(name, {option: value})
    assert getattr(made, option) == read
    assert type(getattr(made, option)) is type(read)


def test_every_mistake_is_told_at_once(packages: Packages) -> None:
    packages.explainer("extra", explainer("extra"))
    given = {
        "pfi": {"n_repeats": "ten", "margn": 1, "measures": 3},
        "extra": {"n_things": 0},
        "checks.calibration": {"level": [0.05]},
        "pdq": {},
    }
    told = lines_of(seed=-1, confidence=2, explainrs=["pfi"], options=given)
    assert [line.split(" must ")[0] for line in told] == [
        *("audit.seed", "audit.confidence", "audit.explainrs", "settings.options", "explainers.extra.n_things"),
        *("explainers.pfi.n_repeats", "explainers.pfi.margn", "explainers.pfi.measures", "checks.calibration.level"),
    ]


@pytest.mark.parametrize(("number", "told"), [(2**31 - 1, 0), (2**31, 1), (10**30, 1), (10**4000, 1), (-(2**31), 1)])
def test_an_integer_has_a_largest_value(packages: Packages, number: int, told: int) -> None:
    packages.explainer("extra", explainer("extra"))
    lines = lines_of(options={"extra": {"n_things": number}, "pfi": {"n_repeats": "a"}})
    assert sum("extra.n_things must be at most 2147483647; got one of" in line for line in lines) == told


def test_a_file_tells_every_mistake_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    audits_made.write(tmp_path)
    Path("audit.toml").write_text("""
        [model]
        source = "model.skops"
        [data]
        source = "test.csv"
        target = "risk"
        [run]
        confidence = 1.5
        seed = -1
        [explainers.pfi]
        n_repeats = 3.0
        confidence = 0.9
        [checks.support]
        level = "5%"
    """)
    result = call("config", "check", "audit.toml")
    assert result.exit_code == 3
    for line in (
        "audit.toml: run.confidence must be less than 1; got 1.5.",
        "audit.toml: run.seed must be greater than or equal to 0; got -1.",
        "audit.toml: explainers.pfi.n_repeats must be an integer; got 3.0. The default is 30.",
        "confidence is a setting of the run, not of explainers.pfi.",
        "audit.toml: checks.support.level must be a number; got '5%'. The default is 0.05.",
    ):
        assert line in result.stderr


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ("own: Own | None = None", {"own": "anything"}),
        ("thing: Thing = 1", {"thing": "anything"}),
        ("nonsense: 'no type at all' = 1", {"nonsense": 2}),
        ("bare: tuple = ()", {"bare": [1, "a"]}),
    ],
)
def test_a_type_that_cannot_be_checked_takes_every_value(packages: Packages, fields: str, given: Any) -> None:
    strange(packages, fields)
    made = make_explainer("extra", given)
    expected = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    assert {name: getattr(made, name) for name in given} == expected
    assert files.installed_schema()["properties"]["explainers"]["properties"]["extra"]["properties"].keys() == {*given}
    assert call("plugins", "extra").exit_code == 0


@pytest.mark.parametrize("value", [SystemExit(7), len, [object()], b"x"], ids=lambda value: type(value).__name__)
def test_an_option_that_cannot_be_saved_is_refused_by_its_name(packages: Packages, value: Any) -> None:
    strange(packages, "how: object = None")
    with pytest.raises(InputError, match=r"^options\.extra\.how(\[0\])? must be a JSON value to be saved; got a "):
        runner.run(linear_subject(20), Settings(explainers=("extra",), options={"extra": {"how": value}}))
    settings = Settings(options={"extra": {"how": np.arange(2)}})
    assert settings.recorded()["options"] == {"extra": {"how": [0, 1]}}


def test_what_a_file_can_only_spell_becomes_what_it_stands_for(packages: Packages) -> None:
    strange(packages, "place: Path | None = None\n    kinds: frozenset[Kind] = frozenset()")
    made: Any = make_explainer("extra", {"place": "a/b", "kinds": ["round"]})
    assert made.place == Path("a/b")
    assert [kind.value for kind in made.kinds] == ["round"]
    with pytest.raises(InputError, match=r"extra\.kinds must be a list of Kind; got \['square'\]"):
        make_explainer("extra", {"kinds": ["square"]})


def test_an_option_that_must_be_given_and_is_wrong_is_one_mistake(packages: Packages) -> None:
    strange(packages, "size: int")
    with pytest.raises(InputError, match=r"^extra\.size must be an integer; got 'big'\.$"):
        make_explainer("extra", {"size": "big"})
    with pytest.raises(InputError, match=r"missing 1 required positional argument: 'size'"):
        make_explainer("extra", {})
    assert "  size: an integer, must be given\n" in call("plugins", "extra").stdout


def test_a_validator_of_a_stranger_that_fails_refuses_the_value() -> None:
    from typing import Annotated

    from pydantic import AfterValidator

    def broken(value: int) -> int:
        raise RuntimeError("a bug of the plugin's")

    option = Option("size", Annotated[int, AfterValidator(broken)], 1, "")
    assert read_options({"size": option}, {"size": 2}, "extra", ()) == (
        {},
        ["extra.size must be an integer; got 2. The default is 1."],
    )
    assert option.schema() == {"type": "integer", "default": 1}
    assert read_options({"size": option}, {"size": object}, "extra", ())[0] == {}


def everything() -> list[Any]:
    found = [plugin for group in (plugins.EXPLAINERS, plugins.CHECKS) for plugin in plugins.find(group)]
    return [pytest.param(plugin, id=f"{plugin.short_group}.{plugin.name}") for plugin in found]


@pytest.mark.parametrize("plugin", everything())
def test_every_option_of_ours_has_a_type_a_default_and_a_line(plugin: plugins.Plugin) -> None:
    cls = plugins.load(plugin)
    assert options.summary(cls)
    made = cls()
    for name, option in options_of(cls).items():
        assert option.read(getattr(made, name)) == getattr(made, name) == option.default
        assert option.about or name == "level", f"{plugin}.{name} needs a description in the section Parameters"
        schema = option.schema()
        assert {"type", "anyOf", "enum"} & schema.keys()
        assert ("default" in schema) == (option.default is not None)


def test_plugins_tells_what_one_is_and_takes() -> None:
    text = call("plugins", "pfi").stdout
    assert call("plugins", "explainers.pfi").stdout == text
    lines = text.splitlines()
    assert lines[0] == f"explainers.pfi  (uq_report {uq.__version__})"
    assert lines[1].startswith("  How much a measure rises when one feature")
    assert "  n_repeats: an integer, default 30" in lines
    assert "      Shuffles of each feature; at least 3 for an interval." in lines
    assert max(map(len, lines)) <= 80
    assert "confidence" not in text


def test_plugins_tells_of_every_plugin_of_a_name() -> None:
    heads = [line.split()[0] for line in call("plugins", "calibration").stdout.splitlines() if line[:1].isalpha()]
    assert heads[:2] == ["explainers.calibration", "checks.calibration"]
    only = [line for line in call("plugins", "checks.calibration").stdout.splitlines() if line[:1].isalpha()]
    assert len(only) == 1
    assert "  effect: a number, default 0.02" in call("plugins", "checks.calibration").stdout


def test_plugins_tells_of_measures_and_of_what_cannot_be_used(packages: Packages) -> None:
    def words(name: str) -> list[str]:
        return [" ".join(line.split()) for line in call("plugins", name).stdout.splitlines()]

    facts = ["negative log-likelihood", "unit nats", "role loss", "direction larger is worse", "needs y yes"]
    assert words("measures.nll")[1:] == facts
    assert words("entropy")[-3:] == ["role uncertainty", "direction larger is less certain", "needs y no"]
    assert "direction none" in words("prediction")
    packages.explainer("absent", "import no_such_library")
    assert "Cannot be used:" in call("plugins", "absent").stdout


def test_plugins_names_the_nearest_one() -> None:
    result = call("plugins", "pfii")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "plugins.name must be a registered name; got 'pfii'. Did you mean 'pfi'?" in result.stderr
    assert "List them with: uq-report plugins." in call("plugins", "qqqqqqq").stderr


def test_the_schema_holds_the_options_of_all_that_is_installed(packages: Packages) -> None:
    packages.explainer("extra", explainer("extra"))
    packages.explainer("absent", "import no_such_library")
    schema = json.loads(call("config", "schema").stdout)
    assert schema == files.installed_schema()
    for name, group in (("explainers", plugins.EXPLAINERS), ("checks", plugins.CHECKS)):
        section = schema["properties"][name]
        assert section["additionalProperties"] is False
        assert set(section["properties"]) == {plugin.name for plugin in plugins.find(group)}
    known = schema["properties"]["explainers"]["properties"]
    about = "Shuffles of each feature; at least 3 for an interval."
    assert known["pfi"]["properties"]["n_repeats"] == {"type": "integer", "description": about, "default": 30}
    assert known["extra"]["properties"] == {"n_things": {"type": "integer", "default": 2}}
    assert "cannot be imported" in known["absent"]["description"]
    assert "additionalProperties" not in known["absent"]


@pytest.mark.parametrize(
    ("section", "holds"),
    [
        ("[explainers.pfi]\nn_repeats = 10\nmargin = { nll = 0.1 }", True),
        ("[explainers.pdp]\npairs = [['age', 'income']]\npercentiles = [0, 1]", True),
        ("[checks.policy]\nseverity = 'low'", True),
        ("[explainers.pfi]\nn_repeats = 'ten'", False),
        ("[explainers.pfi]\nmeasures = 'nll'", True),
        ("[explainers.pdp]\npairs = ['age', 'income']", True),
        ("[explainers.pfi]\nmeasures = 3", False),
        ("[run]\nexplainers = 'pfi'", True),
        ("[run]\nexplainers = 3", False),
        ("[explainers.pfi]\nn_repeat = 10", False),
        ("[explainers.pfi]\nconfidence = 0.9", False),
        ("[explainers.pfy]\nn_repeats = 10", False),
        ("[checks.policy]\nseverity = 'worst'", False),
        ("[run]\nconfidence = 0.9", True),
        ("[run]\nconfidence = 1.0", False),
    ],
)
def test_schema_and_reader_agree(section: str, holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="this test holds a file against the schema")
    text = f"[model]\nsource = 'model.skops'\n[data]\nsource = 'test.csv'\ntarget = 'risk'\n{section}\n"
    validator = jsonschema.Draft202012Validator(files.installed_schema())
    assert validator.is_valid(tomllib.loads(text)) == holds
    monkeypatch.chdir(tmp_path)
    audits_made.write(tmp_path)
    Path("audit.toml").write_text(text)
    assert call("config", "check", "audit.toml").exit_code == (0 if holds else 3)


def test_the_example_in_the_guide_is_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="this test holds a file against the schema")
    (text,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    jsonschema.validate(tomllib.loads(text), files.installed_schema())
