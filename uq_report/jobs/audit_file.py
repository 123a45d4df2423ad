"""``audit.toml``: one audit from model and data to report, in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ..core.digest import is_sha256
from ..core.inference import CONFIDENCE
from ..evidence.finding import Severity
from ..runner.mistakes import make_settings
from ..runner.settings import About, Action, Date, Level, Names, Part, Positive, Settings, Text, WaiverSettings, Workers

Direction = Literal["increasing", "decreasing"]
Options = Mapping[str, Mapping[str, Any]]


def _is_hash(text: str) -> str:
    if text and not is_sha256(text.lower()):
        raise ValueError("a SHA-256 as 64 hexadecimal digits")
    return text.lower()


Hash = Annotated[str, AfterValidator(_is_hash)]


class ModelPart(Part):
    """The model: ``model.skops``, ``model.onnx``, ``module:factory``, ``models:/name/1`` or ``runs:/id/model``.

    `trusted` names further types that a .skops file may hold; `sha256` is checked before the file is loaded.
    A model whose predictions are random is refused unless `stochastic` is ``"members"`` (`n_members` calls are read
    as members of a mixture) or ``"seed"`` (its own seed is fixed).
    """

    source: Text
    label: str | None = None
    adapter: str | None = None
    positive_class: str | int | float | bool | None = None
    stochastic: Literal["members", "seed"] | None = None
    n_members: Annotated[int, Field(ge=2)] = 20
    trusted: Names = ()
    allow_pickle: bool = False
    sha256: Hash = ""


class PredictionsPart(Part):
    """Columns of the data that hold what the model said, where the model itself is not at hand.

    One of `probability` (of the positive class), `probabilities` (class to column), or `mean` and `std`.
    """

    label: str | None = None
    positive_class: str | int | float | bool | None = None
    probability: str | None = None
    probabilities: Mapping[str, str] = Field(default_factory=dict)
    mean: str | None = None
    std: str | None = None


class DataPart(Part):
    """The rows to audit and the training rows; `query` is for databases.

    Columns that are neither named here nor under ``[protected]`` are features; `ignore` lists those that are not.
    """

    source: Text
    query: str = ""
    target: str | None = None
    train: str | None = None
    train_query: str = ""
    weights: str | None = None
    clusters: str | None = None
    ignore: Names = ()
    categorical: Names = ()
    groups: Mapping[str, Names] = Field(default_factory=dict)
    max_rows: Positive | None = None
    predictions: PredictionsPart | None = None


class ProtectedPart(Part):
    """Attributes by which performance and uncertainty are told apart: columns of the data.

    The model's own list of features says which of them it uses. Where it has none, all are features, unless
    `used_by_model` is false (none is) or lists those that are.
    """

    attributes: Names = ()
    used_by_model: bool | Names | None = None


class PolicyPart(Part):
    """Thresholds that findings come from, and the severity from which a run ends with exit code 1."""

    rules: Names = ()
    fail_on: Severity | None = None


class RunPart(Part):
    """What is run, and how; `confidence` is the level of every interval of the run."""

    seed: Annotated[int, Field(ge=0)] = 0
    confidence: Level = CONFIDENCE
    jobs: Workers = 1
    backend: Literal["threading", "loky", "dask", "ray"] = "threading"
    explainers: Names | None = None
    rules: Names | None = None
    deny: Names = ()
    require: Names = ()
    as_of: Date | None = None


class BudgetPart(Part):
    """Limits; what they cut is listed as not run. A time limit makes a run that hit it not reproducible."""

    rows: Positive | None = None
    batch_rows: Positive | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    memory_mb: Positive | None = None


class OutputPart(Part):
    """Where the report goes, and in which form; `name` is the audit's name in the history.

    Without a folder it is ``uq-report``, or with a history none but the run's own there. `keep` so many runs there.
    """

    folder: str | None = None
    formats: Names = ("html", "pdf")
    template: str = "audit"
    templates: str | None = None
    annex: str = "short"
    history: str | None = None
    name: str | None = None
    keep: Positive | None = None


class EmailPart(Part):
    """Mail after a run; user and password come from UQ_REPORT_SMTP_USER and UQ_REPORT_SMTP_PASSWORD."""

    host: Text
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: Text
    to: Annotated[Names, Field(min_length=1)]
    attach: bool = True


class HooksPart(Part):
    """What happens after a run, nothing by default; a webhook's secret comes from UQ_REPORT_WEBHOOK_SECRET."""

    when: Literal["always", "findings", "failure"] = "always"
    email: EmailPart | None = None
    webhook: str = ""
    folder: str = ""


