"""The model and the data under audit, validated once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ..statistics.time_blocks import Blocks, shortest_length
from ..support.arrays import AnyArray, FloatArray, IntArray, Table, column, take_rows
from ..support.calls import answering
from ..support.errors import InputError, nearest
from ..support.limits import check_limits
from ..support.text import count, short
from ..validation import inputs
from ..validation.inputs import Kind
from ..validation.residuals import Assumption
from .adapter import Adapter, BindsRows, FixedRowsOnly


@answering
@dataclass(frozen=True, kw_only=True, repr=False)
class Subject:
    """A model with the rows it is audited on. Build one with `uq_report.explain`.

    Rows are held as a copy with a fresh row index 0 .. n-1, which is the row number in every result.
    `groups` maps a name to feature names; `clusters` holds a code per row (rows of one cluster are
    dependent), of rows in order of time that of their block among `blocks`; `protected` maps an attribute
    to its values per row, whether the model uses it or not;
    `sampled_from` is the number of rows before a row limit drew from them. `notes` say what a reader must
    know of how the model is called, `assumption` what was laid over its predictions. `sources` and `hashes` say
    where the model and the data were read from, where that is known.
    """

    model: Any
    adapter: Adapter
    X: Table
    y: AnyArray | None
    features: tuple[str, ...]
    kinds: Mapping[str, Kind]
    train: tuple[Table, AnyArray | None] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: FloatArray | None = None
    clusters: IntArray | None = None
    blocks: Blocks | None = None
    protected: Mapping[str, AnyArray] = field(default_factory=dict)
    label: str = "model"
    positive_class: Any = None
    sampled_from: int | None = None
    adapter_reason: str = ""
    notes: tuple[str, ...] = ()
    assumption: Assumption | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return model, size and roles on one line, and no value of the data."""
        return f"Subject {short(self.label)!r}: {', '.join(self._facts)}"

    def _repr_html_(self) -> str:
        """Return the same for a notebook, with the names and kinds of the features."""
        names = ", ".join(f"{short(name)} ({self.kinds[name]})" for name in self.features)
        head = f"<strong>{escape(short(self.label))}</strong>: {escape(', '.join(self._facts))}"
        return f"<p>{head}</p><details><summary>Features</summary>{escape(names)}</details>"

    @property
    def _facts(self) -> tuple[str, ...]:
        """How the model is read, and what there is of data, in counts."""
        training = None if self.train is None else len(self.train[0])
        parts = (
            f"adapter {self.adapter.name}",
            count(self.n, "observation"),
            count(len(self.features), "feature"),
            "with outcomes" if self.y is not None else "no outcomes",
            "" if training is None else count(training, "training observation"),
            count(len(self.groups), "group of features", "groups of features") if self.groups else "",
            f"protected: {', '.join(map(short, self.protected))}" if self.protected else "",
        )
        return tuple(filter(None, parts))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.n

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Features and then groups: everything that has an importance."""
        return (*self.features, *self.groups)

    def members(self, name: str) -> tuple[str, ...]:
        """Return the features of a group, or the feature itself; refuse an unknown name."""
        if name in self.groups:
            return self.groups[name]
        if name in self.features:
            return (name,)
        raise InputError(f"subject.features must include {name!r}; it does not. {nearest(name, self.targets)}")

    def positions(self, name: str) -> tuple[int, ...]:
        """Return the column positions of a feature or group."""
        return tuple(self.features.index(member) for member in self.members(name))

    def values(self, feature: str) -> Any:
        """Return one feature's column as an array of its own kind; loops over features look at the limits here."""
        check_limits()
        return column(self.X, self.positions(feature)[0])

    def permutation(self, rng: np.random.Generator) -> IntArray:
        """Return the donor of each row, shape (n,); rows in order of time move in blocks, which keep their inner order.

        Either way each row gets the value of every row with the same probability, so the mean over permutations
        estimates the mean over all pairs of rows.
        """
        return rng.permutation(self.n) if self.blocks is None else self.blocks.donors(rng)

    def take(self, rows: IntArray) -> Subject:
        """Return the subject with the rows at these positions, and what belongs to them."""
        adapter = self.adapter
        return replace(
            self,
            model=adapter.take(self.model, rows) if isinstance(adapter, FixedRowsOnly) else self.model,
            X=take_rows(self.X, rows),
            y=None if self.y is None else self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
            clusters=None if self.clusters is None else self.clusters[rows],
            blocks=None if self.blocks is None else self.blocks.take(rows),
            protected={name: values[rows] for name, values in self.protected.items()},
        )

    def in_blocks(self, blocks: Blocks) -> Subject:
        """Return the subject whose rows depend on each other in these blocks."""
        return replace(self, blocks=blocks, clusters=blocks.codes)

    def training(self) -> Subject | None:
        """Return the same model with its training rows as the rows, if they were given."""
        if self.train is None:
            return None
        bare = replace(self, train=None, weights=None, clusters=None, blocks=None, protected={}, sampled_from=None)
        return replace(bare, X=self.train[0], y=self.train[1], label=f"{self.label} (train)")


