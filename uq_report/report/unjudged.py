"""What a run cannot judge and why, told before its findings; and what unseen rows confirm of the model's claims."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

from ..core.inference import MIN_CLUSTERS
from ..core.text import count
from ..core.trust import LEAST_EVENTS, few_events
from ..document.evidence import Evidence
from ..document.text import joined, value_words
from ..evidence.importance import ALL_FEATURES, CLAIMED, DIFFERENCE, Claims, Pfi
from ..evidence.outcomes import Calibration
from ..evidence.rows import OUTSIDE, Support
from ..evidence.view import by_feature

LEADS = ("What cannot be judged", "Nor can be judged")
MOST = 0.5  # of the rows


def unjudged(e: Evidence) -> str:
    """Return what cannot be judged and why, in at most two sentences; empty where nothing stands against it."""
    reasons = [reason for judge in _JUDGES if (reason := judge(e))]
    return " ".join(f"{lead}: {reason}." for lead, reason in zip(LEADS, reasons, strict=False))


def confirmed(e: Evidence) -> str:
    """Return what share of its claims unseen rows confirm; empty without an interval of it that is to be trusted."""
    view = Claims.find(e.run)
    if view is None:
        return ""
    claimed, whole = (by_feature(view.part(item)).get(ALL_FEATURES) for item in (CLAIMED, DIFFERENCE))
    if claimed is None or whole is None or whole.distrust or isnan(whole.share_lower):
        return ""
    if claimed.estimate < view.margin:  # a share of next to nothing
        return ""
    share = value_words(100 * whole.share, 100 * whole.share_lower, 100 * whole.share_upper, "%")
    if whole.share_lower > 1:
        return f"Its features are worth more on unseen rows than the model claims: {share} of it."
    return f"Of what the model claims its features to be worth, unseen rows confirm {share}."


def _few_events(e: Evidence) -> str:
    """Say that too few outcomes are outside the most frequent class for what rests on outcomes."""
    counts = e.subject.class_counts
    n = sum(counts)
    rare = n - max(counts, default=0)
    what = joined(["whether the model is calibrated"] * _is_open(e) + ["the importances for the loss"] * _has_losses(e))
    if not counts or not what or not few_events(rare, n).reason:
        return ""
    if not rare:
        return f"{what}, because all {n} rows are of one class ({LEAST_EVENTS} rows of another would do)"
    where = "of the rarer class" if len(counts) == 2 else "outside the most frequent class"
    return f"{what}, because only {count(rare, 'row')} {'is' if rare == 1 else 'are'} {where} ({LEAST_EVENTS} would do)"


def _few_clusters(e: Evidence) -> str:
    """Say that the clusters are too few for an interval: of importances, and of one cluster for any."""
    clusters = e.subject.clusters or MIN_CLUSTERS
    permuted = Pfi.find(e.run) is not None
    what = joined(
        ["whether the model is calibrated"] * (clusters == 1 and _is_open(e)) + ["the importances"] * permuted
    )
    if clusters >= MIN_CLUSTERS or not what:
        return ""
    verb = "does" if clusters == 1 else "do"
    return f"{what}, because {count(clusters, 'cluster')} {verb} not show how clusters vary ({MIN_CLUSTERS} would do)"


def _outside(e: Evidence) -> str:
    """Say that most rows are outside of what the model was trained on."""
    view = Support.find(e.run)
    share = max((line.estimate for line in view.lines if line.item == OUTSIDE), default=0.0) if view else 0.0
    if share <= MOST:
        return ""
    far = f"{100 * share:.0f} % of the audited rows lie outside them"
    return f"how good the model is on rows like its training rows, because {far}"


def _unmoved(e: Evidence) -> str:
    """Say that nothing was seen to depend on any feature."""
    view = Pfi.find(e.run)
    if view is None or not view.lines or not all(line.exact_zero for line in view.lines):
        return ""
    return "which features matter for the outcome, because shuffling any of them changes no prediction"


def _is_open(e: Evidence) -> bool:
    """Say whether calibration was looked at, and is neither shown nor rejected."""
    return Calibration.find(e.run) is not None and e.gate.tone not in ("good", "bad")


def _has_losses(e: Evidence) -> bool:
    """Say whether there are importances for a loss."""
    view = Pfi.find(e.run)
    return view is not None and any(e.words(measure).role == "loss" for measure in view.measures)


_JUDGES: tuple[Callable[[Evidence], str], ...] = (_few_events, _few_clusters, _outside, _unmoved)
