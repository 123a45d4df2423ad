"""The replication document: sections of the package's own document model, printed by its renderers."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from uq_report.core.statistics.score_intervals import wilson
from uq_report.document.blocks import make_section, make_table, paragraphs
from uq_report.document.document import (
    Attachment,
    Badge,
    Block,
    Card,
    Cards,
    Column,
    Document,
    Facts,
    Figure,
    Section,
    Tone,
)
from uq_report.render.html import HtmlRenderer
from uq_report.render.pdf import PdfRenderer

from .claims import SOURCES, Claim, Experiment, Outcome, Verdict, Z, claims, mean_and_error, verdict
from .experiments import EXPERIMENTS

TONES: Mapping[Verdict, Tone] = {
    "agrees": "good",
    "in part": "warning",
    "does not agree": "bad",
    "no public function": "neutral",
    "not run": "unknown",
}
CHAPTERS = {
    "wood": "Wood et al.: entropy and likelihood importance",
    "lecture": "The lecture and the Modeva documentation",
    "pereira": "Pereira et al.: covered information",
    "paananen": "Paananen et al.: R-sens",
    "beyond": "The same data by every method",
}
TEMPLATES = Path(__file__).with_name("templates")
AS_OF = "2026-11-28"
DATA = (
    "concrete_strength.csv",
    "concrete_slump.csv",
    "diabetes_pima.csv",
    "bike_sharing_hourly.csv",
    "bike_sharing_february.csv",
)
NOT_REPRODUCIBLE = (
    (
        "values read off figures",
        "only the text of the sources is at hand: orders and signs are compared, not heights of bars",
    ),
    (
        "Paananen et al., table 1: noise, variance of the predictive distribution, definitions of APC, PD and VAR",
        "in a supplement; cells of these methods are compared in sign",
    ),
    ("Paananen et al., section 3.2: shapes of the main effects", "in the supplement; eight shapes were chosen"),
    (
        "Pereira et al.: marginals and true importances of the toy data",
        "formulas are missing in the text; the generator follows the authors' published code",
    ),
    ("Pereira et al., medical experiment", "private data"),
    ("Wood et al., border data: distribution of the observations", "uniform in a square without its interior"),
    ("Bike sharing, February", "1341 observations here against 1339 in the source"),
)


class Findings:
    """What a run found."""

    def __init__(self, outcomes: Mapping[str, Outcome], *, quick: bool) -> None:
        self.outcomes, self.quick = outcomes, quick
        self.claims: Mapping[str, Claim] = claims()

    @cached_property
    def experiment(self) -> Mapping[str, Experiment]:
        """The experiment that judges each claim."""
        return {claim: experiment for experiment in EXPERIMENTS for claim in experiment.claims}

    def outcome(self, claim: str) -> Outcome:
        """Return the outcome of the experiment of a claim; an empty one where it was not run."""
        name = self.experiment[claim].name
        return self.outcomes.get(name) or Outcome(name, why="The experiment was not asked for.")

    def verdict(self, claim: str) -> Verdict:
        """Return the verdict on a claim."""
        hits, kind = self.outcome(claim).hits.get(claim), self.claims[claim].kind
        if not hits:
            return "not run"
        if kind == "absent":
            return "no public function"
        if kind == "exact":
            return "agrees" if all(hits) else "does not agree"
        return verdict(sum(hits), len(hits), quick=self.quick)

    def counts(self, letters: str = "WLMCR") -> dict[Verdict, int]:
        """Count verdicts over the claims of some sources."""
        verdicts = [self.verdict(key) for key in self.claims if key[0] in letters]
        return {each: verdicts.count(each) for each in TONES}

    def found(self, claim: str) -> str:
        """Return the numbers and the sentence that a verdict rests on."""
        outcome, paper = self.outcome(claim), self.experiment[claim].paper
        numbers = {} if claim in paper else outcome.values.get(claim, {})
        return f"{_numbers(numbers)} {outcome.facts.get(claim, outcome.why)}".strip()

    def rate(self, claim: str) -> str:
        """Return the hit rate with its interval; "yes" or "no" for a comparison."""
        hits, kind = self.outcome(claim).hits.get(claim), self.claims[claim].kind
        if not hits or kind == "absent":
            return "–"
        if kind == "exact":
            return "yes" if all(hits) else "no"
        lower, upper = wilson(sum(hits) / len(hits), len(hits), Z)
        return f"{sum(hits)} of {len(hits)} ({lower:.2f}–{upper:.2f})"

    def badge(self, claim: str) -> Badge:
        """Return the verdict as a word with its tone."""
        return Badge(self.verdict(claim), TONES[self.verdict(claim)])


def _numbers(values: Mapping[str, Sequence[float]]) -> str:
    """Return named numbers as text: means over repetitions with their standard errors."""
    parts = []
    for name, numbers in values.items():
        mean, error = mean_and_error(numbers)
        parts.append(f"{name} {mean:.4g}" + (f" ± {error:.2g}" if len(numbers) > 1 else ""))
    return "; ".join(parts) + "." if parts else ""


def document(found: Findings) -> Document:
    """Return the whole document."""
    hits = {key: list(map(bool, found.outcome(key).hits.get(key, []))) for key in found.claims}
    evidence = json.dumps(
        {"hits": hits, "values": {o.name: {c: dict(v) for c, v in o.values.items()} for o in found.outcomes.values()}},
        indent=1,
    ).encode()
    chapters = (_chapter(found, key) for key in CHAPTERS)
    return Document(
        title="The sources, reproduced",
        subtitle="Replication of five documents on uncertainty and variable importance",
        as_of=AS_OF,
        generator=f"uq_report {version('uq_report')}",
        evidence_sha256=hashlib.sha256(evidence).hexdigest(),
        sections=(_opening(found), *chapters, _table(found), _missing(found), _rerun(found)),
        kind="replication",
        recommendation=Badge("a replication gives none", "neutral"),
        attachments=(Attachment("evidence.json", evidence, "application/json", "Every repetition of every claim"),),
    )


def _opening(found: Findings) -> Section:
    counts = found.counts()
    cards = tuple(
        Card(title=source, headline=f"{found.counts(letters)['agrees']} agree", aside=_aside(found, letters))
        for letters, source in SOURCES.items()
    )
    words = ", ".join(f"{number} {word if word != 'agrees' else 'agree'}" for word, number in counts.items() if number)
    text = f"The five sources make {sum(counts.values())} claims; each was run through the public functions of this package: {words}."
    rule = "A claim is a function of one repetition with its own random seed. "
    if found.quick:
        rule += "This is the quick run, with few repetitions and smaller models: a claim does not agree where a hit rate of .8 is refuted at the 5% level, agrees in part where half of the repetitions or more miss, and agrees otherwise."
    else:
        rule += (
            "It agrees if the lower limit of the 95% Wilson interval of its hit rate is at least .8, does not agree if the "
            "upper limit is below .5, and agrees in part otherwise."
        )
    rule += " Definitions and identities are compared once, to rounding. The number of repetitions stands beside each claim."
    few = [k for k in found.claims if found.verdict(k) == "in part" and all(found.outcome(k).hits[k])]
    if few:
        rule += f" Of the claims in part, {len(few)} hold in every repetition of this run, of which there are fewer than 16: {' '.join(few)}."
    numbers = [number for key in found.claims for number in _paper(found, key) if key in found.experiment]
    agreeing = sum(number[-1].text == "agrees" for number in numbers)
    size = (
        f"Of {len(numbers)} numbers that the sources print, {agreeing} agree within two joint standard errors."
        if numbers
        else ""
    )
    failing = [key for key in found.claims if found.verdict(key) in ("does not agree", "in part", "no public function")]
    rows = [(key, found.claims[key].states, found.badge(key), found.found(key)) for key in failing]
    table = make_table(
        "failing",
        "Claims that do not agree, agree in part, or have no public function.",
        ("claim", "the source states", "verdict", "what was found"),
        rows,
    )
    return make_section(
        "reproduced", "What was reproduced", [Cards(cards=cards), *paragraphs(text, rule, size), _map(found), table]
    )


def _map(found: Findings) -> Block:
    """Return the map of claims: their numbers by source and verdict."""
    rows = []
    for letters, source in SOURCES.items():
        own = [key for key in found.claims if key[0] in letters]
        rows.append((source, *(" ".join(k for k in own if found.verdict(k) == word) or "–" for word in TONES)))
    return make_table("map", "Map of claims: every claim under its verdict.", ("source", *TONES), rows)


def _aside(found: Findings, letters: str) -> str:
    counts = found.counts(letters)
    others = [f"{number} {words}" for words, number in counts.items() if words != "agrees" and number]
    return f"of {sum(counts.values())} claims" + (f"; {', '.join(others)}" if others else "")


def _chapter(found: Findings, key: str) -> Section:
    parts = []
    for experiment in EXPERIMENTS:
        if experiment.run.__module__.rpartition(".")[2] == key:
            outcome = found.outcomes.get(experiment.name, Outcome(experiment.name))
            blocks = [*_judged(found, experiment, outcome), *_pictures(outcome)]
            parts.append(make_section(experiment.name, experiment.title, blocks))
    return make_section(key, CHAPTERS[key], parts=parts)


def _judged(found: Findings, experiment: Experiment, outcome: Outcome) -> Iterator[Block]:
    number = max(
        map(len, [*outcome.hits.values(), *(v for c in outcome.values.values() for v in c.values())]), default=0
    )
    about = (experiment.run.__doc__ or "").split("\n")[0]
    yield from paragraphs(f"{about} {number or 'No'} repetition{'s' * (number != 1)}. {outcome.why}".strip())
    rows = [
        (key, found.claims[key].states, found.rate(key), found.badge(key), found.found(key))
        for key in experiment.claims
    ]
    if rows:
        heads = ("claim", "the source states", "hits", "verdict", "what was found")
        yield make_table(f"{experiment.name}-claims", "Claims of this experiment.", heads, rows)
    for claim in outcome.values:
        if claim not in found.claims:
            table = [(name, *mean_and_error(values)) for name, values in outcome.values[claim].items()]
            yield make_table(
                f"{experiment.name}-numbers",
                "Means over repetitions.",
                ("quantity", Column("mean", "number"), Column("standard error", "number")),
                table,
            )
    numbers = [row for claim in experiment.claims for row in _paper(found, claim)]
    if numbers:
        columns = (
            "claim",
            "number",
            Column("here", "number"),
            Column("std. error", "number"),
            Column("source", "number"),
            Column("std. error", "number"),
            "verdict",
        )
        yield make_table(f"{experiment.name}-paper", "Numbers beside those of the source.", columns, numbers)


def _paper(found: Findings, claim: str) -> Iterator[tuple[str, str, float, float | None, float, float, Badge]]:
    """Yield each number of the source beside ours: they agree within two joint standard errors."""
    for name, (value, error) in found.experiment[claim].paper.get(claim, {}).items():
        if own := found.outcome(claim).values.get(claim, {}).get(name):
            ours, se = mean_and_error(own)
            known = len(own) > 1
            agrees = known and abs(ours - value) <= 2 * (se**2 + error**2) ** 0.5
            badge = (
                Badge("agrees", "good")
                if agrees
                else Badge("differs", "warning")
                if known
                else Badge("one repetition", "unknown")
            )
            yield claim, name, ours, se if known else None, value, error, badge


def _pictures(outcome: Outcome) -> Iterator[Block]:
    for key, title, states, reading, svg in outcome.pictures:
        yield Figure(id=f"figure-{key}", caption=title, alt=f"{title}. {reading}", svg=svg)
        yield from paragraphs(f"The source: {states} Here: {reading}")


def _table(found: Findings) -> Section:
    heads = ("claim", "place", "statement", "hits", "verdict")
    parts = []
    for letters, source in SOURCES.items():
        rows = [
            (key, claim.place, claim.states, found.rate(key), found.badge(key))
            for key, claim in found.claims.items()
            if key[0] in letters
        ]
        table = make_table(f"claims-{letters.lower()}", f"All {len(rows)} claims.", heads, rows)
        parts.append(make_section(f"table-{letters.lower()}", source, [table]))
    return make_section("claims", "Claim table", parts=parts)


def _missing(found: Findings) -> Section:
    rows = [
        (key, found.claims[key].states, found.outcome(key).why)
        for key in found.claims
        if found.verdict(key) == "not run"
    ]
    blocks: list[Block] = [
        make_table(
            "not-reproducible",
            "What the sources do not give, and what was done instead.",
            ("what", "why, and instead"),
            NOT_REPRODUCIBLE,
        )
    ]
    if rows:
        blocks.append(make_table("not-run", "Claims that were not run.", ("claim", "statement", "reason"), rows))
    return make_section("missing-claims", "What cannot be reproduced", blocks)


def _rerun(found: Findings) -> Section:
    command = "python -m benchmarks.papers --data DIR" + (" --quick" if found.quick else "")
    seconds = sum(outcome.seconds for outcome in found.outcomes.values())
    blocks = [
        *paragraphs(
            f"This document was made by `{command}`. DIR holds the data sets of the papers ({', '.join(DATA)}), which are not part of "
            "the package. Repetition k of an experiment uses the seed k, counted from 0.",
            f"The run took {seconds / 60:.0f} minutes of processor time. Its evidence, every hit and number of every repetition, is attached to "
            "the PDF; the hash of the document is that of the evidence.",
        ),
        Facts(
            rows=tuple(
                (name, _version(name))
                for name in (
                    "Python",
                    "uq_report",
                    "numpy",
                    "scipy",
                    "scikit-learn",
                    "pandas",
                    "shap",
                    "torch",
                    "gpytorch",
                    "xgboost-cpu",
                    "scikit-survival",
                )
            )
        ),
        make_table(
            "runs",
            "Experiments of this run.",
            ("experiment", "claims", Column("repetitions", "integer"), Column("seconds", "number")),
            [
                (o.name, " ".join(o.hits), max(map(len, o.hits.values()), default=0), o.seconds)
                for e in EXPERIMENTS
                if (o := found.outcomes.get(e.name))
            ],
        ),
    ]
    return make_section("rerun", "How to run it again", blocks)


def _version(name: str) -> str:
    if name == "Python":
        return platform.python_version()
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def write(found: Findings, folder: Path) -> None:
    """Write the document as HTML and PDF, and the verdicts as claims.json."""
    made = document(found)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "replication.html").write_bytes(HtmlRenderer(templates=TEMPLATES).render(made))
    (folder / "replication.pdf").write_bytes(PdfRenderer(templates=TEMPLATES).render(made))
    rows = [
        {
            "claim": key,
            "hits": sum(hits := found.outcome(key).hits.get(key, [])),
            "n": len(hits),
            "verdict": found.verdict(key),
        }
        for key in found.claims
    ]
    (folder / "claims.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
