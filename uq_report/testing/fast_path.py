"""The contract of fast paths: by themselves, and with a subject whose model has their structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..core.engine.fast_path import FastPath
from ..core.engine.fast_path_evaluator import Engine, Mixes
from ..core.model.subject import Subject
from ..core.model.variants import Mix, Variant
from ..core.support.arrays import same_table
from ..runner import plugins
from .contract import require, require_declared
from .known import linear_subject, measures


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
