"""What changed since the previous run: findings, estimates with intervals of their differences, and inputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from ..checks.reading import listed
from ..core.support.errors import InputError
from ..core.support.text import is_sha256, short
from ..evidence import codec, ids
from ..evidence.finding import SEVERITIES, Finding
from ..evidence.run import SUBJECT_FACTS, UNRELATED, FindingChange, InputChange, Run, RunChanges, ValueChange
from .differences import differences

EVERYTHING = "Findings, values and inputs: a difference between the two runs would be no change."
WAIVED = "waived"
_MAX_TEXT = 200
_Change = Literal["new", "worse", "better", "moved", "closed", "unchanged"]
_Key = tuple[str, tuple[str, ...]]
_ORDER: Mapping[str, int] = {"new": 0, "worse": 0, "better": 1, "moved": 1, "closed": 2, "unchanged": 3}
_HIGHER_IS_BETTER = ("_skill", "accuracy", "roc_auc")
_SCORES = ("log_score", "brier", "crps", "accuracy", "roc_auc")


def changes(previous: Run, run: Run) -> RunChanges:
    """Return what changed from one audit to the next; the same inputs give no change.

    Two runs of unrelated models (another task, no feature or class in common) have no changes, and say why. Findings
    are matched by code and features; those on features that one run alone has are no changes. Estimates are compared
    by the interval of their difference: paired where both runs hold row terms of the same rows, see `differences`.
    What got worse comes first.
    What cannot be compared is listed with its reason, never left out in silence.

    Parameters
    ----------
    previous, run : Run
        Another label, other classes or other features are noted.
    """
    relation = Relation.of(previous, run)
    about = {"as_of": previous.as_of, "label": str(previous.subject["label"]), "sha256": codec.sha256(previous)}
    if relation.unrelated:
        return RunChanges(previous=about | {UNRELATED: relation.unrelated}, not_compared=(EVERYTHING,))
    findings, unassessed = _findings(previous, run, relation)
    values, gaps = differences(previous, run)
    return RunChanges(
        previous=about,
        findings=tuple(sorted(findings, key=_finding_order)),
        values=tuple(sorted(values, key=_value_order)),
        inputs=_inputs(previous, run),
        not_compared=(*filter(None, [relation.words]), *_notes(previous, run), *unassessed, *gaps),
    )


def check_comparable(previous: Run, run: Run) -> None:
    """Refuse a previous run whose numbers mean something else."""
    before, now = previous.subject.get("task"), run.subject.get("task")
    if before != now:
        raise InputError(
            f"audit.previous must be an audit of the same task, {now}; got one of {before}. Name a run of this audit."
        )


def _notes(previous: Run, run: Run) -> Iterator[str]:
    """Say what a reader must know before any change is read."""
    before, now = previous.subject["label"], run.subject["label"]
    if before != now:
        yield f"The previous run audited {before!r}, this one {now!r}: differences may be those of two models."
    hashes = [str(either.subject["hashes"].get("model", "")) for either in (previous, run)]
    if any(not is_sha256(text) for text in hashes):
        yield "Whether the model is the same: at least one of the runs has no hash of its model."
    if previous.challenger is not None or run.challenger is not None:
        yield "The challenger's own audit; only the champion's is compared."


class Relation(NamedTuple):
    """The features of both runs and of either alone, and why the two have nothing to do with each other, if so."""

    shared: tuple[str, ...]
    before: tuple[str, ...]
    now: tuple[str, ...]
    unrelated: str

    @classmethod
    def of(cls, previous: Run, run: Run) -> Relation:
        """Read the facts about both subjects."""
        old, new = (tuple(str(f["name"]) for f in each.subject.get("features") or ()) for each in (previous, run))
        shared = tuple(feature for feature in new if feature in old)
        reasons = list(_tasks(previous, run))
        if old and new and not shared:
            reasons.append(f"they have no feature in common ({listed(old)} before, {listed(new)} now)")
        unrelated = f"The two runs are of unrelated models: {'; '.join(reasons)}" if reasons else ""
        before, now = (tuple(f for f in features if f not in shared) for features in (old, new))
        return cls(shared, before, now, unrelated)

    @property
    def words(self) -> str:
        """What is compared where features differ; empty where they are the same."""
        sides = ((self.before, "only in the previous run"), (self.now, "only in this run"))
        apart = "; ".join(f"{listed(features)}, {where}" for features, where in sides if features)
        return f"{apart}. Compared is what both runs have: {listed(self.shared)}." if apart else ""

    def holds(self, features: Iterable[str]) -> bool:
        """Say whether something about these features may be compared."""
        return not set(features) & {*self.before, *self.now}


def _tasks(previous: Run, run: Run) -> Iterator[str]:
    """Say why two models answer different questions."""
    before, now = (str(each.subject.get("task") or "") for each in (previous, run))
    if before and now and before != now:
        yield f"the previous one is of {before}, this one of {now}"
        return
    old, new = (tuple(map(str, each.subject.get("classes") or ())) for each in (previous, run))
    if old and new and not set(old) & set(new):
        yield f"they predict other classes ({listed(map(short, old))} before, {listed(map(short, new))} now)"


class _State(NamedTuple):
    """A finding's title and state in one run: its worst severity while open, else ``waived``."""

    title: str
    state: str


_NONE = _State("", "")


