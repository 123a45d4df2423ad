"""What the built-in measures are called on axes and in sentences, where the result itself does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class MeasureWords(NamedTuple):
    """Title, unit and role of a measure; the role is empty where it is not known."""

    title: str
    unit: str
    role: str


BUILT_IN: dict[str, MeasureWords] = {
    "prediction": MeasureWords("prediction", "", "prediction"),
    "log_odds": MeasureWords("log-odds", "log-odds", "prediction"),
    "squared_error": MeasureWords("squared error", "units of y, squared", "loss"),
    "absolute_error": MeasureWords("absolute error", "units of y", "loss"),
    "brier": MeasureWords("Brier score", "0 to 2", "loss"),
    "zero_one": MeasureWords("0-1 loss", "share of rows", "loss"),
    "one_minus_auc": MeasureWords("1 − AUC", "probability", "loss"),
    "nll": MeasureWords("negative log-likelihood", "nats", "loss"),
    "entropy": MeasureWords("entropy", "nats", "uncertainty"),
    "variance": MeasureWords("predictive variance", "units of y, squared", "uncertainty"),
    "aleatoric": MeasureWords("aleatoric entropy", "nats", "uncertainty"),
    "epistemic": MeasureWords("epistemic entropy", "nats", "uncertainty"),
    "aleatoric_variance": MeasureWords("aleatoric variance", "units of y, squared", "uncertainty"),
    "epistemic_variance": MeasureWords("epistemic variance", "units of y, squared", "uncertainty"),
}


def words(measure: str, meta: Mapping[str, Any] | None = None) -> MeasureWords:
    """Return a measure's words: what the result's ``meta["measures"]`` records, else ours, else its name.

    Examples
    --------
    >>> words("nll").title
    'negative log-likelihood'
    >>> words("gini", {"measures": {"gini": {"unit": "probability", "role": "uncertainty"}}})
    MeasureWords(title='gini', unit='probability', role='uncertainty')
    """
    known = BUILT_IN.get(measure, MeasureWords(measure.replace("_", " "), "", ""))
    recorded = (meta or {}).get("measures")
    said = recorded.get(measure, {}) if isinstance(recorded, Mapping) else {}
    if not isinstance(said, Mapping):
        return known
    title = str(said.get("title") or known.title)
    return MeasureWords(title, str(said.get("unit", known.unit)), str(said.get("role", known.role)))


def axis_label(measure: str, meta: Mapping[str, Any] | None = None) -> str:
    """Return ``"title (unit)"`` for an axis, ``"title (of it), unit"`` where the title has brackets of its own."""
    said = words(measure, meta)
    if not said.unit:
        return said.title
    return f"{said.title}, {said.unit}" if said.title.endswith(")") else f"{said.title} ({said.unit})"


def number(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and a real minus sign.

    Examples
    --------
    >>> number(-0.012345), number(1234.5), number(0.0), number(-6.54e-7)
    ('−0.0123', '1230', '0', '−6.54×10⁻⁷')
    """
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if not -4 <= exponent <= 5:
        return f"{mantissa.replace('-', '−')}×10{power_of_ten(exponent)}"
    places = digits - 1 - exponent
    return f"{round(value, places):.{max(0, places)}f}".replace("-", "−")


def power_of_ten(exponent: int) -> str:
    """Return an exponent as superscripts, ``⁻⁷``."""
    return str(exponent).translate(_SUPERSCRIPT)
