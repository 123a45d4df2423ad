"""False alarms of every check, on data sets where there is nothing to find.

    python benchmarks/false_alarms.py [--sets 1000] [--theme stability ...]

Each null is stated beside its rate: outcomes drawn from the model's own distribution, test rows distributed
as the training rows, and what the theme needs besides. The model is the truth itself, as arrays. A rate is the share
of data sets with at least one finding that claims something; findings that only say that something cannot be
judged (`CLAIM_NOTHING`) are no alarms. What such a finding says is judged where it says something: the
candidates of UQ501 must include the feature that truly leads. UQ203 is left out, as its forests take minutes and
independent features are far from the R² of 0.9 that it asks for.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.describe import describe
from uq_report.core.model.measures import Measure
from uq_report.core.model.results import Result
from uq_report.core.model.sampling import share_interval
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import UQReportError, cause_of
from uq_report.distributions import Categorical
from uq_report.evidence.information import AgreementView
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.agreement.check import leaders
from uq_report.runner import plugins
from uq_report.runner.provenance import described, measure_facts, options_of
from uq_report.testing import KnownLinear, KnownLogistic, KnownTruth, measures

ALLOWED = 0.05
ROWS = 200
CLAIM_NOTHING = frozenset({"UQ102", "UQ202", "UQ501", "UQ804", "UQ952"})  # UQ202 is true of honest models
GRADED = (1.0, 0.8, 0.6, 0.4, 0.2)
EQUAL = (0.5, 0.5, 0.5, 0.5, 0.5)
NOISE = (0.0, 0.0, 0.0, 0.0, 0.0)
FEATURES = ("x0", "x1", "x2", "x3", "x4")  # the names of columns without names
IDLE = (1.0, 0.5, 0.2, 0.0, 0.0)

Model = KnownLinear | KnownLogistic
Options = Mapping[str, Mapping[str, Any]]
Alarm = Callable[[Run], bool]


def claims(run: Run) -> bool:
    """Say whether the check claims that something is wrong."""
    return any(finding.code not in CLAIM_NOTHING for finding in run.findings)


def leaves_out_the_leader(*true_leaders: str) -> Alarm:
    """Return whether a ranking excludes a feature that truly leads it, as the candidates of UQ501 must not."""

    def alarm(run: Run) -> bool:
        found = leaders(AgreementView.from_result(run.result(AgreementView.id)), run)
        return any(not set(true_leaders) <= set(one.candidates) for one in found)

    return alarm


def raises(code: str) -> Alarm:
    """Return whether the check raises this code; another of its codes may be true of the null."""
    return lambda run: any(finding.code == code for finding in run.findings)


@dataclass(frozen=True)
class Null:
    """Data sets of one kind, with nothing to find in them for the check `theme`."""

    theme: str
    null: str
    model: Model
    explainers: Options
    options: Mapping[str, Any] = field(default_factory=dict)
    train: bool = False
    protected: bool = False
    follows: bool = False  # groups follow x0, so their base rates differ
    alarm: Alarm = claims
    counted: str = "any claim"

    @property
    def name(self) -> str:
        """Theme and null."""
        return f"{self.theme}: {self.null}"


PFI: Options = {"pfi": {"measures": ("nll",), "n_repeats": 10, "train": False}}
RANKS: Options = {**PFI, "agreement": {"n_draws": 500}}
METHODS: Options = {
    "pfi": {"measures": ("nll",), "n_repeats": 10, "train": False},
    "shap": {"measures": ("prediction", "nll")},
    "rsens": {"interactions": False},
    "agreement": {"n_draws": 500},
}
FIT: Options = {"calibration": {"n_draws": 199}}
PAIR: Options = {"pfi": {"measures": ("nll", "entropy"), "n_repeats": 10, "train": False}}
# two features of a null without dependence may still be named partners; UQ201 must not be raised for that
COVERED: Options = {
    **PAIR,
    "cid": {"penalty": 0.1},
    "cover": {"n_repeats": 5},
}  # a given penalty, as cross-validation takes most of the time
CURVES: Options = {"ale": {"measures": ("prediction", "entropy")}, "pdp": {"measures": ("prediction", "entropy")}}
GROUPED: Options = {"groups": {}}
OUTCOMES = "y drawn from q; independent features"

NULLS: tuple[Null, ...] = (
    Null("calibration", f"{OUTCOMES}, normal with scale exp(0.3 x0)", KnownLinear(GRADED, (0.3, *NOISE[1:])), FIT),
    Null("calibration", f"{OUTCOMES}, two classes", KnownLogistic(GRADED), FIT),
    Null("stability", f"{OUTCOMES} of different importance", KnownLinear(GRADED, NOISE), RANKS),
    Null("stability", f"{OUTCOMES}, all equally important", KnownLinear(EQUAL, NOISE), RANKS),
    Null(
        "stability",
        f"{OUTCOMES} of different importance: x0 leads",
        KnownLinear(GRADED, NOISE),
        RANKS,
        alarm=leaves_out_the_leader("x0"),
        counted="UQ501 leaves the leader out",
    ),
    Null(
        "stability",
        f"{OUTCOMES}, all equally important: all lead",
        KnownLinear(EQUAL, NOISE),
        RANKS,
        alarm=leaves_out_the_leader(*FEATURES),
        counted="UQ501 leaves a leader out",
    ),
    Null("disagreement", f"{OUTCOMES} of different importance, additive", KnownLinear(GRADED, NOISE), METHODS),
    Null("disagreement", f"{OUTCOMES}, all equally important, additive", KnownLinear(EQUAL, NOISE), METHODS),
    Null(
        "policy",
        "y drawn from q: the true coverage is the threshold, 'coverage 90 >= 0.9'",
        KnownLinear(GRADED, NOISE),
        FIT,
        {"require": ("coverage 90 >= 0.9",)},
    ),
    Null(
        "policy",
        "y drawn from q: the true gap is the threshold, 'confidence_gap <= 0'",
        KnownLinear(GRADED, NOISE),
        FIT,
        {"require": ("confidence_gap <= 0",)},
    ),
    Null(
        "policy",
        f"{OUTCOMES}, all equally important, 'x0 not in top 2 of nll'",
        KnownLinear(EQUAL, NOISE),
        RANKS,
        {"require": ("x0 not in top 2 of nll",)},
    ),
    Null("dependence", f"{OUTCOMES}, two classes", KnownLogistic(GRADED), COVERED),
    Null(
        "dependence",
        f"{OUTCOMES}, two of them unused, normal",
        KnownLinear(IDLE, (0.3, *NOISE[1:])),
        COVERED,
    ),
    Null("extrapolation", f"{OUTCOMES}, two classes", KnownLogistic(GRADED), {**PAIR, **CURVES}),
    Null(
        "extrapolation",
        f"{OUTCOMES}, two of them unused, normal with scale exp(0.3 x0)",
        KnownLinear(IDLE, (0.3, *NOISE[1:])),
        {**PAIR, **CURVES},
    ),
    Null(
        "support",
        "test rows distributed as train; independent features",
        KnownLinear(GRADED, NOISE),
        {"support": {}},
        train=True,
    ),
    Null(
        "support",
        "test rows distributed as train; independent features, no copies",
        KnownLinear(GRADED, NOISE),
        {"support": {}},
        train=True,
        alarm=raises("UQ305"),
        counted="UQ305",
    ),
    Null("segments", f"{OUTCOMES}, normal", KnownLinear(GRADED, NOISE), {"segments": {}}),
    Null(
        "segments",
        f"{OUTCOMES}, normal with scale exp(0.3 x0): doubt does differ between rows",
        KnownLinear(GRADED, (0.3, *NOISE[1:])),
        {"segments": {}},
        alarm=raises("UQ121"),
        counted="UQ121",
    ),
    Null(
        "segments",
        f"{OUTCOMES}, two classes: doubt does differ between rows",
        KnownLogistic(GRADED),
        {"segments": {}},
        alarm=raises("UQ121"),
        counted="UQ121",
    ),
    Null(
        "selective", f"{OUTCOMES}, two classes: uncertainty orders the errors", KnownLogistic(GRADED), {"selective": {}}
    ),
    Null(
        "selective",
        f"{OUTCOMES}, normal with scale exp(0.3 x0): errors do differ between rows",
        KnownLinear(GRADED, (0.3, *NOISE[1:])),
        {"selective": {}},
    ),
    Null(
        "segments",
        f"{OUTCOMES}, normal with scale exp(0.3 x0): predictions are right on average everywhere",
        KnownLinear(GRADED, (0.3, *NOISE[1:])),
        {"segments": {}},
        alarm=raises("UQ123"),
        counted="UQ123",
    ),
    Null(
        "segments",
        f"{OUTCOMES}, two classes: predictions are right on average everywhere",
        KnownLogistic(GRADED),
        {"segments": {}},
        alarm=raises("UQ123"),
        counted="UQ123",
    ),
    Null("single_feature", f"{OUTCOMES}; two classes", KnownLogistic((1.0, *NOISE[1:])), {**FIT, **COVERED}),
    Null(
        "shift",
        "test rows distributed as train; independent features",
        KnownLinear(GRADED, NOISE),
        {"support": {}},
        train=True,
    ),
    Null("leak", f"{OUTCOMES}; two classes", KnownLogistic(GRADED), COVERED),
    Null("performance", f"{OUTCOMES}; features that matter, two classes", KnownLogistic(GRADED), FIT),
    Null("performance", f"{OUTCOMES}; features that matter, normal", KnownLinear(GRADED, NOISE), FIT),
    Null("claims", f"{OUTCOMES}; two classes", KnownLogistic(IDLE), {"pfi": {"n_repeats": 10, "train": False}}),
    Null("claims", f"{OUTCOMES}; normal", KnownLinear(IDLE, NOISE), {"pfi": {"n_repeats": 10, "train": False}}),
    Null(
        "direction",
        f"{OUTCOMES}, two classes; all directions as stated",
        KnownLogistic(GRADED),
        {"ale": {"measures": ("prediction",)}, "pdp": {"measures": ("prediction",)}},
        {"monotone": dict.fromkeys(FEATURES, "increasing")},
    ),
    Null(
        "data_quality",
        "continuous features without copies, codes or gaps; test rows distributed as train",
        KnownLinear(GRADED, NOISE),
        {"data_quality": {}},
        train=True,
    ),
    Null(
        "groups",
        f"{OUTCOMES}; two groups independent of everything, normal",
        KnownLinear(GRADED, (0.3, *NOISE[1:])),
        GROUPED,
        protected=True,
    ),
    Null(
        "groups",
        f"{OUTCOMES}; two groups independent of everything, two classes",
        KnownLogistic(GRADED),
        GROUPED,
        protected=True,
    ),
    Null(
        "groups",
        f"{OUTCOMES}; groups of different base rates, two classes",
        KnownLogistic(GRADED),
        GROUPED,
        follows=True,
        alarm=raises("UQ802"),
        counted="UQ802",
    ),
)


@cache
def plugin(group: str, name: str) -> Any:
    """Return a registered class."""
    return plugins.load(plugins.named(plugins.find(f"uq_report.{group}"), name, name))


@cache
def known_measures() -> Mapping[str, Measure]:
    """Return every registered measure, loaded once."""
    return measures()


def draw(null: Null, rng: np.random.Generator) -> Subject:
    """Return a new data set: independent standard normal features and outcomes of the model itself."""

    def rows() -> tuple[FloatArray, Any]:
        X = rng.normal(size=(ROWS, len(null.model.coefficients)))
        q = null.model.distribution(X)
        y = q.sample(rng, 1)[0]
        return X, np.array(q.classes)[y] if isinstance(q, Categorical) else y

    train = rows() if null.train else None
    test = rows()
    protected = {"group": rng.choice(["a", "b"], ROWS)} if null.protected else None
    if null.follows:
        protected = {"group": np.where(test[0][:, 0] + rng.normal(size=ROWS) > 1, "a", "b")}
    return make_subject(null.model, KnownTruth(), *test, train=train, protected=protected)


def audited(null: Null, number: int) -> Run:
    """Return data set `number` audited: the results of the null's explainers, and the outcome of its check."""
    subject = draw(null, np.random.default_rng([zlib.crc32(null.name.encode()), number]))
    engine = Engine(subject, known_measures(), seed=number)
    facts = measure_facts(known_measures().values(), engine.baseline)
    prior: dict[str, tuple[Result, ...]] = {}
    not_run = []
    for name, options in null.explainers.items():
        try:
            explainer = plugin("explainers", name)(**options)
            results = explainer.explain(subject, engine.bound(name), prior)
            prior[name] = tuple(described(result, facts, options_of(explainer)) for result in results)
        except UQReportError as error:  # as in an audit: the check does without it
            not_run.append(NotRun(name, "explainers", str(error), cause_of(error)))
    run = Run(
        as_of="2026-11-21",
        subject=describe(subject, engine.baseline),
        settings={},
        environment={},
        results=tuple(result for results in prior.values() for result in results),
        not_run=tuple(not_run),
    )
    return replace(run, outcomes=(plugin("checks", null.theme)(**null.options).check(run),))


def alarms(null: Null, sets: int) -> int:
    """Return in how many of the data sets the check raises a false alarm."""
    return sum(null.alarm(audited(null, number)) for number in range(sets))


def line(null: Null, sets: int) -> dict[str, Any]:
    """Return one line of the table."""
    count = alarms(null, sets)
    low, high = share_interval(count / sets, sets, 0.95)
    return {
        "theme": null.theme,
        "null": null.null,
        "counted": null.counted,
        "sets": sets,
        "alarms": count,
        "rate": f"{count / sets:.1%}",
        "95% CI": f"{low:.1%} to {high:.1%}",
        f"reaches {ALLOWED:.0%} or less": "yes" if low <= ALLOWED else "NO",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--theme", nargs="*", help="checks to study; all by default")
    options = parser.parse_args()
    chosen = [null for null in NULLS if not options.theme or null.theme in options.theme]
    lines = []
    for null in chosen:
        lines.append(line(null, options.sets))
        print(lines[-1], flush=True)
    table = pd.DataFrame(lines)
    print("| " + " | ".join(table.columns) + " |")
    print("|" + " --- |" * len(table.columns))
    for row in table.itertuples(index=False):
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
