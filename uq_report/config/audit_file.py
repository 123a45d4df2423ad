"""``audit.toml``: one audit from model and data to report, in one file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ..core.errors import InputError
from ..core.finding import Severity
from .mistakes import make_settings, validated
from .settings import About, Action, Date, Names, Part, Positive, Settings, Text, WaiverSettings, Workers

Direction = Literal["increasing", "decreasing"]
Options = Mapping[str, Mapping[str, Any]]


class ModelPart(Part):
    """The model: ``model.skops``, ``model.onnx``, ``module:factory``, ``models:/name/1`` or ``runs:/id/model``."""

    source: Text
    label: str | None = None
    adapter: str | None = None
    positive_class: str | int | float | bool | None = None
    trusted: Names = ()
    allow_pickle: bool = False
    sha256: str = ""


class PredictionsPart(Part):
    """Columns of the data that hold what the model said, where the model itself is not at hand."""

    probability: str | None = None
    probabilities: Mapping[str, str] = Field(default_factory=dict)
    mean: str | None = None
    std: str | None = None


class DataPart(Part):
    """The rows to audit and the training rows; `query` is for databases."""

    source: Text
    query: str = ""
    target: str | None = None
    train: str | None = None
    train_query: str = ""
    weights: str | None = None
    clusters: str | None = None
    categorical: Names = ()
    groups: Mapping[str, Names] = Field(default_factory=dict)
    max_rows: Positive | None = None
    predictions: PredictionsPart | None = None


class ProtectedPart(Part):
    """Attributes by which performance and uncertainty are told apart: columns of the data."""

    attributes: Names = ()
    used_by_model: bool = True


class PolicyPart(Part):
    """Thresholds that findings come from, and the severity from which a run ends with exit code 1."""

    rules: Names = ()
    fail_on: Severity | None = None


class RunPart(Part):
    """What is run, and how."""

    seed: Annotated[int, Field(ge=0)] = 0
    jobs: Workers = 1
    backend: Literal["threading", "loky", "dask", "ray"] = "threading"
    explainers: Names | None = None
    checks: Names | None = None
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
    """Where the report goes, and in which form; `name` is the audit's name in the history."""

    folder: str = "uq-report"
    formats: Names = ("html", "pdf")
    template: str = "audit"
    templates: str | None = None
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
    """One audit as written in ``audit.toml``; every key is optional but `model.source` and `data.source`."""

    model: ModelPart | None = None
    data: DataPart
    protected: ProtectedPart = ProtectedPart()
    expectations: Mapping[str, Direction] = Field(default_factory=dict)
    policy: PolicyPart = PolicyPart()
    explainers: Options = Field(default_factory=dict)
    checks: Options = Field(default_factory=dict)
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
        checks = {name: dict(given) for name, given in self.checks.items()}
        if self.expectations:
            checks.setdefault("direction", {})["monotone"] = dict(self.expectations)
        if self.policy.rules:
            checks.setdefault("policy", {})["require"] = self.policy.rules
        return make_settings(
            {
                "explainers": self.run.explainers,
                "checks": self.run.checks,
                "options": {**self.explainers, **{f"checks.{name}": given for name, given in checks.items()}},
                "seed": self.run.seed,
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


def read_audit(path: str | Path) -> AuditFile:
    """Return the audit a TOML file describes; places in it are relative to the file.

    Raises
    ------
    InputError
        The file cannot be read or is no TOML (with the line), or has mistakes: all of them, by key.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"audit file must be readable; got {str(path)!r} ({error.strerror}). Check the path."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name} must be TOML in UTF-8; got something else: {error}.") from error
    return _placed(validated(AuditFile, content, file.name), file.resolve().parent)


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``audit.toml``, for editors."""
    return AuditFile.model_json_schema()


def _placed(audit: AuditFile, base: Path) -> AuditFile:
    """Return the audit with every place in it resolved against the folder of its file."""
    data = audit.data.model_copy(
        update={"source": _place(audit.data.source, base), "train": _place(audit.data.train, base)}
    )
    output = audit.output.model_copy(
        update={key: _place(getattr(audit.output, key), base) for key in ("folder", "templates", "history")}
    )
    hooks = audit.hooks.model_copy(update={"folder": _place(audit.hooks.folder, base)})
    model = audit.model and audit.model.model_copy(update={"source": _place(audit.model.source, base)})
    return audit.model_copy(update={"data": data, "output": output, "hooks": hooks, "model": model})


def _place(source: str | None, base: Path) -> str | None:
    """Return a relative file name as seen from `base`; addresses and ``module:factory`` stay."""
    if not source or ":" in source or Path(source).is_absolute():
        return source
    return str(base / source)
