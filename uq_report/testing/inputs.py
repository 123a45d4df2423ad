"""The contracts of adapters, loaders and fast paths: by themselves, and with a model, source or subject of theirs."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.engine.fast_path_evaluator import Engine, FastPath, Mixes
from ..core.model.adapter import Adapter, Differentiates, HasSha256, Loader, Match, SharesCalls, TakesOptions
from ..core.model.derivatives import finite_differences, floating, numbers, spread
from ..core.model.subject import Subject
from ..core.model.variants import Mix, Variant
from ..core.predictive import Distribution
from ..core.support.arrays import Table, same_table, take_rows
from ..core.support.text import is_sha256
from ..runner import plugins
from .known import linear_subject, measures, require, require_declared

_NO_MODELS: tuple[object, ...] = (object(), None, 3, "model", {}, [1])


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
    for stranger in _NO_MODELS:
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


_NO_SOURCES = ("", "no source", "file.of-no-format", "no-scheme-of-ours://host/path")


def loader_checks() -> tuple[Callable[[type[Loader]], None], ...]:
    """Return every check of a loader class."""
    return (check_loader_declares_itself, check_loader_takes_its_options, check_loader_ignores_strangers)


def loader_source_checks() -> tuple[Callable[[type[Loader], str], None], ...]:
    """Return every check that takes a loader class and a source it reads."""
    return (check_loader_reads_its_source, check_loader_leaves_its_source_alone)


def check_loader_declares_itself(cls: type[Loader]) -> None:
    """Require the members of the contract, and a kind: model or data."""
    require_declared(plugins.LOADERS, cls)


def check_loader_takes_its_options(cls: type[Loader]) -> None:
    """Require that `load` has the arguments it lists as options."""
    loader = cls()
    options = loader.options if isinstance(loader, TakesOptions) else ()
    arguments = inspect.signature(cls.load).parameters.values()
    names = {argument.name for argument in arguments}
    unknown = sorted(set(options) - names)
    takes_any = any(argument.kind is argument.VAR_KEYWORD for argument in arguments)
    require(takes_any or not unknown, cls, f"must take its options in load; missing {unknown}")


def check_loader_ignores_strangers(cls: type[Loader]) -> None:
    """Require that it matches no source that is not its own, whether it exists or not."""
    for stranger in _NO_SOURCES:
        require(cls().matches(stranger) is False, cls, f"must return False for {stranger!r}")


def check_loader_reads_its_source(cls: type[Loader], source: str) -> None:
    """Require that it matches by the spelling alone, and returns a model, or a table with rows."""
    loader, elsewhere = cls(), source.replace(str(Path(source).parent), "/no/such/folder")
    for spelling in (source, elsewhere):
        require(loader.matches(spelling) is True, cls, f"must match {spelling!r} by its spelling alone")
    content = loader.load(source)
    if loader.kind == "data":
        require(isinstance(content, pd.DataFrame) and len(content) > 0, cls, "must return a DataFrame with rows")
    require(content is not None, cls, "must return the model")
    if isinstance(loader, HasSha256):
        digest = loader.sha256(source)
        require(digest == "" or is_sha256(digest), cls, f"must return a SHA-256 or nothing; got {digest!r}")


def check_loader_leaves_its_source_alone(cls: type[Loader], source: str) -> None:
    """Require that reading does not change a file."""
    file = Path(source)
    before = file.read_bytes() if file.is_file() else b""
    cls().load(source)
    require(before == (file.read_bytes() if file.is_file() else b""), cls, "must not change its source")


def fast_path_checks() -> tuple[Callable[[type[FastPath]], None], ...]:
    """Return every check of a fast path class."""
    return (check_fast_path_declares_itself, check_fast_path_ignores_strangers)


def fast_path_model_checks() -> tuple[Callable[[type[FastPath], Subject], None], ...]:
    """Return every check that takes a fast path class and a subject it is for."""
    return check_fast_path_agrees_with_the_model, check_fast_path_mixes_as_the_model


def check_fast_path_declares_itself(cls: type[FastPath]) -> None:
    """Require the members of the contract, and a title."""
    require_declared(plugins.FAST_PATHS, cls)
    require(bool(cls.title.strip()), cls, "must have a title")


def check_fast_path_ignores_strangers(cls: type[FastPath]) -> None:
    """Require that it finds no structure in a model that it does not know."""
    subject = linear_subject()
    shortcut = cls().shortcut(subject.model, subject.adapter, subject.X)
    require(shortcut is None, cls, "must return None for a model without its structure")


def check_fast_path_agrees_with_the_model(cls: type[FastPath], subject: Subject) -> None:
    """Require that it predicts changed rows as the model does, in every measure, and leaves the rows alone."""
    plain, fast = (Engine(subject, measures(), fast_paths=paths) for paths in ((), (cls(),)))
    chosen = plain.select(plain.measures)[0]
    before = subject.X.copy()
    for engines in zip(*(engine.evaluate(_changes(subject), chosen) for engine in (plain, fast)), strict=True):
        theirs, ours = (group.values for group in engines)
        require(np.allclose(theirs, ours, rtol=1e-9, atol=1e-9), cls, "must predict changed rows as the model does")
    served = fast.served[cls.name]
    require(served.rows > 0 and not served.dropped, cls, f"must predict changed rows; it {served}")
    require(same_table(before, subject.X), cls, "must not change the rows")


def check_fast_path_mixes_as_the_model(cls: type[FastPath], subject: Subject) -> None:
    """Require of one that predicts mixed rows that it does so as the model does, in every measure."""
    if not isinstance(cls(), Mixes):
        return
    plain, fast = (Engine(subject, measures(), fast_paths=paths) for paths in ((), (cls(),)))
    chosen = [measure for measure in plain.select(plain.measures)[0] if not measure.needs_base]
    rng = np.random.default_rng(0)
    mixes = [
        Mix(row, rng.random((2 + row, len(subject.features))) < 0.5, rng.integers(0, subject.n, 3)) for row in range(3)
    ]
    theirs, ours = (e.mixing(subject.X, chosen, sum(map(len, mixes)), e.y)(mixes) for e in (plain, fast))
    require(np.allclose(theirs, ours, rtol=1e-9, atol=1e-9), cls, "must predict mixed rows as the model does")
    served = fast.served[cls.name]
    require(served.rows > 0 and not served.dropped, cls, f"must predict mixed rows; it {served}")


def _changes(subject: Subject) -> Iterator[Variant]:
    """Yield each column and neighbouring pair with other rows' values, with one value, and with a value a row."""
    order, last = np.random.default_rng(0).permutation(subject.n), subject.n - 1
    source = [subject.values(feature) for feature in subject.features]
    pairs = [(c, c + 1) for c in range(len(source) - 1)]
    for columns in ((), *((c,) for c in range(len(source))), *pairs):
        yield Variant(columns, donors=order)
        yield Variant(columns, tuple(source[c][last] for c in columns))
        yield Variant(columns, tuple(source[c][order[::-1]] for c in columns))
