"""Page 1: the recommendation, its reasons, the drivers and the actions; as a section, as lines and as HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

from ...core.statistics.inference import MIN_CLUSTERS
from ...core.statistics.verdicts import LEAST_EVENTS, few_events
from ...core.support.text import count
from ...document.blocks import make_figure, make_section, paragraphs
from ...document.document import Badge, Block, Card, Cards, Section, Step, Steps, Verdict
from ...document.plots.frames import interval_words, margin_of
from ...document.text import clean, first_sentence, joined, name, spaced, unmarked
from ...evidence import ids
from ...evidence.finding import SEVERITIES, Finding
from ...evidence.importance import CLAIMED, Claims, Pfi
from ...evidence.outcomes import CalibrationView
from ...evidence.rows import OUTSIDE, SupportView
from ...evidence.view import by_key, of_measure
from ...reading.rank_ranges import FeatureRanking, answers, leader, leading
from ...reading.rating import NO_VERDICT, recommended, tally
from ...reading.run_reader import FAILED, NLL, OPEN, SEVERITY_TONES, RunReader
from ...reading.sentences import DAGGER, largest_words
from ..nouns import named
from ..plots import TITLES, DriverPanel, draw_drivers
from ..sections.groups import affected_card
from .cards import calibration, calibration_sentence, performance, performance_sentence, usefulness
from .drivers import LOSS, UNCERTAINTY, drivers

ROWS = 6  # features, so that page 1 has room for the figure
INCONCLUSIVE = ("UQ102", "UQ952")  # a larger sample decides these
HIDDEN = "UQ201"  # importance hidden by correlated features
SIZES = {ids.SHAP_IMPORTANCE: "mean absolute value", ids.DALEX_PARTS: "drop-out loss"}
RISES = {LOSS: "increase in loss", UNCERTAINTY: "size of change"}
CARDS: tuple[Callable[[RunReader], Card | None], ...] = (performance, calibration, usefulness, affected_card)


def answer(e: RunReader) -> Section:
    """Return page 1."""
    page = answer_of(e)
    drives: tuple[Block, ...] = (Steps(steps=tuple(Step(lead="", text=text) for text in page.drives)), *picture(e))
    to_do: tuple[Block, ...] = (Steps(steps=page.actions), *paragraphs(page.foot))
    parts = (make_section("answer-drives", "Drivers", drives), make_section("answer-actions", "Actions", to_do))
    verdict: Block = Verdict(badge=page.recommendation, text=page.because, note=page.basis)
    texts = paragraphs(page.conditions, page.assumption, page.undecidable)
    behind = (ids.CALIBRATION, ids.PFI_CLAIMS, ids.SELECTIVE, ids.GROUPS, ids.PFI, ids.PFI_UNCERTAINTY)
    return make_section("answer", "Conclusion", (verdict, *texts, Cards(cards=page.cards)), parts, behind)


def picture(e: RunReader) -> tuple[Block, ...]:
    """Return the figure; none without a ranking."""
    ranked = answers(e)
    features = leading(ranked, ROWS) if ranked else []
    if not features:
        return ()
    panels = [_panel(e, ranking) for ranking in ranked]
    alt = " ".join(f"{TITLES[x.facts.role]}: {largest_words(x.table, x.facts)}".replace("\n", " ") for x in ranked)
    if DAGGER in alt:
        alt += f" {DAGGER} The interval is unreliable."
    caption = _caption(e, ranked, panels, len(features))
    wide, narrow = (partial(draw_drivers, panels, features, narrow=stacked) for stacked in (False, True))
    return (make_figure("answer-picture", caption, alt, wide, ranked[0].result.id, narrow),)


def _panel(e: RunReader, ranking: FeatureRanking) -> DriverPanel:
    """Return one panel, with the model-implied importance of each feature where the panel shows the same score."""
    unit, view = ranking.facts.unit, Claims.find(e.run)
    unit = unit.partition(" of ")[0] if unit.startswith("probability") else unit
    label = SIZES.get(ranking.result.id) or RISES.get(ranking.facts.role, "importance")
    lines = view.part(CLAIMED) if view is not None and ranking.facts.role == LOSS else ()
    claimed = {line.feature: line.estimate for line in of_measure(lines, ranking.measure)}
    words = f"{label}, {unit}" if unit else label
    pfi = Pfi.find(e.run) if ranking.facts.role == LOSS and ranking.measure == NLL else None
    rises = () if pfi is None else of_measure(pfi.lines, "entropy")
    signalled = {line.feature: line.estimate for line in rises}
    return DriverPanel(ranking.facts.role, words, ranking.table, claimed, margin_of(ranking.table), signalled)


def _caption(e: RunReader, ranked: list[FeatureRanking], panels: list[DriverPanel], n: int) -> str:
    """Explain signs and intervals, and name features whose importance correlated features hide in part."""
    around = next((words for x in (leader(ranked), *ranked) if (words := interval_words(x.table))), "")
    features = {feature for ranking in ranked for feature in ranking.order}
    hidden = [name(feature) for f in e.findings if f.code == HIDDEN for feature in f.features]
    return spaced(
        f"Dot: estimate{f'; line: {around}' if around else ''}.",
        "Diamond: model-implied importance." if any(panel.claimed for panel in panels) else "",
        "Bar: increase in the stated uncertainty." if any(panel.signalled for panel in panels) else "",
        "Grey band: tolerance around 0." if any(isfinite(panel.margin) for panel in panels) else "",
        f"The first {n} of {len(features)} features." if len(features) > n else "",
        f"Correlated features hide part of the importance of {joined(hidden, 4)} ({HIDDEN})." if hidden else "",
    )


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What the evidence supports, why, and what to do; names of features are marked in its texts.

    Parameters
    ----------
    recommendation : Badge
    because : str
        Performance, calibration, and the most severe open finding.
    basis : str
        The part of the rule that applies, and who decides.
    conditions : str
        The conditions of use in one line.
    assumption : str
        The distribution assumed for predictions that come without an uncertainty; empty where the model states one.
    undecidable : str
        What cannot be assessed and why; empty where nothing prevents it.
    cards : tuple of Card
        Performance, calibration and groups.
    drives : tuple of str
        The drivers of the prediction, of the loss and of the uncertainty.
    actions : tuple of Step
    foot : str
        The identity of the run, and what was not assessed.
    """

    recommendation: Badge
    because: str
    basis: str
    conditions: str
    assumption: str
    undecidable: str
    cards: tuple[Card, ...]
    drives: tuple[str, ...]
    actions: tuple[Step, ...]
    foot: str