def make_subject(  # noqa: PLR0913 - the arguments of the public `explain`
    model: Any,
    adapter: Adapter,
    X: Any,
    y: Any = None,
    *,
    train: tuple[Any, Any] | None = None,
    groups: Mapping[str, Iterable[str]] | None = None,
    categorical: Iterable[str] | None = None,
    sample_weight: Any = None,
    clusters: Any = None,
    time: Any = None,
    block_size: int | None = None,
    protected: Iterable[str] | Mapping[str, Any] | pd.Series[Any] | pd.DataFrame | None = None,
    label: str | None = None,
    positive_class: Any = None,
    max_rows: int | None = None,
    seed: int = 0,
) -> Subject:
    """Validate everything once and return the `Subject`; see `uq_report.explain` for the arguments."""
    table, features = inputs.table(X, "X", model, private=max_rows is None)
    subject = Subject(
        model=adapter.bind(model, table) if isinstance(adapter, BindsRows) else model,
        adapter=adapter,
        X=table,
        y=inputs.vector(y, len(table), "y"),
        features=features,
        kinds=inputs.kinds(table, features, categorical),
        train=inputs.training(train, table, features, model),
        groups=inputs.groups(groups, features),
        weights=inputs.weights(sample_weight, len(table)),
        clusters=inputs.clusters(clusters, table, features),
        protected=inputs.protected(protected, table, features),
        label=label or _name(model),
        positive_class=positive_class,
    )
    moments = inputs.moments(time, table, features)
    if moments is not None:
        subject = replace(subject, blocks=Blocks(moments, 1, times=inputs.time_words(time, table, features)))
    subject = subject if max_rows is None else _sampled(subject, max_rows, seed)
    return _in_blocks(subject, block_size)


def _in_blocks(subject: Subject, block_size: int | None) -> Subject:
    """Return the subject with its rows in blocks of `block_size` rows in order of time, by default of n^(1/3)."""
    if subject.blocks is None:
        if block_size is not None:
            raise InputError(f"subject.block_size must come with time; got {block_size} without. Pass time= too.")
        return subject
    if subject.clusters is not None:
        raise InputError(
            "subject.time must be None where clusters are given; got both. Rows of one cluster may depend in any way, "
            "in order of time too: leave out time."
        )
    whole = isinstance(block_size, int) and not isinstance(block_size, bool)
    if block_size is not None and not (whole and 1 <= block_size <= subject.n):
        raise InputError(
            f"subject.block_size must be a number of rows from 1 to {subject.n}; got {block_size!r}. "
            "Leave it out for one from the autocorrelation of the rows."
        )
    if block_size is None:
        return subject.in_blocks(replace(subject.blocks, length=shortest_length(subject.n), rule="n^(1/3)"))
    return subject.in_blocks(replace(subject.blocks, length=block_size, rule="as given", given=True))


def _name(model: Any) -> str:
    """Return the class of a model, or how many models a container holds."""
    return count(len(model), "model") if isinstance(model, dict | list | tuple) else type(model).__name__


def _sampled(subject: Subject, max_rows: int, seed: int) -> Subject:
    """Return the subject with at most `max_rows` rows, a sample without replacement, in their order."""
    for name, value, least in (("max_rows", max_rows, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"subject.{name} must be an integer >= {least}; got {value!r}.")
    if max_rows >= subject.n:
        return subject.take(np.arange(subject.n))
    rows = np.random.default_rng([seed, 0x5A]).choice(subject.n, max_rows, replace=False)
    return replace(subject.take(np.sort(rows)), sampled_from=subject.n)
