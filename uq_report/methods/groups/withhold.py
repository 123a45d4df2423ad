"""Which groups may be shown, so that nothing about a small group can be worked out from what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import BoolArray, FloatArray, IntArray
from .cut import Attribute

TOLERANCE = 1e-8
Key = tuple[int, int]


@dataclass(frozen=True)
class Disclosure:
    """The groups that may be shown, as (attribute, group) positions, and those withheld though large enough."""

    groups: frozenset[Key]
    complements: frozenset[Key]


def disclose(
    attributes: Sequence[Attribute], inside: BoolArray, units: IntArray, n_min: int, among: Disclosure | None = None
) -> Disclosure:
    """Return the groups whose means over the rows `inside` may be shown.

    A group needs `n_min` units (rows, or clusters). The mean over all rows and those of the groups shown
    have known sizes, so every sum that is a linear combination of theirs can be worked out. As long as
    that holds for a set of fewer than `n_min` units (a group, the withheld groups of an attribute together, or
    the rows that share one group of every attribute), the smallest group that protects it is withheld as well.

    Parameters
    ----------
    attributes : sequence of Attribute
    inside : ndarray of bool, shape (n,)
        The rows that the means are taken over.
    units : ndarray of int, shape (n,)
        The independent unit of each row.
    n_min : int
    among : Disclosure, optional
        What may be shown at all.
    """
    masks = {
        (a, g): (attribute.codes == g) & inside
        for a, attribute in enumerate(attributes)
        for g in range(len(attribute.labels))
    }
    sizes = {key: _count(mask, units) for key, mask in masks.items()}
    large = {key for key, size in sizes.items() if size >= n_min and (among is None or key in among.groups)}
    if _count(inside, units) < n_min:
        return Disclosure(frozenset(), frozenset(large))
    cells, first = _cells(attributes, inside)
    published = sorted(large, key=lambda key: (sizes[key], key))
    while published:
        small = _small({key: mask for key, mask in masks.items() if key not in published}, cells, units, n_min)
        # equal rows of all groups give equal equations, so one row of each cell is enough
        sums = {key: masks[key][first].astype(float) for key in published}
        drop = _to_withhold(sums, inside[first].astype(float), small[:, first].astype(float))
        if drop is None:
            break
        published.remove(drop)
    return Disclosure(frozenset(published), frozenset(large.difference(published)))


def _cells(attributes: Sequence[Attribute], inside: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the masks of the rows that share one group of every attribute, and one row of each."""
    codes = np.column_stack([attribute.codes for attribute in attributes])[inside]
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    rows = np.flatnonzero(inside)
    cells = np.zeros((len(first), len(inside)), dtype=bool)
    cells[place.ravel(), rows] = True
    return cells, rows[first]


def _small(withheld: dict[Key, BoolArray], cells: BoolArray, units: IntArray, n_min: int) -> BoolArray:
    """Return the masks, shape (sets, n), of the sets of fewer than `n_min` units that must not be worked out."""
    together = [
        np.any([mask for key, mask in withheld.items() if key[0] == a], axis=0)
        for a in sorted({attribute for attribute, _ in withheld})
    ]
    sets = [*withheld.values(), *together, *cells]
    small = [mask for mask in sets if mask.any() and _count(mask, units) < n_min]
    return np.array(small, dtype=bool).reshape(len(small), len(units))


def _to_withhold(published: dict[Key, FloatArray], whole: FloatArray, small: FloatArray) -> Key | None:
    """Return the smallest group without which a small set cannot be worked out; None if none can be.

    If no group alone protects it, the smallest of all is returned, and the next round goes on from there.
    """
    exposed = _exposed([*published.values(), whole], small)
    if not exposed.any():
        return None
    target = small[[int(np.argmax(exposed))]]
    for key in published:
        others = [mask for other, mask in published.items() if other != key]
        if not _exposed([*others, whole], target).any():
            return key
    return next(iter(published))


def _exposed(published: list[FloatArray], small: FloatArray) -> BoolArray:
    """Return which of the small sets are linear combinations of the published ones."""
    if not len(small):
        return np.zeros(0, dtype=bool)
    sums = np.array(published).T
    weights = np.linalg.lstsq(sums, small.T, rcond=None)[0]
    return np.asarray(np.abs(sums @ weights - small.T).max(axis=0) < TOLERANCE)


def _count(mask: BoolArray, units: IntArray) -> int:
    return len(np.unique(units[mask]))