def as_lines(answer: Conclusion) -> list[str]:
    """Return the conclusion in about twelve lines."""
    lines = [f"{answer.recommendation.text}. {answer.because}", answer.conditions, answer.assumption]
    lines += [answer.undecidable, *(f"{card.title}: {_head(card)}." for card in answer.cards)]
    lines += [f"{k}. {text}" for k, text in enumerate(answer.drives, 1)]
    lines += [f"Action: {step.lead}{f' ({step.aside})' * bool(step.aside)}" for step in answer.actions]
    return [unmarked(line) for line in (*lines, answer.foot) if line]


def _head(card: Card) -> str:
    return f"{card.headline} {card.aside}".strip()


STEPS = 3
WIDTH = 90  # characters of an action
NOT_ASSESSED = "Not assessed: causal effects, security, the code that serves the model"
DIGITS = 12  # of the hash; the whole of it stands with the report's identity
ENDS = (
    (("found",), "with findings"), (("passed",), "passed"), (("ignored",), "waived"), (NO_VERDICT, "without a verdict"),
)  # fmt: skip
DECISIVE = ("calibration", "performance", "policy")  # the recommendation rests on these checks
LEADS = ("Not assessable", "Also not assessable")
MOST_OUTSIDE = 0.5  # of the observations, outside the training domain
CALIBRATED = "calibration"


def answer_of(e: RunReader) -> Conclusion:
    """Return what the evidence of a run supports."""
    advice = recommended(e.run)
    page = Conclusion(
        recommendation=advice.badge,
        because=because(e),
        basis=advice.basis,
        conditions=advice.conditions_of_use,
        assumption=e.subject.assumption.words if e.subject.assumption is not None else "",
        undecidable=undecidable(e),
        cards=tuple(card for make in CARDS if (card := make(e)) is not None),
        drives=drivers(e),
        actions=actions(e),
        foot=_foot(e),
    )
    return named(e, page)


