"""Which features lead, chosen before the cost of a method that does not pay for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

from ...core.explainer import Prior
from ...evidence import columns as col
from ...evidence import ids

LED = 20  # features that get what not all of many can have


def leading(features: Sequence[str], prior: Prior, most: int = LED) -> tuple[tuple[str, ...], str]:
    """Return at most `most` features, in the order given, and the rule in words: empty where all of them lead.

    The first features of each measure's permutation importance by size, a feature of every measure in turn. Where
    that did not run before, the first of the data.

    Examples
    --------
    >>> leading(["a", "b", "c"], {}, 2)
    (('a', 'b'), 'the first 2 of 3 features')
    """
    if len(features) <= most:
        return tuple(features), ""
    result = next((result for result in prior.get(ids.PFI, ()) if result.id == ids.PFI), None)
    rule, ranked = f"the first {most} of {len(features)} features", list(features)
    if result is not None and len(result.estimates):
        rule = f"the {most} of {len(features)} features that lead in permutation importance, each measure in turn"
        table = result.estimates.assign(size=result.estimates[col.ESTIMATE].abs())
        table = table[table[col.FEATURE].isin(features)].sort_values("size", ascending=False, kind="stable")
        orders = [part[col.FEATURE].astype(str) for _, part in table.groupby(col.MEASURE, sort=False)]
        turns = filter(None, chain.from_iterable(zip_longest(*orders)))
        ranked = list(dict.fromkeys([*turns, *features]))
    chosen = set(ranked[:most])
    return tuple(feature for feature in features if feature in chosen), rule
