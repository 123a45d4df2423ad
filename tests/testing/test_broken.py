"""Every check of a contract can fail: a plugin that breaks it is refused, by name and with the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from uq_report import testing
from uq_report.checks.rule import Rule
from uq_report.core.model.adapter import Match
from uq_report.core.model.derivatives import Derivatives
from uq_report.core.model.measures import Measure
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance
from uq_report.core.model.variants import Variant, mixed_rows, variant_rows
from uq_report.core.support.arrays import ColumnLookup, take_rows
from uq_report.distributions import Normal
from uq_report.document import slots
from uq_report.document.document import Facts, Paragraph, Section
from uq_report.evidence import ids
from uq_report.evidence.finding import Outcome
from uq_report.runner import plugins
from uq_report.testing import inputs, methods, pages

X = np.random.default_rng(0).normal(size=(20, 2))
CALLS: list[int] = []


@dataclass(frozen=True)
class Explainer:
    """Counts the rows."""

    top: int = 3

    name: ClassVar[str] = "odd"
    section: ClassVar[str] = slots.IMPORTANCE
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def explain(self, subject: Any, engine: Any, prior: Any) -> list[Diagnostic]:
        return [self.result("odd")]

    def result(self, id: str, value: float = 1.0, **parts: Any) -> Diagnostic:
        frame = pd.DataFrame([("entropy", "", "rows", 0.0, value)], columns=list(Diagnostic.columns))
        estimates = pd.DataFrame([dict.fromkeys(ESTIMATE_COLUMNS, np.nan) | {"measure": "entropy"}])
        return Diagnostic(id=id, explainer="odd", title="Rows", frame=frame, estimates=estimates, **parts)


class Thawed(Explainer):
    __dataclass_params__ = type("Params", (), {"frozen": False})


@dataclass(frozen=True)
class Wordless(Explainer):
    __doc__ = None


@dataclass(frozen=True)
class Loose(Explainer):
    needs: ClassVar[Any] = "pfi"


class Opaque(Explainer):
    def __init__(self) -> None:
        object.__setattr__(self, "top", object())


class Foreign(Explainer):
    def explain(self, *_: Any) -> list[Diagnostic]:
        return [self.result("pfi")]


class Twice(Explainer):
    def explain(self, *_: Any) -> list[Diagnostic]:
        return [self.result("odd"), self.result("odd")]


class Unsaved(Explainer):
    def explain(self, *_: Any) -> list[Diagnostic]:
        return [self.result("odd", meta={"rows": object()})]


class Restless(Explainer):
    def explain(self, *_: Any) -> list[Diagnostic]:
        CALLS.append(1)
        return [self.result("odd", float(len(CALLS)))]


class Random(Explainer):
    def explain(self, *_: Any) -> list[Diagnostic]:
        np.random.random()  # noqa: NPY002 - this is what is wrong with it
        return [self.result("odd")]


class Writer(Explainer):
    def explain(self, subject: Any, *_: Any) -> list[Diagnostic]:
        subject.X.iloc[0, 0] = 9.0
        return [self.result("odd")]


def measure(rows: Any, **parts: Any) -> Measure:
    facts: dict[str, Any] = {"unit": "nats", "role": "loss", "requires": frozenset(), "title": "odd"}
    return Measure(name="odd", rows=rows, **{**facts, **parts})


def directed(direction: str) -> Measure:
    made = measure(lambda dist, *_: dist.mean())
    object.__setattr__(made, "direction", direction)
    return made


class Half:
    """A statistic without influence."""

    def value(self, *_: Any) -> float:
        return 0.0


class Endless(Half):
    def influence(self, rows: Any, *_: Any) -> Any:
        return rows * np.inf


class Adapter:
    name: ClassVar[str] = "odd"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        return Match(0, "mine") if model == "odd model" else None

    def predict(self, model: Any, X: Any) -> Normal:
        return Normal(X[:, 0] ** 2, 1.0)

    def batch_rows(self, model: Any) -> int | None:
        return None


class HalfHook(Adapter):
    only_given_rows: ClassVar[str] = "stored"


class Greedy(Adapter):
    def matches(self, model: Any) -> Match | None:
        return Match(0, "all")


class Few(Adapter):
    def predict(self, model: Any, X: Any) -> Normal:
        return Normal(X[:1, 0], 1.0)


class NoRows(Adapter):
    def batch_rows(self, model: Any) -> int | None:
        return 0


class Centred(Adapter):
    def predict(self, model: Any, X: Any) -> Normal:
        return Normal(X[:, 0] - X[0, 0], 1.0)


class Scribbler(Adapter):
    def predict(self, model: Any, X: Any) -> Normal:
        X[0, 0] = 9.0
        return Normal(X[:, 0], 1.0)


class Sloped(Adapter):
    def derivatives(self, model: Any, X: Any, order: int) -> Derivatives:
        return Derivatives(self.predict(model, X).parameters, np.ones((len(X), 2, 2)))


RULE = Rule(
    code="X1",
    title="There are rows",
    thresholds={"rows": 10},
    when="More than {rows} rows.",
    raised=("rows > rows",),
    grades=("low",),
    rests_on="counting",
)


class Check:
    name: ClassVar[str] = "odd"
    title: ClassVar[str] = "Odd"
    api_version: ClassVar[int] = 1
    rules: Any = (RULE,)

    def check(self, run: Any) -> Outcome:
        if run.find(ids.PFI) is None:
            return Outcome(check="odd", state="not_applicable", reason="no pfi")
        return self.judge()

    def judge(self) -> Outcome:
        return Outcome(check="odd", state="found", findings=(RULE.finding("low", "Rows.", (ids.PFI,)),))


class Nameless(Check):
    title: ClassVar[Any] = None


class Doubled(Check):
    rules = (RULE, RULE)


class Ruleless(Check):
    rules = ()


class Hidden(Check):
    rules = (Rule(code="X1", title="T", thresholds={"rows": 1}, when="Some.", grades=("low",), rests_on="x"),)


class Hasty(Check):
    def check(self, run: Any) -> Outcome:
        return Outcome(check="odd", state="passed")


class Severe(Check):
    def judge(self) -> Outcome:
        return Outcome(check="odd", state="found", findings=(RULE.finding("high", "Rows.", (ids.PFI,)),))


class Stranger(Check):
    def judge(self) -> Outcome:
        return Outcome(check="other", state="passed")


class Moody(Check):
    def judge(self) -> Outcome:
        CALLS.append(1)
        return Outcome(check="odd", state="passed", reason=f"call {len(CALLS)}")


class Part:
    name: ClassVar[str] = "odd"
    slot: ClassVar[str] = slots.IMPORTANCE
    shows: ClassVar[Any] = ("odd",)
    api_version: ClassVar[int] = 1

    def section(self, evidence: Any) -> Any:
        return Section(id="odd", title="Odd", blocks=(Paragraph(text="Words."),))


class Lost(Part):
    slot: ClassVar[str] = "no-chapter.place"


class OneShown(Part):
    shows: ClassVar[Any] = "odd"


class Showless(Part):
    shows: ClassVar[Any] = ()


class Textual(Part):
    def section(self, evidence: Any) -> Any:
        return "words"


class Repeated(Part):
    def section(self, evidence: Any) -> Any:
        inner = Section(id="odd", title="Odd")
        return Section(id="odd", title="Odd", sections=(inner,))


class Framed(Part):
    def section(self, evidence: Any) -> Any:
        return Section(id="odd", title="Odd", blocks=(Facts(rows=(("n", cast("Any", np.float64(1))),)),))


class Blockless(Part):
    def section(self, evidence: Any) -> Any:
        return Section(id="odd", title="Odd", blocks=(cast("Any", "words"),))


class Picture:
    name: ClassVar[str] = Importance.kind
    api_version: ClassVar[int] = 1

    def draw(self, result: Any, **choice: Any) -> Any:
        return "no figure"


class Unread(Picture):
    name: ClassVar[str] = "no.result"


class Handless:
    name: ClassVar[str] = "odd"
    api_version: ClassVar[int] = 1


class Global(Picture):
    def draw(self, result: Any, **choice: Any) -> Any:
        return plt.figure()


class Page:
    name: ClassVar[str] = "odd"
    extension: ClassVar[str] = ".odd"
    api_version: ClassVar[int] = 1

    def render(self, document: Any) -> Any:
        CALLS.append(1)
        return str(len(CALLS)).encode()


class Dotless(Page):
    extension: ClassVar[str] = "odd"


class Worded(Page):
    def render(self, document: Any) -> Any:
        return "words"


class Loader:
    name: ClassVar[str] = "odd"
    kind: ClassVar[str] = "data"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        return source.endswith(".odd")

    def load(self, source: str) -> Any:
        return pd.DataFrame({"a": [1]})


class Kindless(Loader):
    kind: ClassVar[str] = "rows"


class Deaf(Loader):
    options: ClassVar[tuple[str, ...]] = ("query",)


class Hungry(Loader):
    def matches(self, source: str) -> bool:
        return True


class Looker(Loader):
    def matches(self, source: str) -> bool:
        return Path(source).is_file()


class Lister(Loader):
    def load(self, source: str) -> Any:
        return [1]


class Eraser(Loader):
    def load(self, source: str) -> Any:
        Path(source).write_text("")
        return pd.DataFrame({"a": [1]})


class Unhashed(Loader):
    def sha256(self, source: str) -> str:
        return "abc"


class FastPath:
    """Predicts changed rows of one kind of model by making them."""

    name: ClassVar[str] = "odd"
    title: ClassVar[str] = "rows made anew"
    rank: ClassVar[int] = 1
    api_version: ClassVar[int] = 1
    models: ClassVar[tuple[type, ...]] = (testing.KnownLogistic,)

    def shortcut(self, model: Any, adapter: Any, X: Any) -> Any:
        self.model, self.adapter, self.X = model, adapter, X
        return self if isinstance(model, self.models) else None

    def covers(self, variant: Variant) -> bool:
        return True

    def predict(self, group: Any, rows: Any) -> Any:
        table = variant_rows(take_rows(self.X, rows), group, ColumnLookup(self.X))
        return self.adapter.predict(self.model, table)

    def mixer(self, model: Any, adapter: Any, X: Any, rows: int) -> Any:
        return self.shortcut(model, adapter, X)

    def mixed(self, mixes: Any) -> Any:
        return self.adapter.predict(self.model, mixed_rows(self.X, mixes))


class Untitled(FastPath):
    title: ClassVar[str] = " "


class Everywhere(FastPath):
    models: ClassVar[tuple[type, ...]] = (object,)


class Unmoved(FastPath):
    def predict(self, group: Any, rows: Any) -> Any:
        return self.adapter.predict(self.model, take_rows(self.X, np.repeat(rows, len(group))))


class Unmixed(FastPath):
    def mixed(self, mixes: Any) -> Any:
        return super().mixed([replace(mix, own=np.zeros_like(mix.own)) for mix in mixes])


class Writing(FastPath):
    def predict(self, group: Any, rows: Any) -> Any:
        made = super().predict(group, rows)
        self.X.iloc[0, 0] += 1e-12
        return made


CASES: list[tuple[Callable[..., None], Any, str]] = [
    (methods.check_explainer_declares_itself, Handless, "lacks explain, needs, requires, section"),
    (methods.check_explainer_declares_itself, Thawed, "must be frozen"),
    (methods.check_explainer_declares_itself, Wordless, "a card or a docstring"),
    (methods.check_explainer_declares_itself, Loose, r"needs must be tuple\[str, \.\.\.\]; got 'pfi'"),
    (methods.check_explainer_options_are_plain, Opaque, "options that JSON can hold"),
    (methods.check_explainer_results_keep_the_contract, Foreign, "name its results after itself; got 'pfi'"),
    (methods.check_explainer_results_keep_the_contract, Twice, "unique ids"),
    (methods.check_explainer_results_can_be_saved, Unsaved, r"can be saved: odd\.meta"),
    (methods.check_explainer_repeats_itself, Restless, "repeat 'odd' exactly"),
    (methods.check_explainer_leaves_the_subject_alone, Random, "global random state"),
    (methods.check_explainer_leaves_the_subject_alone, Writer, "the subject's rows"),
    (methods.check_measure_declares_itself, measure(lambda dist, *_: dist.mean(), unit=""), "a unit and a title"),
    (methods.check_measure_declares_itself, directed("up"), "a direction; got 'up'"),
    (methods.check_measure_declares_itself, Adapter, "must be a Measure"),
    (methods.check_measure_gives_a_number_per_row, measure(lambda dist, *_: dist.mean()[:3]), "one float per row"),
    (methods.check_measure_gives_a_number_per_row, measure(lambda dist, *_: dist.mean() * np.nan), "NaN"),
    (methods.check_measure_asks_for_what_it_uses, measure(lambda dist, y, _: dist.log_prob(y)), "needs_y=True"),
    (methods.check_measure_asks_for_what_it_uses, measure(lambda d, _, b: d.mean() + b.mean()), "needs_base=True"),
    (methods.check_measure_statistic_sums_up, measure(lambda d, *_: d.mean(), statistic=Half()), "influence"),
    (
        methods.check_measure_statistic_sums_up,
        measure(lambda d, *_: d.mean(), statistic=Endless()),
        "one finite value",
    ),
    (inputs.check_adapter_declares_itself, HalfHook, "lacks take"),
    (inputs.check_adapter_ignores_strangers, Greedy, "must return None"),
    (inputs.check_adapter_predicts_its_model, Few, "one distribution per row"),
    (inputs.check_adapter_predicts_its_model, NoRows, "rows per call"),
    (inputs.check_adapter_predicts_row_by_row, Centred, "each row by itself"),
    (inputs.check_adapter_leaves_rows_alone, Scribbler, "must not change the rows"),
    (inputs.check_adapter_derivatives_hold, Sloped, "first derivatives that agree"),
    (methods.check_check_declares_itself, Nameless, "title must be str; got None"),
    (methods.check_check_declares_itself, Ruleless, "must have rules"),
    (methods.check_check_declares_itself, Doubled, "one rule per code"),
    (methods.check_check_prints_its_thresholds, Hidden, r"thresholds of X1 in its text; missing \['rows'\]"),
    (methods.check_check_judges_nothing_without_evidence, Hasty, "must not judge a run without evidence"),
    (methods.check_check_keeps_within_what_it_prints, Severe, "X1 at worst as low, as its rule is printed; got high"),
    (methods.check_check_keeps_within_what_it_prints, Stranger, "its own Outcome"),
    (methods.check_check_repeats_itself, Moody, "the same run alike"),
    (pages.check_section_declares_itself, Lost, "slot must be in a chapter of the report; got 'no-chapter.place'"),
    (pages.check_section_declares_itself, OneShown, r"shows must be tuple\[str, \.\.\.\]; got 'odd'"),
    (pages.check_section_declares_itself, Showless, "name the results it shows"),
    (pages.check_section_takes_any_run, Textual, "a Section or None; got 'words'"),
    (pages.check_section_ids_are_unique, Repeated, r"an id of its own; got \['odd'\]"),
    (pages.check_section_holds_plain_data, Framed, "text, numbers and bytes only; got a float64"),
    (pages.check_section_holds_plain_data, Blockless, "blocks of the document; got 'words'"),
    (pages.check_figure_declares_itself, Handless, "lacks draw"),
    (pages.check_figure_draws_its_results, Picture, "must return a matplotlib Figure; got 'no figure'"),
    (pages.check_figure_draws_its_results, Unread, "named after the id or the kind"),
    (pages.check_figure_leaves_pyplot_alone, Global, "figures of pyplot"),
    (pages.check_renderer_declares_itself, Dotless, "extension with its dot; got 'odd'"),
    (pages.check_renderer_is_a_pure_function, Worded, "must return bytes"),
    (pages.check_renderer_is_a_pure_function, Page, "the same bytes"),
    (inputs.check_loader_declares_itself, Kindless, r"kind must be Literal\['model', 'data'\]; got 'rows'"),
    (inputs.check_loader_takes_its_options, Deaf, r"its options in load; missing \['query'\]"),
    (inputs.check_loader_ignores_strangers, Hungry, "must return False"),
    (inputs.check_loader_reads_its_source, Looker, "by its spelling alone"),
    (inputs.check_loader_reads_its_source, Lister, "a DataFrame with rows"),
    (inputs.check_loader_reads_its_source, Unhashed, "a SHA-256 or nothing; got 'abc'"),
    (inputs.check_loader_leaves_its_source_alone, Eraser, "must not change its source"),
    (inputs.check_fast_path_declares_itself, Untitled, "must have a title"),
    (inputs.check_fast_path_ignores_strangers, Everywhere, "must return None for a model without"),
    (inputs.check_fast_path_agrees_with_the_model, Unmoved, "then not used: its predictions differ"),
    (inputs.check_fast_path_agrees_with_the_model, Writing, "must not change the rows"),
    (inputs.check_fast_path_mixes_as_the_model, Unmixed, "then not used: its predictions differ"),
]


@pytest.fixture
def source(tmp_path: Path) -> str:
    file = tmp_path / "rows.odd"
    file.write_text("1\n")
    return str(file)


@pytest.mark.parametrize(("check", "plugin", "message"), CASES)
def test_a_broken_plugin_is_refused(check: Callable[..., None], plugin: Any, message: str, source: str) -> None:
    arguments: tuple[Any, ...] = ()
    if check in testing.adapter_model_checks():
        arguments = ("odd model", X.copy())
    elif check in testing.loader_source_checks():
        arguments = (source,)
    elif check in testing.fast_path_model_checks():
        arguments = (testing.logistic_subject(),)
    with pytest.raises(testing.ContractError, match=message):
        check(plugin, *arguments)
    plt.close("all")


def test_every_check_has_a_plugin_that_breaks_it() -> None:
    tuples = [getattr(testing, name)() for name in vars(testing) if name.endswith("_checks")]
    assert {check for checks in tuples for check in checks} == {check for check, _, _ in CASES}
    names = {name for module in (inputs, methods, pages) for name in vars(module) if name.startswith("check_")}
    names.remove("check_checks")
    assert names == {check.__name__ for check, _, _ in CASES}


def test_the_plugins_that_are_broken_on_purpose_are_whole_otherwise(source: str) -> None:
    sound: list[tuple[tuple[Callable[..., None], ...], tuple[Any, ...]]] = [
        (testing.explainer_checks(), (Explainer,)),
        (testing.adapter_checks(), (Adapter,)),
        (testing.adapter_model_checks(), (Adapter, "odd model", X.copy())),
        (testing.check_checks(), (Check,)),
        (testing.section_checks(), (Part,)),
        (testing.loader_checks(), (Loader,)),
        (testing.loader_source_checks(), (Loader, source)),
        (testing.fast_path_checks(), (FastPath,)),
        (testing.fast_path_model_checks(), (FastPath, testing.logistic_subject())),
    ]
    for checks, arguments in sound:
        for one in checks:
            one(*arguments)
    assert plugins.breaches(plugins.RENDERERS, Page) == []
