"""Flags of `run` and `init`: each says which key of audit.toml it fills, and is called as the key is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..evidence.finding import Severity
from .shared import FORMATS

MANY = list[str]
PANELS = {
    "model": "Model", "data": "Data", "run": "Audit", "budget": "Limits", "policy": "Gate", "about": "Report",
    "output": "Report", "mlflow": "MLflow", "": "Other",
}  # fmt: skip
LISTED = ("run.explainers", "run.deny", "run.require", "output.formats")  # names have no commas, so a list may


class FlagKey(str):
    """The key of audit.toml that a flag fills; it stands in the flag's annotation."""

    __slots__ = ()


class Flag(NamedTuple):
    """A flag that fills a key of audit.toml.

    Parameters
    ----------
    key : str
    help : str
    type : type
        Of its value; a list for a flag that can be repeated.
    word : str, optional
        Its word where that is not the last one of the key: a section's flag fills the section's main key.
    more : mapping, optional
        Further arguments of `typer.Option`; ``names`` are those of the flag.
    """

    key: str
    help: str
    type: Any = str
    word: str = ""
    more: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """The name of the command's parameter."""
        return self.word or self.key.rpartition(".")[2]

    def parameter(self, *, required: bool) -> Parameter:
        """Return the flag as a parameter that Typer reads."""
        more = {"rich_help_panel": PANELS[self.key.partition(".")[0]], **self.more}
        names = [f"--{self.name.replace('_', '-')}"] if self.type is bool else []  # without it there is a --no-... too
        option = typer.Option(*more.pop("names", names), help=self.help, **more)
        annotation: Any = Annotated[self.type if required else self.type | None, FlagKey(self.key), option]
        default = Parameter.empty if required else None
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