def _findings(previous: Run, run: Run, relation: Relation) -> tuple[list[FindingChange], list[str]]:
    """Return the findings of both runs, matched, and those of before that nothing now raises or clears."""
    before, now = _states(previous), _states(run)
    moved = _moved(before, now)
    changed, unassessed = [], []
    for key in filter(lambda key: relation.holds(key[1]), dict.fromkeys([*now, *before])):
        code, features = key
        old, new = before.get(key, _NONE), now.get(key, _NONE)
        reason = _undecided(run, previous, code) if key not in now else None
        if reason is not None:
            about = f" ({', '.join(features)})" if features else ""
            unassessed.append(f"{code}{about}, found before, is not cleared: {reason}.")
            continue
        change, title = _change(old.state, new.state), new.title or old.title
        change = "moved" if key in moved and change == "unchanged" else change
        changed.append(
            FindingChange(code=code, title=title, features=features, change=change, before=old.state, now=new.state)
        )
    return changed, unassessed


def _moved(before: dict[_Key, _State], now: dict[_Key, _State]) -> set[_Key]:
    """Match what was found before with the one finding of its code that is now about other features."""
    moved = set()
    for code in dict.fromkeys(code for code, _ in now):
        old, new = (
            [key for key in mine if key[0] == code and key not in other]
            for mine, other in ((before, now), (now, before))
        )
        if len(old) == len(new) == 1:
            before[new[0]] = before.pop(old[0])
            moved.add(new[0])
    return moved


def _finding_order(change: FindingChange) -> tuple[int, int]:
    """Sort what is new or worse before what is better, closed or unchanged, each by its worst severity."""
    states = [SEVERITIES.index(state) for state in (change.before, change.now) if state in SEVERITIES]
    return _ORDER[change.change], min(states, default=len(SEVERITIES))


def _value_order(value: ValueChange) -> tuple[bool, bool, float]:
    """Sort what changed before what did not, scores that got worse first, then by the size of the change.

    The size is in half-widths of the interval; ranks have none and stand behind.
    """
    reach = 0.0 if value.lower is None or value.upper is None else (value.upper - value.lower) / 2
    worse = value.difference < 0 if value.measure.endswith(_HIGHER_IS_BETTER) else value.difference > 0
    scored = value.result == ids.CALIBRATION and value.measure.removesuffix("_skill").endswith(_SCORES)
    return not value.changed, not (scored and worse), -abs(value.difference) / reach if reach > 0 else 0.0


def _states(run: Run) -> dict[_Key, _State]:
    """Return the findings by code and features; open ones win over waived ones, and worse over better."""
    states: dict[_Key, _State] = {}
    for outcome in run.outcomes:
        for waived in outcome.waived:
            states.setdefault(_key(waived.finding), _State(waived.finding.title, WAIVED))
    for finding in sorted(run.findings, key=lambda f: SEVERITIES.index(f.severity), reverse=True):
        states[_key(finding)] = _State(finding.title, finding.severity)
    return states


def _key(finding: Finding) -> _Key:
    return finding.code, tuple(sorted(finding.features))


def _change(before: str, now: str) -> _Change:
    """Say how a finding moved; only open findings count as there."""
    if before == now:
        return "unchanged"
    if before not in SEVERITIES:
        return "new" if now in SEVERITIES else "unchanged" if now else "closed"
    if now not in SEVERITIES:
        return "closed"
    return "worse" if SEVERITIES.index(now) < SEVERITIES.index(before) else "better"


def _undecided(run: Run, other: Run, code: str) -> str | None:
    """Say why a run that does not raise a code does not clear it either, or return None if it does."""
    names = {
        outcome.check
        for either in (run, other)
        for outcome in either.outcomes
        if code in {rule.code for rule in outcome.rules} | {f.code for f in outcome.findings}
        or any(waived.finding.code == code for waived in outcome.waived)
    }
    now = [outcome for outcome in run.outcomes if outcome.check in names]
    if not now:
        return "its check is not installed"
    idle = [outcome for outcome in now if outcome.state in ("not_applicable", "skipped")]
    if len(idle) < len(now):
        return None
    return idle[0].reason.removeprefix("No verdict. ").rstrip(".")


def _inputs(previous: Run, run: Run) -> tuple[InputChange, ...]:
    before, now = _facts(previous), _facts(run)
    return tuple(
        InputChange(what=name, before=before.get(name, ""), now=now.get(name, ""))
        for name in dict.fromkeys([*now, *before])
        if before.get(name) != now.get(name)
    )


def _facts(run: Run) -> dict[str, str]:
    """Return what went into a run, by a name for readers."""
    subject = run.subject
    facts = {f"hash of {name}": str(value) for name, value in subject["hashes"].items()}
    facts |= {name.replace("_", " "): _text(subject.get(name)) for name in SUBJECT_FACTS}
    facts |= {"assumption": _text((subject.get("assumption") or {}).get("words"))}
    facts |= {f"feature {feature['name']}": str(feature["kind"]) for feature in subject["features"]}
    facts |= {f"model parameter {name}": _text(value) for name, value in subject["model_parameters"].items()}
    facts |= {f"version of {name}": _text(value) for name, value in run.environment.items()}
    settings = {name: value for name, value in run.settings.items() if name != "as_of"}
    return facts | {f"setting {name}": text for name, text in _flat(settings)}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: Any) -> str:
    """Return a JSON value as text, empty for nothing."""
    if value is None or value in ([], {}):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
