"""What a reader must know of how a model is called: outputs that are not read, and what its adapter has to say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from ..engine.fast_path_evaluator import Engine
from ..model.adapter import Remarks
from ..model.subject import Subject
from ..predictive import Distribution
from .stochastic import Members

# Modules of wrappers whose calibrated output no adapter reads.
CALIBRATED = ("crepes", "deel.puncc", "mapie", "nonconformist")


@runtime_checkable
class RowRemarks(Protocol):
    """Optional: a distribution that has something to say of its rows (quantiles that cross)."""

    def row_remarks(self) -> tuple[str, ...]:
        """Return sentences for the report, with row numbers; none for plain rows."""


def with_model_notes(subject: Subject, few: Distribution, rows: Engine) -> Subject:
    """Return the subject with the remarks on its model and on its predictions before its other notes.

    All rows are predicted, by the engine `rows`, only if those of `few` can have something to say.
    """
    adapter = subject.adapter.inner if isinstance(subject.adapter, Members) else subject.adapter
    says = isinstance(adapter, Remarks)  # then it knows what it reads
    own = adapter.remarks(subject.model) if isinstance(adapter, Remarks) else ()
    unread = "" if says else unread_output(subject.model)
    return replace(subject, notes=(*([unread] if unread else []), *own, *_of_rows(few, rows), *subject.notes))


def _of_rows(few: Distribution, rows: Engine) -> tuple[str, ...]:
    dist = rows.baseline if isinstance(few, RowRemarks) else few
    return dist.row_remarks() if isinstance(dist, RowRemarks) else ()


def unread_output(model: Any) -> str:
    """Say that a wrapper's calibrated output is not read; empty for other models.

    Examples
    --------
    >>> WrapClassifier = type("WrapClassifier", (), {"__module__": "crepes.base"})
    >>> unread_output(WrapClassifier()).partition(";")[0]
    'WrapClassifier of crepes: its calibrated output (conformal intervals or p-values) is not read'
    >>> unread_output(object())
    ''
    """
    modules = [f"{cls.__module__}." for cls in type(model).__mro__]
    library = next((name for module in modules for name in CALIBRATED if module.startswith(f"{name}.")), "")
    if not library:
        return ""
    method = "predict_proba" if callable(getattr(model, "predict_proba", None)) else "predict"
    return (
        f"{type(model).__name__} of {library}: its calibrated output (conformal intervals or p-values) is not "
        f"read; what is audited is its {method}."
    )