FLAGS = (
    Flag("model.source", "model.skops, model.onnx, models:/name/1, or module:factory (runs that code).", word="model"),
    Flag("data.source", "File or database URL with the rows to audit.", word="data"),
    Flag("data.target", "Column with y; without it only uncertainty is explained."),
    Flag("data.event", "Column that says whether the event was seen: the target is then a time that may be censored."),
    Flag("data.output", "The one of several columns in data.target to audit.", word="target_output"),
    Flag("data.train", "File or database URL with the training rows."),
    Flag("data.query", "SELECT of the rows, where the data is a database."),
    Flag("data.train_query", "SELECT of the training rows."),
    Flag("data.protected", "Column with a protected attribute; repeat.", MANY),
    Flag("data.ignore", "Column that is no feature; repeat.", MANY),
    Flag("data.categorical", "Numeric column that is a code; repeat.", MANY),
    Flag("data.sample_weight", "Column with sample weights."),
    Flag("data.clusters", "Column with labels of dependent rows."),
    Flag("data.time", "Column with times: rows depend on each other in their order."),
    Flag("data.block_size", "Successive rows of a block, with --time.", int, more={"min": 1}),
    Flag("data.residuals", "What is laid over point predictions: normal, empirical, conformal or oob."),
    Flag("data.max_rows", "Audit at most so many rows, drawn at random.", int, more={"min": 1}),
    Flag("model.trusted", "Further type a .skops file may hold; repeat.", MANY),
    Flag("model.allow_pickle", "Load a pickle, which runs any code it holds.", bool),
    Flag("model.sha256", "Hash the model file must have, before it is loaded."),
    Flag("model.label", "Name of the model in the report."),
    Flag("model.adapter", "How predictions are read, if not by the closest match."),
    Flag("model.positive_class", "Class whose probability is the prediction."),
    Flag("run.explainers", "Explainers to run, with commas between them. Default: all.", MANY),
    Flag("run.benchmark", "Simple model to compare with: logistic, ridge, poisson, constant, or a model file."),
    Flag("run.seed", "Seed of every random stream. Default: 0.", int, more={"min": 0}),
    Flag("run.confidence", "Level of every interval. Default: 0.95.", float),
    Flag("run.n_jobs", "Workers; they change no number. Default: 1.", int),
    Flag("run.backend", "What workers are: auto, threading, loky (processes), dask or ray. Default: auto."),
    Flag("run.scheduler", "Address of a dask scheduler, whose workers are used."),
    Flag(
        "run.fast_paths",
        "Predict changed rows by the model's structure where that agrees with the model. Default: yes.",
        bool,
        more={"names": ["--fast-paths/--no-fast-paths"]},
    ),
    Flag("run.as_of", "The report's date, YYYY-MM-DD."),
    Flag("run.deny", "Plugin or distribution not to import; repeat.", MANY),
    Flag("run.require", "Plugin that must be there; one that fails ends in exit code 1; repeat.", MANY),
    Flag("budget.time_limit", "Seconds; what they cut is listed as not run.", float),
    Flag("budget.cpu_time", "Seconds of the processor; what they cut is listed as not run.", float),
    Flag("budget.memory_limit_mb", "Megabytes; what they cut is listed as not run.", int),
    Flag("policy.fail_on", "Exit code 1 if an open finding is so severe, or worse.", Severity),
    Flag("about.title", "Title of the report."),
    Flag("about.author", "Who made the audit; shown as open if not given."),
    Flag("about.purpose", "What the model is for; shown as open if not given."),
    Flag(
        "output.folder",
        "Folder for the report. Default: uq-report, or none with --history.",
        Path,
        word="output",
        more={"names": ["--output", "-o"]},
    ),
    Flag("output.history", "Folder of filed runs, see `history`.", Path),
    Flag("output.name", "Name of the audit in the history. Default: the label."),
    Flag("output.formats", FORMATS, MANY, more={"names": ["--format"]}),
    Flag("output.template", "audit, brief (two pages) or model-card. Default: audit."),
    Flag("output.templates", "Folder of a theme, see templates/README.md.", Path),
    Flag(
        "output.appendix",
        "What follows an audit's sign-off: none, short, or full (every method's tables and figures). Default: short.",
    ),
    Flag("output.pdf_cpu_seconds", "Processor seconds that printing a PDF may take. Default: 300.", float),
    Flag("output.pdf_memory_mb", "Megabytes that printing a PDF may take. Default: 2048.", int, more={"min": 1}),
    Flag(
        "output.template_cpu_seconds", "Processor seconds that the templates of a theme may take. Default: 60.", float
    ),
    Flag(
        "output.template_memory_mb",
        "Megabytes that the templates of a theme may take. Default: 2048.",
        int,
        more={"min": 1},
    ),
    Flag("mlflow.tracking_uri", "Tracking store of MLflow to log to.", word="mlflow", more={"metavar": "URI"}),
    Flag("mlflow.experiment", "Experiment in MLflow. Default: uq_report."),
)
_SET = Flag("", "Any other key of audit.toml; repeat.", MANY, "settings", {"names": ["--set"], "metavar": "KEY=VALUE"})


def flags_of(section: str, *names: str) -> list[Flag]:
    """Return flags that fill keys of a section, by their names."""
    return [flag for flag in FLAGS if flag.key in {f"{section}.{name}" for name in names}]


def fills(
    flags: Sequence[Flag], required: Sequence[str] = (), *, others: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command flags; their values reach it as `changes`, its first argument.

    Parameters
    ----------
    flags : sequence of Flag
    required : sequence of str
        The flags that must be there.
    others : bool
        Whether ``--set`` fills other keys.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**values: Any) -> None:
            changes = _pairs(values.pop(_SET.name, None))
            for flag in flags:
                value = values.pop(flag.name)
                if value is not None and value != []:
                    listed = flag.key in LISTED
                    changes[flag.key] = [one for text in value for one in text.split(",")] if listed else value
            command(**values, changes=changes)

        _, *own = signature(command, eval_str=True).parameters.values()
        every = (*flags, _SET) if others else flags
        options = [flag.parameter(required=flag.name in required) for flag in every]
        parameters = [*options, *(parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own)]
        vars(called)["__signature__"] = Signature(parameters)  # what Typer reads
        return called

    return decorate


def _pairs(texts: Iterable[str] | None) -> dict[str, Any]:
    """Return what ``--set KEY=VALUE`` gives."""
    if not texts:
        return {}
    from ..jobs.reading import toml_value

    changes = {}
    for pair in texts:
        key, sign, text = pair.partition("=")
        if not (sign and key.strip()):
            raise typer.BadParameter(f"--set must be KEY=VALUE, such as run.seed=1; got {pair!r}")
        changes[key.strip()] = toml_value(text.strip())
    return changes