def because(e: RunReader) -> str:
    """Return the performance, the verdict on the calibration, and the most severe open finding."""
    worst = min(e.findings, key=lambda f: SEVERITIES.index(f.severity), default=None)
    verdicts = spaced(performance_sentence(e), calibration_sentence(e))
    if worst is None or worst.severity == "observation":
        return verdicts
    which = f"({clean(worst.code, 20)}, {worst.severity})."
    if worst.code == FAILED and e.gate.tone == "bad":  # the verdict says the same
        return f"{verdicts.removesuffix('.')} {which}"
    return spaced(verdicts, f"Most severe open finding: {_title(worst)} {which}")


def _title(finding: Finding) -> str:
    """Return a finding's title inside a sentence."""
    title = first_sentence(finding.title).rstrip(".") or "see the findings"
    return f"{title[0].lower()}{title[1:]}" if title[1:2].islower() or title.startswith("A ") else title


def _foot(e: RunReader) -> str:
    """Identify the run, count its checks, and name what was not assessed."""
    about, outcomes = e.subject, e.run.outcomes
    sizes = [count(n, what) for n, what in ((about.n, "observation"), (about.d, "feature")) if n is not None]
    identity = [f"As of {clean(e.run.as_of, 20)}", " of ".join(sizes), f"evidence {e.digest[:DIGITS]}"]
    checks = f"{count(len(outcomes), 'check')}: {tally(outcomes, ENDS)}." if outcomes else "No check was run."
    parts = (
        f", {count(len(e.run.not_run), 'method or check', 'methods or checks')} that did not run"
        if e.run.not_run
        else ""
    )
    return spaced(f"{'; '.join(filter(None, identity))}.", checks, largest_sample(e), f"{NOT_ASSESSED}{parts}.")


def largest_sample(e: RunReader) -> str:
    """Return the largest sample size that is advised for a decisive check left open, with the check; empty for none.

    Rules on groups or segments can ask for samples that nobody has; their findings state these numbers.

    Examples
    --------
    >>> from uq_report.evidence.finding import Outcome
    >>> from uq_report.evidence.run import Run
    >>> open_ = Outcome(check="performance", state="skipped", reason="r", title="Performance", n_needed=2300)
    >>> run = Run(as_of="2026-01-01", subject={}, settings={}, environment={}, outcomes=(open_,))
    >>> largest_sample(RunReader(run))
    'Inconclusive rules: up to about 2,300 observations give 80% power (Performance).'
    """
    leading = (o for o in e.run.outcomes if o.check in DECISIVE and o.n_needed is not None)
    sizes = {clean(o.title or o.check, 60): o.n_needed or 0 for o in leading}
    if not sizes:
        return ""
    check = max(sizes, key=lambda title: sizes[title])
    return f"Inconclusive rules: up to about {sizes[check]:,} observations give 80% power ({check})."


def actions(e: RunReader) -> tuple[Step, ...]:
    """Return at most three actions, one for findings of the same remedy; without open findings, monitoring."""
    shared = by_key((_lead(finding), finding) for finding in _to_act_on(e))
    steps = [_step(e, lead, findings) for lead, findings in list(shared.items())[:STEPS]]
    return tuple(steps) or (_watch(e),)


def rest(e: RunReader) -> tuple[Finding, ...]:
    """Return the open findings without an action on page 1."""
    leads = list(dict.fromkeys(map(_lead, _to_act_on(e))))[:STEPS]
    return tuple(finding for finding in _to_act_on(e) if _lead(finding) not in leads)


def _to_act_on(e: RunReader) -> list[Finding]:
    """Return the open findings that require an action: all but observations."""
    return [finding for finding in e.findings if finding.severity != "observation"]


def _lead(finding: Finding) -> str:
    """Return the action, in a sentence."""
    return first_sentence(finding.remedy, 2 * WIDTH) or f"Review finding {clean(finding.code, 20)}."


