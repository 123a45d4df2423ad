"""The contract of adapters: by themselves, and with a model and rows of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.model.adapter import Adapter, Differentiates, Match, SharesCalls
from ..core.model.derivatives import finite_differences, floating, numbers, spread
from ..core.predictive import Distribution
from ..core.support.arrays import Table, take_rows
from ..runner import plugins
from .contract import require, require_declared

_STRANGERS: tuple[object, ...] = (object(), None, 3, "model", {}, [1])


def adapter_checks() -> tuple[Callable[[type[Adapter]], None], ...]:
    """Return every check of an adapter class."""
    return (check_adapter_declares_itself, check_adapter_ignores_strangers)


def adapter_model_checks() -> tuple[Callable[[type[Adapter], Any, Table], None], ...]:
    """Return every check that takes an adapter class, a model it speaks for, and rows of numbers."""
    return (
        check_adapter_predicts_its_model,
        check_adapter_predicts_row_by_row,
        check_adapter_leaves_rows_alone,
        check_adapter_derivatives_hold,
    )


def check_adapter_declares_itself(cls: type[Adapter]) -> None:
    """Require the members of the contract, and optional hooks that are whole."""
    require_declared(plugins.ADAPTERS, cls)


def check_adapter_ignores_strangers(cls: type[Adapter]) -> None:
    """Require that objects that are no model match nothing and raise nothing."""
    for stranger in _STRANGERS:
        require(cls().matches(stranger) is None, cls, f"must return None for {stranger!r}")


def check_adapter_predicts_its_model(cls: type[Adapter], model: Any, X: Table) -> None:
    """Require a match with its reason, one distribution per row, and whole numbers of rows per call."""
    adapter = cls()
    match = adapter.matches(model)
    require(isinstance(match, Match) and bool(match.reason), cls, "must match its model, with a reason")
    dist = adapter.predict(model, X)
    require(isinstance(dist, Distribution) and len(dist) == len(X), cls, "must return one distribution per row")
    sizes = [adapter.batch_rows(model), adapter.rows_together(model) if isinstance(adapter, SharesCalls) else None]
    whole = all(size is None or (isinstance(size, int) and size >= 1) for size in sizes)
    require(whole, cls, f"must give rows per call as a whole number or None; got {sizes}")


def check_adapter_predicts_row_by_row(cls: type[Adapter], model: Any, X: Table) -> None:
    """Require that a row's distribution does not depend on the rows beside it."""
    backwards = np.arange(len(X))[::-1]
    whole, turned = (cls().predict(model, rows) for rows in (X, take_rows(X, backwards)))
    for name in sorted(whole.supports & {"mean", "variance", "entropy"}):
        forth, back = getattr(whole, name)(), getattr(turned, name)()
        require(
            np.allclose(forth[backwards], back), cls, f"must predict each row by itself; its {name} depends on others"
        )


def check_adapter_leaves_rows_alone(cls: type[Adapter], model: Any, X: Table) -> None:
    """Require that predicting does not change the rows."""
    before = X.copy()
    cls().predict(model, X)
    require(np.array_equal(before, X), cls, "must not change the rows it predicts")


def check_adapter_derivatives_hold(cls: type[Adapter], model: Any, X: Table) -> None:
    """Require of an adapter with derivatives that they agree with differences of its predictions."""
    adapter, columns = cls(), list(range(X.shape[1]))
    rows = floating(X, columns)
    rule = adapter.derivatives(model, rows, 2) if isinstance(adapter, Differentiates) else None
    if rule is None:
        return
    spreads = np.array([spread(numbers(rows, column)) for column in columns])
    plain = finite_differences(rows, columns, spreads, lambda X: adapter.predict(model, X), 2)
    scale = np.abs(plain.values).max()
    for order, exact, differences in (("first", rule.first, plain.first), ("second", rule.second, plain.second)):
        if exact is not None:
            where = np.isfinite(exact)
            same = np.allclose(exact[where], np.asarray(differences)[where], rtol=1e-3, atol=1e-4 * scale)
            require(same, cls, f"must give {order} derivatives that agree with differences")
