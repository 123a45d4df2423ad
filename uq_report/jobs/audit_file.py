"""``audit.toml``: one audit from model and data to report, in one file."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from ..core.support.errors import UQReportError
from ..core.support.text import is_sha256
from ..core.traits.stochastic import MEMBERS, Stochastic
from ..core.validation.residuals import Scale, Shorthand
from ..evidence.finding import Severity
from ..runner import plugins
from ..runner.options import options_of, summary
from ..runner.settings import (
    About,
    Action,
    BudgetSettings,
    Names,
    Positive,
    RunSettings,
    Settings,
    SettingsPart,
    Text,
    WaiverSettings,
    must,
)

Direction = Literal["increasing", "decreasing"]
Options = Mapping[str, Mapping[str, Any]]


def _is_hash(text: str) -> str:
    if text and not is_sha256(text.lower()):
        raise ValueError("a SHA-256 as 64 hexadecimal digits")
    return text.lower()


Hash = Annotated[str, AfterValidator(_is_hash)]


def _source_or_command(schema: dict[str, Any]) -> None:
    """Ask for one of both in a JSON Schema."""
    schema.pop("required", None)
    schema["anyOf"] = [{"required": ["source"]}, {"required": ["command"]}]


class ModelPart(SettingsPart):
    """The model: ``model.skops``, ``model.onnx``, ``module:factory``, ``models:/name/1`` or ``runs:/id/model``.

    In place of `source`, `command` names a program in any language, which it runs: ``"Rscript predict.R {rows}
    {predictions}"`` reads observations from the first file and writes predictions to the second.
    `trusted` names further types that a .skops file may hold; `sha256` is checked before the file is loaded.
    A model whose predictions are random is refused unless `stochastic` is ``"members"`` (`n_members` calls are read
    as members of a mixture) or ``"seed"`` (its own seed is fixed).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_source_or_command)

    source: Text
    command: Text | None = None
    label: str | None = None
    adapter: str | None = None
    positive_class: str | int | float | bool | None = None
    stochastic: Stochastic | None = None
    n_members: Annotated[int, Field(ge=2)] = MEMBERS
    trusted: Names = ()
    allow_pickle: bool = False
    sha256: Hash = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, content: Any) -> Any:
        """Return the part with its command as the source."""
        if isinstance(content, dict) and isinstance(content.get("command"), str) and not content.get("source"):
            return {**content, "source": f"command:{content['command']}"}
        return content


class PredictionsPart(SettingsPart):
    """Columns of the data that hold what the model said, where the model itself is not at hand.

    One of `probability` (of the positive class), `probabilities` (class to column), or `mean` and `std`.
    """

    label: str | None = None
    positive_class: str | int | float | bool | None = None
    probability: str | None = None
    probabilities: Mapping[str, str] = Field(default_factory=dict)
    mean: str | None = None
    std: str | None = None


def _unlisted(value: Any) -> Any:
    """Return the only name of a list as itself."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


Target = Annotated[str | Names, BeforeValidator(_unlisted)]


class DataPart(SettingsPart):
    """The rows to audit and the training rows; `query` is for databases.

    `target` is the column of y; of a model that predicts several outputs the list of theirs, of which `output` is
    audited.
    Columns that are not named here are features; `ignore` lists those that are not. By `protected` attributes
    performance and uncertainty are distinguished. Rows depend on each other within `clusters`, or in order of `time`,
    in blocks of `block_size` rows. With an `event` column the target is a time that may be censored. The
    model's own list of features says which of them it uses; where it has none, all are features, or those in
    `protected_features`. `residuals` names the assumption that is laid over predictions that come without an
    uncertainty, `residual_scale` whether its spread depends on the row.
    """

    source: Text
    query: str = ""
    target: Target | None = None
    event: str | None = None
    output: str | None = None
    train: str | None = None
    train_query: str = ""
    sample_weight: str | None = None
    clusters: str | None = None
    time: str | None = None
    block_size: Positive | None = None
    protected: Names = ()
    protected_features: Names | None = None
    ignore: Names = ()
    categorical: Names = ()
    groups: Mapping[str, Names] = Field(default_factory=dict)
    max_rows: Positive | None = None
    residuals: Shorthand | None = None
    residual_scale: Scale | None = None
    predictions: PredictionsPart | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns of y: one, those of several outputs, or none."""
        return (self.target,) if isinstance(self.target, str) else self.target or ()


class PolicyPart(SettingsPart):
    """Thresholds that findings come from, and the severity from which a run ends with exit code 1."""

    rules: Names = ()
    fail_on: Severity | None = None


class OutputPart(SettingsPart):
    """Where the report goes, and in which form; `name` is the audit's name in the history.

    Without a folder it is ``uq-report``, or with a history none but the run's own there. `keep` so many runs there.
    Printing a PDF may take `pdf_cpu_seconds` of processor time and `pdf_memory_mb`,
    filling the templates of a theme `template_cpu_seconds` and `template_memory_mb`.
    """

    folder: str | None = None
    formats: Names = ("html", "pdf")
    template: str = "audit"
    templates: str | None = None
    appendix: str = "short"
    pdf_cpu_seconds: Annotated[float, Field(gt=0)] | None = None
    pdf_memory_mb: Positive | None = None
    template_cpu_seconds: Annotated[float, Field(gt=0)] | None = None
    template_memory_mb: Positive | None = None
    history: str | None = None
    name: str | None = None
    keep: Positive | None = None