def _step(e: RunReader, lead: str, findings: Sequence[Finding]) -> Step:
    """Return one action for findings of the same remedy, with the sample size that decides an inconclusive rule."""
    worst = findings[0]
    sizes = (o.n_needed for o in e.run.outcomes if worst in o.findings and worst.code in INCONCLUSIVE)
    needed = next(filter(None, sizes), None)
    codes = list(dict.fromkeys(clean(finding.code, 20) for finding in findings))
    owner = next((owner for f in findings if (owner := e.action(f)[0]) != OPEN), None)
    aside = f"finding{'s' if len(codes) > 1 else ''} {joined(codes, 4)}"
    return Step(
        lead=lead,
        text=f"About {needed:,} observations give 80% power." if needed else "",
        aside=f"{aside} · {name(owner)}" if owner is not None else aside,
        tone=SEVERITY_TONES[worst.severity],
    )


def _watch(e: RunReader) -> Step:
    """Return the action where no finding requires one."""
    if not e.run.outcomes:
        return Step(lead="Run the audit with checks.", text="No check was run.")
    return Step(
        lead="Monitor the model in use.",
        text="No open finding requires an action. Repeat the audit on new observations; it lists every change.",
        tone="good",
    )


def undecidable(e: RunReader) -> str:
    """Return what cannot be assessed and why, in at most two sentences; empty where nothing prevents it."""
    reasons = filter(None, (judge(e) for judge in (_few_events, _few_clusters, _outside, _unmoved)))
    return " ".join(f"{lead}: {reason}." for lead, reason in zip(LEADS, reasons, strict=False))


def _few_events(e: RunReader) -> str:
    """Name what too few outcomes outside the most frequent class leave open."""
    counts, view = e.subject.class_counts, Pfi.find(e.run)
    n, rare = sum(counts), sum(counts) - max(counts, default=0)
    has_losses = view is not None and any(e.words(measure).role == "loss" for measure in view.measures)
    what = joined([CALIBRATED] * _is_open(e) + ["importance for the loss"] * has_losses)
    if not counts or not what or not few_events(rare, n).reason:
        return ""
    if not rare:
        return f"{what}, because all {n} observations belong to one class ({LEAST_EVENTS} of another are needed)"
    where = "of the rarer class" if len(counts) == 2 else "outside the most frequent class"
    number = count(rare, "observation")
    return f"{what}, because only {number} {'is' if rare == 1 else 'are'} {where} ({LEAST_EVENTS} are needed)"


def _few_clusters(e: RunReader) -> str:
    """Name what too few clusters leave open: importance, and for one cluster every interval."""
    clusters, kind = e.subject.clusters or MIN_CLUSTERS, "cluster" if e.subject.block_length is None else "block"
    permuted = Pfi.find(e.run) is not None
    what = joined([CALIBRATED] * (clusters == 1 and _is_open(e)) + ["importance"] * permuted)
    if clusters >= MIN_CLUSTERS or not what:
        return ""
    verb = "does" if clusters == 1 else "do"
    few = f"{count(clusters, kind)} {verb} not show the variation between {kind}s"
    return f"{what}, because {few} ({MIN_CLUSTERS} are needed)"


def _is_open(e: RunReader) -> bool:
    """Say whether calibration was assessed, and is neither acceptable nor not acceptable."""
    return CalibrationView.find(e.run) is not None and e.gate.tone not in ("good", "bad")


def _outside(e: RunReader) -> str:
    """Say that most observations are outside the training domain."""
    view = SupportView.find(e.run)
    share = max((line.estimate for line in view.lines if line.item == OUTSIDE), default=0.0) if view else 0.0
    far = f"because {100 * share:.0f}% of the observations lie outside it"
    return f"performance inside the training domain, {far}" if share > MOST_OUTSIDE else ""


def _unmoved(e: RunReader) -> str:
    """Say that no prediction depends on any feature."""
    view = Pfi.find(e.run)
    if view is None or not view.lines or not all(line.exact_zero for line in view.lines):
        return ""
    return "importance, because permuting any feature changes no prediction"
