"""Page 1: what the evidence supports, why, and what to do, made once; as a section, as lines and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

from ...core.statistics.inference import MIN_CLUSTERS
from ...core.statistics.verdicts import LEAST_EVENTS, few_events
from ...core.support.text import count
from ...document.blocks import make_figure, make_section, paragraphs
from ...document.document import Badge, Block, Card, Cards, Section, Step, Steps, Verdict
from ...document.plots.frames import interval_words
from ...document.text import clean, first_sentence, joined, mentioned, name, spaced, unmarked
from ...evidence import ids
from ...evidence.finding import SEVERITIES, Finding
from ...evidence.importance import CLAIMED, Claims, Pfi
from ...evidence.outcomes import CalibrationView
from ...evidence.rows import OUTSIDE, SupportView
from ...evidence.view import of_measure
from ...reading.rank_ranges import FeatureRanking, leader, leading
from ...reading.run_reader import OPEN, SEVERITY_TONES, RunReader
from ...reading.sentences import DAGGER, largest_words
from ..plots import TITLES, DriverPanel, draw_drivers
from ..rating import NO_VERDICT, rating, rests_on, tally
from ..sections.groups import affected_card
from .advice import largest_sample
from .cards import NO, YES, belief, believed, clause, good, performance
from .drivers import DOUBT, LOSS, drivers, margin_of, rankings

ROWS = 9  # features, so that page 1 holds the picture
HIDDEN = "UQ201"  # importance that partners cover
SIZES = {ids.SHAP_IMPORTANCE: "mean size", ids.DALEX_PARTS: "drop-out loss"}
RISES = {LOSS: "rise of loss", DOUBT: "rise of doubt"}


def answer(e: RunReader) -> Section:
    """Return page 1."""
    page = answer_of(e)
    drives: tuple[Block, ...] = (Steps(steps=tuple(Step(lead="", text=text) for text in page.drives)), *picture(e))
    to_do: tuple[Block, ...] = (Steps(steps=page.actions), *paragraphs(page.foot))
    parts = (
        make_section("answer-drives", "What drives it", drives),
        make_section("answer-actions", "What to do", to_do),
    )
    verdict: Block = Verdict(badge=page.recommendation, text=page.because, note=page.rule)
    blocks = (verdict, *paragraphs(page.assumption, page.undecidable), Cards(cards=page.cards))
    return make_section("answer", "The answer", blocks, parts)


def picture(e: RunReader) -> tuple[Block, ...]:
    """Return the figure; none without a ranking."""
    ranked = [ranking for ranking in rankings(e).values() if len(ranking.table)]
    features = leading(ranked, ROWS) if ranked else []
    if not features:
        return ()
    panels = [_panel(e, ranking) for ranking in ranked]
    alt = " ".join(f"{TITLES[x.heading]}: {largest_words(x.table, x.facts)}".replace("\n", " ") for x in ranked)
    if DAGGER in alt:
        alt += f" {DAGGER} Its interval is not to be trusted."
    caption = _caption(e, ranked, panels, len(features))
    return (make_figure("answer-picture", caption, alt, lambda: draw_drivers(panels, features), ranked[0].result.id),)


def _panel(e: RunReader, ranking: FeatureRanking) -> DriverPanel:
    """Return one question, with what the model claims of each feature where the panel shows the same score."""
    unit, view = ranking.facts.unit, Claims.find(e.run)
    unit = unit.partition(" of ")[0] if unit.startswith("probability") else unit
    label = SIZES.get(ranking.result.id) or RISES.get(ranking.heading, "importance")
    lines = view.part(CLAIMED) if view is not None and ranking.heading == LOSS else ()
    claimed = {line.feature: line.estimate for line in of_measure(lines, ranking.measure)}
    words = f"{label}, {unit}" if unit else label
    return DriverPanel(ranking.heading, words, ranking.table, claimed, margin_of(ranking))


def _caption(e: RunReader, ranked: list[FeatureRanking], panels: list[DriverPanel], n: int) -> str:
    """Say what signs mean, which intervals these are, and that partners may hide importance."""
    around = next((words for x in (leader(ranked), *ranked) if (words := interval_words(x.table))), "")
    features = {feature for ranking in ranked for feature in ranking.order}
    hidden = [name(feature) for f in e.findings if f.code == HIDDEN for feature in f.features]
    return spaced(
        f"Dot: estimate{f'; line: {around}' if around else ''}.",
        "Diamond: what the model itself claims." if any(panel.claimed for panel in panels) else "",
        "Grey: counts as 0." if any(isfinite(panel.margin) for panel in panels) else "",
        f"The first {n} of {len(features)} features." if len(features) > n else "",
        f"What partners carry too hides part of {joined(hidden, 4)} ({HIDDEN})." if hidden else "",
    )


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What the evidence supports, why, and what to do; names of features are marked in its texts.

    Parameters
    ----------
    recommendation : Badge
    because : str
        What is good and what limits it, in one sentence.
    rule : str
        By which line of the rule, and who decides.
    assumption : str
        What was laid over predictions that come without an uncertainty; empty where the model states its own.
    undecidable : str
        What cannot be judged and why; empty where nothing stands against it.
    cards : tuple of Card
        How good the model is, whether its uncertainty is calibrated, who is affected.
    drives : tuple of str
        What drives the prediction, the loss and the uncertainty.
    actions : tuple of Step
    foot : str
        Which run this is, and what was not tested.
    """

    recommendation: Badge
    because: str
    rule: str
    assumption: str
    undecidable: str
    cards: tuple[Card, ...]
    drives: tuple[str, ...]
    actions: tuple[Step, ...]
    foot: str

    def texts(self) -> Iterator[str]:
        """Yield every sentence, in reading order."""
        yield from (self.recommendation.text, self.because, self.rule, self.assumption, self.undecidable)
        for card in self.cards:
            yield from (card.title, _head(card), *card.texts)
            yield from (" ".join(row) for row in card.counts)
        yield from self.drives
        for step in self.actions:
            yield from (step.lead, step.text, step.aside)
        yield self.foot