class MlflowPart(Part):
    """The tracking store that a run is logged to."""

    tracking_uri: Text
    experiment: str = "uq_report"
    run_id: str = ""


class AuditFile(Part):
    """One audit as written in ``audit.toml``; every key is optional but `model.source` and `data.source`.

    Examples
    --------
    >>> audit = AuditFile.model_validate({"model": {"source": "m.skops"}, "data": {"source": "rows.csv"}})
    >>> audit.run.seed, audit.output.formats
    (0, ('html', 'pdf'))
    """

    model: ModelPart | None = None
    data: DataPart
    protected: ProtectedPart = ProtectedPart()
    expectations: Mapping[str, Direction] = Field(default_factory=dict)
    policy: PolicyPart = PolicyPart()
    explainers: Options = Field(default_factory=dict)
    rules: Options = Field(default_factory=dict)
    run: RunPart = RunPart()
    budget: BudgetPart = BudgetPart()
    about: About = About()
    waivers: tuple[WaiverSettings, ...] = ()
    actions: tuple[Action, ...] = ()
    output: OutputPart = OutputPart()
    hooks: HooksPart = HooksPart()
    mlflow: MlflowPart | None = None

    def settings(self) -> Settings:
        """Return what decides the audit beside its subject."""
        rules = {name: dict(given) for name, given in self.rules.items()}
        for (name, option), (_, given) in self._said_twice().items():
            if given:
                rules.setdefault(name, {})[option] = given
        return make_settings(
            {
                "explainers": self.run.explainers,
                "rules": self.run.rules,
                "options": {**self.explainers, **{f"rules.{name}": given for name, given in rules.items()}},
                "seed": self.run.seed,
                "confidence": self.run.confidence,
                "n_jobs": self.run.jobs,
                "backend": self.run.backend,
                "batch_rows": self.budget.batch_rows,
                "row_budget": self.budget.rows,
                "time_limit": self.budget.seconds,
                "memory_limit_mb": self.budget.memory_mb,
                "as_of": self.run.as_of,
                "deny": self.run.deny,
                "require": self.run.require,
                "about": self.about,
                "waivers": self.waivers,
                "actions": self.actions,
            }
        )

    def mistakes(self) -> list[str]:
        """Return what no single key shows: what is missing, and what is said twice."""
        model, predictions = self.model is not None, self.data.predictions is not None
        found = [] if model or predictions else ["model.source must be given; it is missing."]
        if model and predictions:
            found.append("data.predictions must be left out where model.source is given; got both. Keep one of them.")
        for (name, option), (key, given) in self._said_twice().items():
            if given and option in self.rules.get(name, {}):
                found.append(f"{key} and rules.{name}.{option} must not both be given; got both. Keep one of them.")
        return found

    def _said_twice(self) -> dict[tuple[str, str], tuple[str, Any]]:
        """Return the options of checks that have a section of their own: check and option -> key and value."""
        return {
            ("direction", "monotone"): ("expectations", dict(self.expectations)),
            ("policy", "require"): ("policy.rules", self.policy.rules),
        }


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``audit.toml``; what options a plugin has, only the plugin knows."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **AuditFile.model_json_schema()}
