"""Profiles of the leading features: PDP and ICE of prediction, nll and entropy, with the data beside."""

from __future__ import annotations

from ...core.results import Result
from ...plots import profile
from ..blocks import intervals_caption, left_out, make_figure, notes_of
from ..document import Block, Paragraph, Section
from ..evidence import Evidence
from ..tables import ends_table
from ..telling import ordered, range_words
from ..text import items, joined, name
from .extras import extras

TITLE = "Profiles (PDP and ICE)"
MOST = 6
PREFERRED = ("prediction", "nll", "entropy")
KNOWN = ("pdp", "pdp.own", "pdp.distribution")
LEAD = (
    "Each thin curve is one row: its measure as the feature alone is changed (ICE); its mark is the row's own value. "
    "The thick line is the mean over all rows (PDP). Far from its mark a curve asks the model about rows that may "
    "not occur."
)


def profiles(e: Evidence) -> Section:
    """Return the profiles of the leading features, or why there are none."""
    result = e.find("pdp")
    if result is None:
        return Section(id="profiles", title=TITLE, blocks=(Paragraph(text=e.why_missing("pdp")),))
    held = [str(f) for f in dict.fromkeys(result.frame["feature"])]
    chosen = leading(e, held)
    rest = [feature for feature in held if feature not in chosen]
    blocks: list[Block] = [Paragraph(text=LEAD), *e.warning(_measures(result)), *left_out(result)]
    if rest:
        text = "Shown are the leading features by Likelihood- and Entropy-PFI. In the evidence:"
        blocks.append(Paragraph(text=f"{text} {joined(items(rest), 40)}."))
    blocks += [Paragraph(text=notes_of(result))] if result.notes else []
    blocks += ends_table(e, result, chosen, _measures(result), "profiles-table")
    sections = [_feature(e, result, feature, k) for k, feature in enumerate(chosen, 1)]
    return Section(id="profiles", title=TITLE, blocks=tuple(blocks), sections=(*sections, *extras(e, "pdp", KNOWN)))


def leading(e: Evidence, held: list[str], most: int = MOST) -> list[str]:
    """Return the features leading by nll and by entropy importance, in turn; without importances the first ones."""
    result = e.find("pfi")
    rankings = []
    if result is not None:
        for measure in ("nll", "entropy"):
            table = ordered(result.estimates[result.estimates["measure"] == measure])
            rankings.append([str(f) for f in table["feature"] if str(f) in held])
    turns = [ranking[k] for k in range(len(held)) for ranking in rankings if k < len(ranking)]
    return list(dict.fromkeys([*turns, *held]))[:most]


def _measures(result: Result) -> list[str]:
    held = [str(m) for m in dict.fromkeys(result.frame["measure"])]
    return [m for m in PREFERRED if m in held] or held[: len(PREFERRED)]


def _feature(e: Evidence, result: Result, feature: str, number: int) -> Section:
    """Return one feature's profiles."""
    table = result.estimates[result.estimates["feature"] == feature]
    held = set(result.frame.loc[result.frame["feature"] == feature, "measure"])
    measures = [m for m in _measures(result) if m in held]
    text = " ".join(filter(None, (range_words(table[table["measure"] == m], e.words(m)) for m in measures)))
    own, distribution = e.find("pdp.own"), e.find("pdp.distribution")
    figure = make_figure(
        f"profiles-{number}-figure",
        f"{name(feature)}: average and single rows. {intervals_caption(table)} Bands are pointwise.",
        f"Profiles of {name(feature)}. {text}",
        lambda: profile.draw(result, feature, measures, own, distribution),
        result.id,
    )
    found = e.findings_on([r.id for r in e.of("pdp")], feature)
    about = [Paragraph(text=f"Findings on this profile: {joined([f.code for f in found])}.")] if found else []
    return Section(id=f"profiles-{number}", title=name(feature), blocks=(Paragraph(text=text), *about, figure))