def as_lines(answer: Conclusion) -> list[str]:
    """Return the answer in about ten lines."""
    lines = [f"{answer.recommendation.text}. {answer.because}", answer.assumption, answer.undecidable]
    lines += [f"{card.title} {_head(card)}." for card in answer.cards]
    lines += [f"{k}. {text}" for k, text in enumerate(answer.drives, 1)]
    lines += [f"To do: {step.lead}{_aside(step)}" for step in answer.actions]
    return [unmarked(line) for line in (*lines, answer.foot) if line]


def as_html(title: str, answer: Conclusion) -> str:
    """Return the answer as HTML without styles; every text from outside is escaped."""
    return "".join(_html(title, answer))


def _html(title: str, answer: Conclusion) -> Iterator[str]:
    yield f"<p><strong>{_escaped(title)}</strong></p>"
    yield f"<p><strong>{_escaped(answer.recommendation.text)}.</strong> {_escaped(answer.because)}</p>"
    yield from (f"<p>{_escaped(text)}</p>" for text in (answer.assumption, answer.undecidable) if text)
    yield _list("ul", [f"<b>{_escaped(card.title)}</b> {_escaped(_full(card))}" for card in answer.cards])
    yield _list("ol", [_escaped(text) for text in answer.drives])
    steps = answer.actions
    yield _list("ul", [f"<b>{_escaped(s.lead)}</b> {_escaped(s.text)}{_escaped(_aside(s))}" for s in steps])
    yield f"<p><small>{_escaped(answer.rule)} {_escaped(answer.foot)}</small></p>"


def _list(tag: str, items: list[str]) -> str:
    return f"<{tag}>{''.join(f'<li>{item}</li>' for item in items)}</{tag}>"


def _head(card: Card) -> str:
    return f"{card.headline} {card.aside}".strip()


def _aside(step: Step) -> str:
    return f" ({step.aside})" if step.aside else ""


