"""Groups: predictions, errors and uncertainty for each protected attribute, with small groups held back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import Result
from ...core.model.subject import Subject
from ...core.support.errors import InputError, check_options
from ...evidence import ids
from ..shared.checks import at_least
from ..shared.estimates import diagnostic
from .attributes import attributes
from .contrasts import EXACT_UNITS
from .plan import Plan
from .proxy import proxies, use
from .values import row_values

COLUMNS = ("item", "n", "unit", "p_value")
DIFFERENCES = (*COLUMNS, "n_rest", "overall", "scale")


@dataclass(frozen=True)
class Groups(BuiltInExplainer):
    """Predictions against outcomes, losses and uncertainty by group of each protected attribute, and its proxies.

    Attributes of more than `max_levels` ordered values are cut at their quartiles. For each group: prediction and
    outcome (of more than two classes, of each class), the residual ``mean(outcome - prediction)``, the usual loss,
    nll, entropy, confidence gap ``mean(nll - entropy)`` and, where they exist, the coverage of central 90 %
    intervals and the error rates at a probability of 0.5; each with the interval for new rows of the group, and its
    difference to all other rows. If outcomes follow the model, residual and gap are 0 on average in every group;
    loss, entropy and error rates differ wherever base rates do. Groups of up to 500 rows are tested exactly: the
    gap by outcomes drawn from the model, a difference by random groups of the same size.

    An attribute that is a feature, and the features that tell it best, are exchanged: every row gets each of their
    values in turn. The contrast of a group's prediction that is lost is what goes through that feature; it is
    exactly 0 for one the model does not use.

    A group of fewer than `n_min` rows (clusters) is not shown, nor any mean from which it could be worked out.

    Parameters
    ----------
    n_min : int
        Rows (clusters) that a group must have to be shown.
    max_levels : int
        Numbers and dates of more different values are cut at their quartiles.
    n_draws : int
        Draws of each exact test, at least; 100 for each test there is.
    n_proxies : int
        Features that are exchanged, those that tell the attribute best.
    min_association : float
        Association with the attribute (0 to 1) that such a feature must have.

    References
    ----------
    Mitchell et al. (2019), doi:10.1145/3287560.3287596, section 4.
    """

    n_min: int = 30
    max_levels: int = 6
    n_draws: int = 999
    n_proxies: int = 2
    min_association: float = 0.3

    name: ClassVar[str] = "groups"
    section: ClassVar[str] = "outcomes.groups"
    priority: ClassVar[int] = 5
    card: ClassVar[MethodCard] = MethodCard(
        title="Groups",
        definition="Means of prediction, outcome, loss, uncertainty and error rates over the rows of each group of a "
        "named attribute, each group less the rest, and what of that is lost when the attribute, or a feature that "
        "tells it, is exchanged between rows.",
        assumes="Rows are independent, or dependent only inside the stated clusters; the attribute is recorded "
        "rightly.",
        fails="An exchange makes rows that may not occur. Small groups are withheld, so that a harm to few people is "
        "not seen. Equal means can hide unequal causes, and unequal means can have fair ones.",
        interval="Of each mean and each difference by itself, over new test rows.",
        references="mitchell",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        limits = (
            *at_least(self, n_min=5, max_levels=2, n_draws=99, n_proxies=0),
            ("min_association", 0 < self.min_association <= 1, "a number in (0, 1]"),
        )
        check_options(self.name, self, limits)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``groups``, ``groups.difference``, ``groups.proxy`` and ``groups.use``."""
        if not subject.protected:
            raise InputError("groups.protected must be given; got none. Pass protected=[...] to `explain`.")
        values, omitted = row_values(engine)
        cut = attributes(subject.protected, self.max_levels)
        plan = Plan(self.n_min, self.n_draws, engine, cut, values)
        finite = [value for value in values if value.measure not in plan.infinite]
        clustered = plan.sampling.codes is not None
        notes = (
            f"Groups of fewer than {self.n_min} rows or clusters are not shown, nor what would give them away.",
            f"Exact tests up to {EXACT_UNITS} rows, {plan.draws} draws; else t-tests. p-values are not adjusted.",
            *(("With clusters the exact test of the confidence gap uses one row of each.",) if clustered else ()),
            *plan.sampling.notes(),
        )
        facts: dict[str, Any] = {"options": asdict(self), "notes": notes, "meta": plan.meta()}
        omissions = (*omitted, *dict.fromkeys(plan.omissions()))
        means = [line for value in finite for line in plan.means(value)]
        apart = [line for value in finite for line in plan.differences(value)]
        related = proxies(engine, {x.name: plan.target(a, x) for a, x in enumerate(cut)})
        title, other_title = "Predictions, errors and uncertainty by group", "Each group against all other rows"
        return [
            diagnostic(ids.GROUPS, title, means, COLUMNS, x="n", omissions=omissions, **facts),
            diagnostic(ids.GROUPS_DIFFERENCE, other_title, apart, DIFFERENCES, x="n", **facts),
            related,
            use(plan, related.estimates, self.n_proxies, self.min_association),
        ]