class EmailPart(SettingsPart):
    """Mail after a run; user and password come from UQ_REPORT_SMTP_USER and UQ_REPORT_SMTP_PASSWORD.

    With a history, ``findings`` and ``failure`` are mailed when they change, and once when they are over. `link` is
    the address under which the history is served, or without one the folder of the report.
    """

    when: Literal["always", "findings", "failure"] = "always"
    host: Text
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: Text
    to: Annotated[Names, AfterValidator(must(bool, "one address or more"))]
    attach: bool = True
    link: Text | None = None


class MlflowPart(SettingsPart):
    """The tracking store that a run is logged to; one that does not answer is given up after `timeout` seconds."""

    tracking_uri: Text
    experiment: str = "uq_report"
    run_id: str = ""
    timeout: Annotated[float, Field(gt=0)] = 120.0


class AuditFile(SettingsPart):
    """One audit as written in ``audit.toml``; every key is optional but `model.source` and `data.source`.

    Examples
    --------
    >>> audit = AuditFile.model_validate({"model": {"source": "m.skops"}, "data": {"source": "rows.csv"}})
    >>> audit.run.seed, audit.output.formats
    (0, ('html', 'pdf'))
    """

    model: ModelPart | None = None
    data: DataPart
    expectations: Mapping[str, Direction] = Field(default_factory=dict)
    policy: PolicyPart = PolicyPart()
    explainers: Options = Field(default_factory=dict)
    checks: Options = Field(default_factory=dict)
    run: RunSettings = Field(default_factory=RunSettings)
    budget: BudgetSettings = BudgetSettings()
    about: About = About()
    waivers: tuple[WaiverSettings, ...] = ()
    actions: tuple[Action, ...] = ()
    output: OutputPart = OutputPart()
    email: EmailPart | None = None
    mlflow: MlflowPart | None = None

    @property
    def name(self) -> str | None:
        """The audit's name in the history, as far as the file says it: its own, or the label."""
        part = self.model or self.data.predictions
        return self.output.name or (None if part is None else part.label)

    def settings(self) -> Settings:
        """Return what decides the audit beside its subject."""
        rules = {name: dict(options) for name, options in self.checks.items()}
        for name, option, _, value in self._sections():
            rules.setdefault(name, {})[option] = value
        return Settings(
            **dict(self.run),
            **dict(self.budget),
            options={**self.explainers, **{f"checks.{name}": options for name, options in rules.items()}},
            about=self.about,
            waivers=self.waivers,
            actions=self.actions,
        )

    def mistakes(self) -> list[str]:
        """Return what no single key shows: what is missing, and what is written twice."""
        model, predictions = self.model is not None, self.data.predictions is not None
        mistakes = [] if model or predictions else ["model.source must be given; it is missing."]
        if self.model is not None and self.model.command and self.model.source != f"command:{self.model.command}":
            mistakes.append("model.source must be left out where model.command is given; got both. Keep one of them.")
        if self.data.output is not None and self.data.output not in self.data.targets:
            got = f"{self.data.output!r} and {list(self.data.targets)}"
            mistakes.append(f"data.output must be one of data.target; got {got}. List all outputs there.")
        if predictions and len(self.data.targets) > 1:
            mistakes.append(f"data.target must be one column with data.predictions; got {list(self.data.targets)}.")
        if model and predictions:
            mistakes.append(
                "data.predictions must be left out where model.source is given; got both. Keep one of them."
            )
        if self.data.residual_scale is not None and self.data.residuals is None:
            mistakes.append("data.residuals must be given where data.residual_scale is; it is missing.")
        return mistakes + [
            f"{key} and checks.{name}.{option} must not both be given; got both. Keep one of them."
            for name, option, key, _ in self._sections()
            if option in self.checks.get(name, {})
        ]

    def _sections(self) -> Iterator[tuple[str, str, str, Any]]:
        """Yield the options of checks that a section of their own gives: check, option, key and value."""
        if self.expectations:
            yield "direction", "monotone", "expectations", dict(self.expectations)
        if self.policy.rules:
            yield "policy", "require", "policy.rules", self.policy.rules


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``audit.toml``; what options a plugin has, only the plugin knows."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **AuditFile.model_json_schema()}


def installed_schema() -> dict[str, Any]:
    """Return the schema of an ``audit.toml`` as it can be read on this machine, for editors.

    A name that no plugin has, and an option that a plugin has not, are mistakes in the file, and so in the schema.
    """
    schema = audit_schema()
    for name, group in (("explainers", plugins.EXPLAINERS), ("checks", plugins.CHECKS)):
        options = {plugin.name: _plugin_options(plugin) for plugin in plugins.find(group)}
        section = schema["properties"][name]
        schema["properties"][name] = {**section, "properties": options, "additionalProperties": False}
    return schema


def _plugin_options(plugin: plugins.Plugin) -> dict[str, Any]:
    """Return the table of one plugin's options; of a plugin that cannot be imported any are taken, as by the reader."""
    try:
        cls = plugins.load(plugin)
    except UQReportError as error:
        return {"type": "object", "description": str(error)}
    return {
        "type": "object",
        "description": summary(cls),
        "properties": {name: option.schema() for name, option in options_of(cls).items()},
        "additionalProperties": False,
    }