def _full(card: Card) -> str:
    """Return a card's answer and its sentences; a sentence that leads to counts is for pages."""
    return " ".join([f"{_head(card)}.", *(text for text in card.texts if not text.endswith(":"))])


def _escaped(text: str) -> str:
    return escape(unmarked(text))


STEPS = 3
ON_CARD = ("UQ101", "UQ102")  # how large it is stands in the card on the uncertainty
WIDTH = 90  # characters of what is to be done
REFUTES = "UQ101"  # the finding that says by itself that the uncertainty does not hold
NOT_TESTED = "Not tested: causal effects, security, the code that serves the model"
DIGITS = 12  # of the hash; the whole of it stands with the report's identity
ENDS = (
    (("found",), "with findings"), (("passed",), "passed"), (("ignored",), "waived"), (NO_VERDICT, "without a verdict"),
)  # fmt: skip
LEADS = ("What cannot be judged", "Nor can be judged")
MOST_OUTSIDE = 0.5  # of the rows, unlike the training rows
CALIBRATED = "whether the model is calibrated"


def answer_of(e: RunReader) -> Conclusion:
    """Return what the evidence of a run supports."""
    return Conclusion(
        recommendation=rating(e.run.outcomes),
        because=because(e),
        rule=rests_on(e.run.outcomes),
        assumption=e.subject.assumption.words if e.subject.assumption is not None else "",
        undecidable=undecidable(e),
        cards=tuple(filter(None, (performance(e), belief(e), affected_card(e)))),
        drives=drivers(e),
        actions=actions(e),
        foot=_foot(e),
    )


def because(e: RunReader) -> str:
    """Return what is good and what limits it: skill, whether the uncertainty is calibrated, and the worst finding."""
    text, side = good(e)
    worst = min(e.findings, key=lambda f: SEVERITIES.index(f.severity), default=None)
    if worst is not None and worst.severity == "observation":
        worst = None
    if worst is None or (believed(e), worst.code) != (NO, REFUTES):
        text = f"{text}, {'and' if (side > 0) == (believed(e) == YES) else 'but'} {clause(e)}"
    if worst is None:
        return f"{text}."
    return f"{text}. Worst open finding: {_title(worst)} ({clean(worst.code, 20)}, {worst.severity})."


def _title(finding: Finding) -> str:
    """Return a finding's title inside a sentence."""
    title = first_sentence(finding.title).rstrip(".") or "see the findings"
    return f"{title[0].lower()}{title[1:]}" if title[1:2].islower() else title


def _foot(e: RunReader) -> str:
    """Say which run this is, how many checks judged it, and what was not tested."""
    about, outcomes = e.subject, e.run.outcomes
    sizes = [count(n, what) for n, what in ((about.n, "row"), (about.d, "feature")) if n is not None]
    identity = [f"As of {clean(e.run.as_of, 20)}", " of ".join(sizes), f"evidence {e.digest[:DIGITS]}"]
    checks = f"{count(len(outcomes), 'check')}: {tally(outcomes, ENDS)}." if outcomes else "No check was run."
    parts = f", {count(len(e.run.not_run), 'part')} that did not run" if e.run.not_run else ""
    return spaced(f"{'; '.join(filter(None, identity))}.", checks, largest_sample(e), f"{NOT_TESTED}{parts}.")


def actions(e: RunReader) -> tuple[Step, ...]:
    """Return at most three steps; findings that ask for the same are one. Without findings, what to watch."""
    shared: dict[str, list[Finding]] = {}
    for finding in e.findings:
        shared.setdefault(_lead(finding), []).append(finding)
    steps = [_step(e, lead, findings) for lead, findings in list(shared.items())[:STEPS]]
    return tuple(steps) or (_watch(e),)


def rest(e: RunReader) -> tuple[Finding, ...]:
    """Return the open findings that no step is about."""
    leads = list(dict.fromkeys(map(_lead, e.findings)))[:STEPS]
    return tuple(finding for finding in e.findings if _lead(finding) not in leads)


def _lead(finding: Finding) -> str:
    """Return what is to be done, in a sentence."""
    return first_sentence(finding.remedy, 2 * WIDTH) or f"Look at finding {clean(finding.code, 20)}."


