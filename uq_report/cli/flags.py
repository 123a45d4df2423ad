"""Flags of `run` and `init`: each says which key of audit.toml it fills, and is called as the key is."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..evidence.finding import Severity

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


_TYPES = {"text": str, "many": MANY, "bool": bool, "int": int, "float": float, "path": Path, "severity": Severity}
_FILE = Path(__file__).with_suffix(".toml")
FLAGS, CASE_FLAGS = (
    tuple(Flag(**{**flag, "type": _TYPES[flag.get("type", "text")]}) for flag in flags)
    for flags in tomllib.loads(_FILE.read_text(encoding="utf-8")).values()
)
_SET = Flag("", "Any other key of audit.toml; repeat.", MANY, "settings", {"names": ["--set"], "metavar": "KEY=VALUE"})


def flags_of(section: str, *names: str) -> list[Flag]:
    """Return flags that fill keys of a section, by their names."""
    return [flag for flag in FLAGS if flag.key in {f"{section}.{name}" for name in names}]


Formats = Annotated[list[str] | None, typer.Option("--format", help=flags_of("output", "formats")[0].help)]


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
