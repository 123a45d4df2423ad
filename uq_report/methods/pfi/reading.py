"""Likelihood- and Entropy-PFI read together, on two axes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic
from .tables import ShuffleTables

Line = dict[Hashable, Any]
LIKELIHOODS = ("nll", "nll_clipped")

# (likelihood verdict, entropy verdict) -> reading
READINGS: dict[tuple[str, str], str] = {
    ("positive", "positive"): "matters, and the model notices",
    ("positive", "about 0"): "matters for the loss, not for the doubt",
    ("positive", "negative"): "matters for the loss, surer when shuffled",
    ("about 0", "positive"): "less sure without predicting worse",
    ("about 0", "about 0"): "matters for neither on its own",
    ("about 0", "negative"): "surer when shuffled",
    ("negative", "positive"): "predicts better when shuffled, less sure",
    ("negative", "about 0"): "predicts better when shuffled",
    ("negative", "negative"): "predicts better when shuffled, surer",
}
LOSS = {
    "positive": "predicts worse by {} nats",
    "about 0": "predicts no worse beyond the margin",
    "negative": "predicts better by {} nats",
}
DOUBT = {
    "positive": "becomes less sure by {} nats",
    "about 0": "is as sure as before, within the margin",
    "negative": "becomes surer by {} nats: whether it is right there cannot be judged from these rows",
}
UNUSED = " No shuffle changed a single row: the model does not use it."


def read_pair(tables: ShuffleTables, estimates: pd.DataFrame) -> Diagnostic | None:
    """Return the result ``pfi.reading``, from the verdicts only, or None unless both measures are there.

    A frame line has the Entropy-PFI in ``x``, the Likelihood-PFI in ``value`` and the reading in ``item``;
    ``meta["sentences"]`` has a sentence for each feature: does it matter for the loss, and does the model notice.
    Whether it shares information with others is never read off these two.
    """
    lines = {(line["measure"], line["feature"]): line for line in estimates.to_dict("records")}
    measures = {measure for measure, _ in lines}
    likelihood = next((name for name in LIKELIHOODS if name in measures), None)
    if likelihood is None or "entropy" not in measures:
        return None
    pair = [tables.names.index(name) for name in ("entropy", likelihood)]
    records, sentences = [], {}
    for feature, term in zip(tables.features, tables.terms, strict=True):
        E, L = (lines.get((name, feature)) for name in ("entropy", likelihood))
        if E is None or L is None:
            continue
        item, sentences[feature] = _reading(feature, E, L, n=tables.rows.n, unused=bool((term.still[pair] == 1).all()))
        records.append(("", feature, item, E["estimate"], L["estimate"]))
    return Diagnostic(
        id="pfi.reading",
        explainer="pfi",
        title="Likelihood-PFI against Entropy-PFI",
        frame=pd.DataFrame(records, columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        options=tables.options,
        notes=(
            "Read from the verdicts only.",
            "Entropy-PFI is the part of the damage the model notices; Likelihood-PFI minus it the part it does not.",
        ),
        meta={"sentences": sentences, "likelihood": likelihood},
    )


def _reading(feature: str, E: Line, L: Line, *, n: int, unused: bool) -> tuple[str, str]:
    """Return the short reading and the sentence of one feature."""
    pair = str(L["verdict"]), str(E["verdict"])
    if "undetermined" in pair:
        return "undetermined", _undetermined(feature, E, L, n)
    sizes = (f"{abs(row['estimate']):.2g}" for row in (L, E))
    loss, doubt = (words[verdict].format(size) for words, verdict, size in zip((LOSS, DOUBT), pair, sizes, strict=True))
    joint = "but" if pair == ("positive", "about 0") else "and"
    return READINGS[pair], f"With wrong values of {feature} the model {loss} {joint} {doubt}.{UNUSED if unused else ''}"


def _undetermined(feature: str, E: Line, L: Line, n: int) -> str:
    """Say what is not known: why no interval is to be trusted, else how many rows more than these would tell."""
    if np.isnan([E["std_error"], L["std_error"]]).any():
        return f"Without an interval the importance of {feature} is not judged."
    unknown = {name: row for name, row in (("entropy", E), ("likelihood", L)) if row["verdict"] == "undetermined"}
    sentence = f"These rows do not decide the {' and the '.join(unknown)} importance of {feature}."
    reasons = {name: row["unreliable"] for name, row in unknown.items() if row["unreliable"]}
    if reasons:
        return sentence + "".join(f" The {name} interval is not to be trusted: {why}." for name, why in reasons.items())
    needed = np.max([float(row["n_needed"]) for row in unknown.values()])  # NaN if one is
    return f"{sentence} About {needed:.0f} rows would if the spread stays as it is." if needed > n else sentence