def _step(e: RunReader, lead: str, findings: Sequence[Finding]) -> Step:
    """Return one step for findings that ask for the same; the first says how large it is."""
    worst = findings[0]
    why = "" if worst.code in ON_CARD else first_sentence(worst.statement) or first_sentence(worst.title)
    codes = list(dict.fromkeys(clean(finding.code, 20) for finding in findings))
    owner = next((owner for f in findings if (owner := e.action(f)[0]) != OPEN), None)
    aside = f"finding{'s' if len(codes) > 1 else ''} {joined(codes, 4)}"
    return Step(
        lead=lead,
        text=mentioned(why, worst.features),
        aside=f"{aside} · {name(owner)}" if owner is not None else aside,
        tone=SEVERITY_TONES[worst.severity],
    )


def _watch(e: RunReader) -> Step:
    """Return what is left to do where no finding is open."""
    if not e.run.outcomes:
        return Step(lead="Audit it with checks.", text="No check was run, so nothing was looked for.")
    return Step(
        lead="Watch it in use.",
        text="No finding is open. Repeat the audit on new rows and outcomes; it says what changed.",
        tone="good",
    )


def undecidable(e: RunReader) -> str:
    """Return what cannot be judged and why, in at most two sentences; empty where nothing stands against it."""
    reasons = filter(None, (judge(e) for judge in (_few_events, _few_clusters, _outside, _unmoved)))
    return " ".join(f"{lead}: {reason}." for lead, reason in zip(LEADS, reasons, strict=False))


def _few_events(e: RunReader) -> str:
    """Say that too few outcomes are outside the most frequent class for what rests on outcomes."""
    counts, view = e.subject.class_counts, Pfi.find(e.run)
    n, rare = sum(counts), sum(counts) - max(counts, default=0)
    has_losses = view is not None and any(e.words(measure).role == "loss" for measure in view.measures)
    what = joined([CALIBRATED] * _is_open(e) + ["the importances for the loss"] * has_losses)
    if not counts or not what or not few_events(rare, n).reason:
        return ""
    if not rare:
        return f"{what}, because all {n} rows are of one class ({LEAST_EVENTS} rows of another would do)"
    where = "of the rarer class" if len(counts) == 2 else "outside the most frequent class"
    return f"{what}, because only {count(rare, 'row')} {'is' if rare == 1 else 'are'} {where} ({LEAST_EVENTS} would do)"


def _few_clusters(e: RunReader) -> str:
    """Say that the clusters are too few for an interval: of importances, and of one cluster for any."""
    clusters, kind = e.subject.clusters or MIN_CLUSTERS, "cluster" if e.subject.block_length is None else "block"
    permuted = Pfi.find(e.run) is not None
    what = joined([CALIBRATED] * (clusters == 1 and _is_open(e)) + ["the importances"] * permuted)
    if clusters >= MIN_CLUSTERS or not what:
        return ""
    verb = "does" if clusters == 1 else "do"
    return f"{what}, because {count(clusters, kind)} {verb} not show how {kind}s vary ({MIN_CLUSTERS} would do)"


def _is_open(e: RunReader) -> bool:
    """Say whether calibration was looked at, and is neither shown nor rejected."""
    return CalibrationView.find(e.run) is not None and e.gate.tone not in ("good", "bad")


def _outside(e: RunReader) -> str:
    """Say that most rows are outside of what the model was trained on."""
    view = SupportView.find(e.run)
    share = max((line.estimate for line in view.lines if line.item == OUTSIDE), default=0.0) if view else 0.0
    far = f"because {100 * share:.0f} % of the audited rows lie outside them"
    return f"how good the model is on rows like its training rows, {far}" if share > MOST_OUTSIDE else ""


def _unmoved(e: RunReader) -> str:
    """Say that nothing was seen to depend on any feature."""
    view = Pfi.find(e.run)
    if view is None or not view.lines or not all(line.exact_zero for line in view.lines):
        return ""
    return "which features matter for the outcome, because shuffling any of them changes no prediction"
