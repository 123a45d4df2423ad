"""Groups: the model's errors and its uncertainty for each protected attribute, with small groups held back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import pandas as pd

from ..core.engine import Engine
from ..core.errors import InputError, check_options
from ..core.explainer import Card, Prior
from ..core.results import ESTIMATE_COLUMNS, Diagnostic, Omission, Result
from ..core.subject import Subject
from ._groups_cut import attributes
from ._groups_plan import Plan
from ._groups_proxy import proxies
from ._groups_tests import EXACT_UNITS
from ._groups_values import row_values

COLUMNS = (*ESTIMATE_COLUMNS, "item", "n", "unit", "p_value")
DIFFERENCES = (*COLUMNS, "n_rest", "overall")


@dataclass(frozen=True)
class Groups:
    """Errors, calibration and uncertainty of each group of each protected attribute, and proxies for it.

    Attributes of more than `max_levels` ordered values are cut at their quartiles. For each group: the usual
    loss, nll, entropy, prediction, outcome, confidence gap ``mean(nll - entropy)`` and, where they exist, the
    coverage of central 90 % intervals and the error rates at a probability of 0.5; each with the interval for
    new rows of the group, and its difference to all other rows. Groups of up to 500 rows are tested exactly: the
    confidence gap by outcomes drawn from the model, a difference by random groups of the same size.

    A group of fewer than `n_min` rows (clusters) is not shown, nor any mean from which it could be worked out.

    Parameters
    ----------
    n_min : int
        Rows (clusters) that a group must have to be shown.
    max_levels : int
        Numbers and dates of more different values are cut at their quartiles.
    n_draws : int
        Draws of each exact test, at least; 100 for each test there is.

    References
    ----------
    Mitchell et al. (2019), doi:10.1145/3287560.3287596, section 4.
    """

    n_min: int = 30
    max_levels: int = 6
    n_draws: int = 999

    name: ClassVar[str] = "groups"
    section: ClassVar[str] = "outcomes.groups"
    card: ClassVar[Card] = Card(
        title="Groups",
        definition="Means of loss, uncertainty, prediction and error rates over the rows of each group of a named "
        "attribute, and each group less the rest.",
        assumes="Rows are independent, or dependent only inside the stated clusters; the attribute is recorded "
        "rightly.",
        fails="Small groups are withheld, so that a harm to few people is not seen. Equal means can hide unequal "
        "causes, and unequal means can have fair ones.",
        interval="Of each mean and each difference by itself, over new test rows.",
        references="mitchell",
    )
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        rules = (
            ("n_min", self.n_min >= 5, "an integer >= 5"),
            ("max_levels", self.max_levels >= 2, "an integer >= 2"),
            ("n_draws", self.n_draws >= 99, "an integer >= 99"),
        )
        check_options(self.name, self, rules)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``groups``, ``groups.difference`` and ``groups.proxy``."""
        if not subject.protected:
            raise InputError("groups.protected must be given; got none. Pass protected=[...] to `explain`.")
        values, omitted = row_values(engine)
        cut = attributes(subject.protected, self.max_levels)
        plan = Plan(self, subject, engine, cut, values)
        kept = [one for one in values if one.measure not in plan.infinite]
        means = pd.DataFrame([line for one in kept for line in plan.means(one)], columns=list(COLUMNS))
        apart = pd.DataFrame([line for one in kept for line in plan.differences(one)], columns=list(DIFFERENCES))
        omissions = (*omitted, *plan.omissions())
        targets = {one.name: plan.target(a, one) for a, one in enumerate(cut)}
        return [
            self._result("groups", "Errors and uncertainty by group", means, plan, omissions),
            self._result("groups.difference", "Each group against all other rows", apart, plan, ()),
            proxies(subject, engine, targets),
        ]

    def _result(
        self, id: str, title: str, estimates: pd.DataFrame, plan: Plan, omissions: tuple[Omission, ...]
    ) -> Diagnostic:
        return Diagnostic(
            id=id,
            explainer=self.name,
            title=title,
            frame=estimates.rename(columns={"n": "x", "estimate": "value"})[list(Diagnostic.columns)].astype(
                {"x": float}
            ),
            estimates=estimates,
            options=asdict(self),
            notes=(
                f"Groups of fewer than {self.n_min} rows or clusters are not shown, nor what would give them away.",
                f"Exact tests up to {EXACT_UNITS} rows, {plan.draws} draws; else t-tests. p-values are not adjusted.",
                *(
                    ("With clusters the exact test of the confidence gap uses one row of each.",)
                    if plan.sampling.codes is not None
                    else ()
                ),
                *plan.sampling.notes(),
            ),
            omissions=omissions,
            meta=plan.meta(),
        )
