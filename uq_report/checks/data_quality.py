"""Data quality: facts about the data that make results mean less than they seem to, each above a printed threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule, Severity
from ..core.results import Result
from ..core.run import Run
from ..core.text import short
from ._reading import Part, absent, close, listed

GEBRU = "gebru:composition"
SEVERE, LARGE = 0.05, 0.3


@dataclass(frozen=True)
class DataQualityCheck:
    """Reads the counts of ``data_quality``. They are facts about these rows, so there is no test; each has a threshold.

    Copies count only where chance does not explain them (the lines ``distinctive``).

    Parameters
    ----------
    overlap : float
        Share of audited rows that occur among the training rows (UQ701).
    duplicates : float
        Share of audited rows that repeat an earlier one (UQ702).
    placeholder : float
        Share of rows with a number that may stand for a missing value (UQ703).
    missing : float
        Share of rows with a missing value in a column (UQ705).
    rare_class : float
        Share of a class (UQ707).
    """

    overlap: float = 0.01
    duplicates: float = 0.01
    placeholder: float = 0.005
    missing: float = 0.05
    rare_class: float = 0.05

    name: ClassVar[str] = "data_quality"
    title: ClassVar[str] = "Data quality"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        names = ("overlap", "duplicates", "placeholder", "missing", "rare_class")
        rules = tuple((name, 0 <= getattr(self, name) < 1, "a number in [0, 1)") for name in names)
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """One rule a code, with this check's thresholds."""
        return (
            _rule(
                "UQ701",
                "high",
                f"More than {_percent(self.overlap)} of the audited rows occur among the training rows, in copies that "
                f"chance does not explain. High from {_percent(SEVERE)}, else medium.",
            ),
            _rule(
                "UQ702",
                "medium",
                f"More than {_percent(self.duplicates)} of the audited rows repeat an earlier one, in copies that "
                f"chance does not explain nor a cluster. Medium from {_percent(SEVERE)}, else low.",
            ),
            _rule(
                "UQ703",
                "medium",
                f"In more than {_percent(self.placeholder)} of the rows a number stands apart at an end of its column "
                f"and looks like a code (0, -1, ±9, ±99 ...). Medium from {_percent(SEVERE)}, else low.",
            ),
            _rule(
                "UQ704",
                "low",
                "A column is constant or a copy (low), or one value fills nearly all of it (observation).",
            ),
            _rule(
                "UQ705",
                "medium",
                f"More than {_percent(self.missing)} of a column are missing. Medium from {_percent(LARGE)}, else low.",
            ),
            _rule("UQ706", "medium", "A column has another type in the training rows."),
            _rule("UQ707", "observation", f"Fewer than {_percent(self.rare_class)} of the rows belong to a class."),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's facts about the data."""
        result = run.find("data_quality")
        if result is None:
            reason = absent(run, "data_quality")
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        parts = [
            self._overlap(result),
            self._duplicates(result),
            self._placeholders(result),
            _columns(result),
            self._missing(result),
            self._types(result),
            self._classes(result),
        ]
        reasons = {gap.measure: gap.reason for gap in result.omissions}
        return close(
            self.name,
            [
                Part(code=part.code, absent=reasons[NEEDS[part.code]]) if NEEDS.get(part.code) in reasons else part
                for part in parts
            ],
        )

    def _overlap(self, result: Result) -> Part:
        count, share, n = _copies(result, "overlap")
        if share <= self.overlap:
            return Part(code="UQ701", passed=f"{count} of {n} audited rows are copies of training rows.")
        other = _copies(result, "overlap_other_y")[0]
        differs = f" {other} of them have another y there." if other else ""
        return _part(
            "UQ701",
            "high" if share >= SEVERE else "medium",
            f"{count} of {n} audited rows ({_percent(share)}) occur among the training rows, in copies that chance "
            f"does not explain.{differs} The model has seen them, so errors and uncertainty look better than they are.",
            "Take the copies out of the audited rows, or split the data so that copies stay together.",
            (self.overlap, share),
        )

    def _duplicates(self, result: Result) -> Part:
        count, share, n = _copies(result, "duplicate_rows")
        if share <= self.duplicates:
            return Part(code="UQ702", passed=f"{count} of {n} audited rows are copies of others.")
        return _part(
            "UQ702",
            "medium" if share >= SEVERE else "low",
            f"{count} of {n} audited rows ({_percent(share)}) repeat an earlier row, in copies that chance does not "
            "explain. Every interval that takes them as independent is too narrow.",
            "Take the copies out, or name the rows that belong together (clusters).",
            (self.duplicates, share),
        )

    def _placeholders(self, result: Result) -> Part:
        found = [
            _finding(
                "UQ703",
                "medium" if line["estimate"] >= SEVERE else "low",
                f"{short(line['feature'])} is {line['item']} in {line['count']} of {line['n']} rows "
                f"({_percent(line['estimate'])}), apart from its other values. It may stand for a missing value, which "
                "the model then reads as a number.",
                "Ask where the value comes from; if it means missing, say so in the data and train again.",
                (self.placeholder, line["estimate"]),
                (str(line["feature"]),),
            )
            for line in _records(result, "placeholder", self.placeholder)
        ]
        return Part(code="UQ703", findings=tuple(found), passed="No number looks like a code for a missing value.")

    def _missing(self, result: Result) -> Part:
        trained = {line["feature"]: line["estimate"] for line in _records(result, "missing_train")}
        found = []
        for line in _records(result, "missing", self.missing):
            before = (
                f" ({_percent(trained.get(line['feature'], 0.0))} of the training rows)" if _has_train(result) else ""
            )
            found.append(
                _finding(
                    "UQ705",
                    "medium" if line["estimate"] >= LARGE else "low",
                    f"{short(line['feature'])} is missing in {line['count']} of {line['n']} rows "
                    f"({_percent(line['estimate'])}){before}.",
                    "Say why the values are missing, and how the model fills them.",
                    (self.missing, line["estimate"]),
                    (str(line["feature"]),),
                )
            )
        return Part(code="UQ705", findings=tuple(found), passed=f"No column lacks more than {_percent(self.missing)}.")

    def _types(self, result: Result) -> Part:
        found = [
            _finding(
                "UQ706",
                "medium",
                f"{short(line['feature'])} differs in type from the training rows: {line['item']}.",
                "Read both files with the same types; a changed type often hides a changed coding.",
                (0.0, 1.0),
                (str(line["feature"]),),
            )
            for line in _records(result, "type_change")
        ]
        return Part(code="UQ706", findings=tuple(found), passed="Training and audited columns have the same types.")

    def _classes(self, result: Result) -> Part:
        table = result.estimates[result.estimates["measure"] == "class"]
        rare = table[table["estimate"] < self.rare_class]
        if not len(rare):
            passed = f"No class has fewer than {_percent(self.rare_class)} of the rows." if len(table) else ""
            return Part(code="UQ707", passed=passed)
        named = [f"{label} ({count})" for label, count in zip(rare["item"], rare["count"], strict=True)]
        return _part(
            "UQ707",
            "observation",
            f"Rare classes, with their rows of {int(rare['n'].iloc[0])}: {listed(named)}. Means over all rows say "
            "little about them.",
            "Look at these classes by themselves, on more rows.",
            (self.rare_class, float(rare["estimate"].min())),
        )


NEEDS = {"UQ701": "overlap", "UQ706": "type_change", "UQ707": "class"}
TITLES = {
    "UQ701": "Audited rows occur among the training rows",
    "UQ702": "Audited rows occur more than once",
    "UQ703": "A number may stand for a missing value",
    "UQ704": "Columns are constant, copied or nearly empty",
    "UQ705": "Values are missing",
    "UQ706": "Types differ between training and audited rows",
    "UQ707": "A class is rare",
}


def _columns(result: Result) -> Part:
    """Judge constant, copied and sparse columns; one finding for each kind."""
    kinds: tuple[tuple[str, Severity, str], ...] = (
        ("constant", "low", "Constant in all audited rows, so nothing can be said of their worth here"),
        ("copied_column", "low", "Copies of other columns, so importance is split between them"),
        ("sparse", "observation", "Nearly always one value, so a shuffle changes few rows"),
    )
    found = []
    for measure, severity, words in kinds:
        table = _records(result, measure)
        if table:
            of = " of " if measure == "copied_column" else " = "
            named = listed(f"{short(line['feature'])}{of}{line['item']}" for line in table)
            features = tuple(str(line["feature"]) for line in table)
            remedy = "Take the column out of the model, or audit it on rows where it varies."
            found.append(_finding("UQ704", severity, f"{words}: {named}.", remedy, None, features))
    return Part(code="UQ704", findings=tuple(found), passed="No column is constant, copied or nearly empty.")


def _rule(code: str, severity: Severity, when: str) -> Rule:
    return Rule(code=code, title=TITLES[code], severity=severity, when=when, rests_on=GEBRU)


def _part(code: str, severity: Severity, statement: str, remedy: str, values: tuple[float, float]) -> Part:
    return Part(code=code, findings=(_finding(code, severity, statement, remedy, values),))


def _finding(
    code: str,
    severity: Severity,
    statement: str,
    remedy: str,
    values: tuple[float, float] | None,
    features: tuple[str, ...] = (),
) -> Finding:
    """Return a finding; `values` are its threshold and what was observed."""
    return Finding(
        code=code,
        title=TITLES[code],
        severity=severity,
        statement=statement,
        evidence=("data_quality",),
        rests_on=GEBRU,
        remedy=remedy,
        features=features,
        threshold=None if values is None else float(values[0]),
        observed=None if values is None else float(values[1]),
    )


def _records(result: Result, measure: str, above: float = -1.0) -> list[dict[Any, Any]]:
    """Return the lines of one kind of fact whose share is above a threshold."""
    table = result.estimates
    return table[(table["measure"] == measure) & (table["estimate"] > above)].to_dict("records")


def _copies(result: Result, measure: str) -> tuple[int, float, int]:
    """Return how many rows, which share of them, and of how many, are copies that chance does not explain."""
    table: pd.DataFrame = result.estimates
    lines = table[(table["measure"] == measure) & (table["item"] == "distinctive")]
    if not len(lines):
        return 0, 0.0, 0
    return int(lines["count"].iloc[0]), float(lines["estimate"].iloc[0]), int(lines["n"].iloc[0])


def _has_train(result: Result) -> bool:
    return bool(result.meta.get("has_train"))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
