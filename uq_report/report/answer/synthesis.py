"""The answer, made once from the evidence: why, what cannot be judged, and what to do, causes before symptoms."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.statistics.inference import MIN_CLUSTERS
from ...core.statistics.verdicts import LEAST_EVENTS, few_events
from ...core.support.text import count
from ...document.document import Step
from ...document.text import clean, first_sentence, joined, mentioned, name, spaced
from ...evidence.finding import SEVERITIES, Finding
from ...evidence.importance import Pfi
from ...evidence.outcomes import CalibrationView
from ...evidence.rows import OUTSIDE, SupportView
from ...reading.run_reader import OPEN, SEVERITY_TONES, RunReader
from ..rating import NO_VERDICT, rating, rests_on, tally
from ..sections.groups import affected_card
from .cards import NO, YES, belief, believed, clause, good, performance
from .data import Conclusion
from .drivers import drivers

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
MOST = 0.5  # of the rows, unlike the training rows
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
    return spaced(f"{'; '.join(filter(None, identity))}.", checks, f"{NOT_TESTED}{parts}.")


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
    return f"how good the model is on rows like its training rows, {far}" if share > MOST else ""


def _unmoved(e: RunReader) -> str:
    """Say that nothing was seen to depend on any feature."""
    view = Pfi.find(e.run)
    if view is None or not view.lines or not all(line.exact_zero for line in view.lines):
        return ""
    return "which features matter for the outcome, because shuffling any of them changes no prediction"
