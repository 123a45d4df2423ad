"""Wood's reading of Likelihood- and Entropy-PFI together, and what is important on training rows only."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..core.measures import Measure
from ..core.results import ESTIMATE_COLUMNS, Diagnostic, Importance
from ._pfi_tables import Tables

Line = dict[Hashable, Any]
LIKELIHOODS = ("nll", "nll_clipped")

# (entropy verdict, likelihood verdict) -> reading
READINGS: dict[tuple[str, str], str] = {
    ("about 0", "about 0"): "uninformative here",
    ("about 0", "positive"): "informative, not shared",
    ("about 0", "negative"): "better without it",
    ("positive", "about 0"): "copy or spurious link",
    ("positive", "positive"): "informative, shared",
    ("positive", "negative"): "better without it",
    ("negative", "about 0"): "extrapolation alarm",
    ("negative", "positive"): "extrapolation alarm",
    ("negative", "negative"): "extrapolation alarm, better without it",
}
SENTENCES = {
    "uninformative here": """Shuffling {feature} changes neither likelihood nor confidence by more than the margin:
        it is uninformative on these rows.""",
    "informative, not shared": """{feature} is informative and shares nothing that the model's confidence shows with
        other features: its likelihood importance can be trusted.""",
    "informative, shared": """{feature} shares task information with other features, so its likelihood importance,
        as any permutation importance of a loss, under-reports it.""",
    "copy or spurious link": """Shuffling {feature} costs confidence but no likelihood: it is a copy of another
        feature, or a spurious link the model keys on.""",
    "better without it": "The model does better when {feature} is shuffled: it is over-fitted to {feature}.",
    "extrapolation alarm": """The model is more confident on shuffled values of {feature}, off the distribution it
        knows: its confidence there means little.""",
    "extrapolation alarm, better without it": """The model is more confident and does better on shuffled values of
        {feature}: it is over-fitted to {feature}, and its confidence off the distribution it knows means little.""",
}
UNUSED = " No shuffle changed a single row: the model does not use it."


def read_pair(tables: Tables, estimates: pd.DataFrame) -> Diagnostic | None:
    """Return the result ``pfi.reading``, from the verdicts only, or None unless both measures are there.

    A frame line has the Entropy-PFI in ``x``, the Likelihood-PFI in ``value`` and the reading in ``item``;
    ``meta["sentences"]`` has a sentence for each feature (Wood et al., section 3.5).
    """
    lines = {(line["measure"], line["feature"]): line for line in estimates.to_dict("records")}
    held = {measure for measure, _ in lines}
    likelihood = next((name for name in LIKELIHOODS if name in held), None)
    if likelihood is None or "entropy" not in held:
        return None
    pair = [tables.names.index(name) for name in ("entropy", likelihood)]
    records, sentences = [], {}
    for feature, term in zip(tables.features, tables.terms, strict=True):
        E, L = (lines.get((name, feature)) for name in ("entropy", likelihood))
        if E is None or L is None:
            continue
        item, sentences[feature] = _reading(feature, E, L, unused=bool((term.still[pair] == 1).all()))
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


def _reading(feature: str, E: Line, L: Line, *, unused: bool) -> tuple[str, str]:
    """Return the short reading and the sentence of one feature."""
    pair = str(E["verdict"]), str(L["verdict"])
    if "undetermined" in pair:
        return "undetermined", _undetermined(feature, E, L)
    item = READINGS[pair]
    sentence = " ".join(SENTENCES[item].split()).format(feature=feature)
    return item, sentence + (UNUSED if unused else "")


def _undetermined(feature: str, E: Line, L: Line) -> str:
    """Say what is not known, and how many rows would tell where that can be said."""
    if np.isnan([E["std_error"], L["std_error"]]).any():
        return f"Without an interval the importance of {feature} is not judged."
    names = [name for name, row in (("entropy", E), ("likelihood", L)) if row["verdict"] == "undetermined"]
    needed = np.array([row["n_needed"] for row in (E, L) if row["verdict"] == "undetermined"], dtype=float)
    sentence = f"These rows do not decide the {' and the '.join(names)} importance of {feature}."
    return sentence if np.isnan(needed).any() else f"{sentence} About {int(needed.max())} rows would."


def trained_only(test: Importance, train: Importance, measures: Sequence[Measure]) -> list[dict[str, str]]:
    """Return the features important on training rows only, by loss.

    Test verdict about 0 or negative, training importance above the margin and above the test interval.
    """
    losses = [measure.name for measure in measures if measure.role == "loss"]
    both = test.estimates.merge(train.estimates[["measure", "feature", "estimate"]], on=["measure", "feature"])
    flagged = both[
        both["measure"].isin(losses)
        & both["verdict"].isin(["about 0", "negative"])
        & (both["estimate_y"] > both["margin"])
        & (both["estimate_y"] > both["upper"])
    ]
    return [{"measure": m, "feature": f} for m, f in zip(flagged["measure"], flagged["feature"], strict=True)]
