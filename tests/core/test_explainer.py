"""What is asked of explainers that need not have it: a priority, and wishes."""

from typing import Any, ClassVar

import pytest

from uq_report.core.explainer import priority_of, runs_after


class Plain:
    """An explainer without either."""


class Early:
    priority: ClassVar[int] = 99
    after: ClassVar[tuple[str, ...]] = ("pfi",)


class Late:
    priority: ClassVar[int] = 101


@pytest.mark.parametrize(("explainer", "before"), [(Early(), True), (Late(), False)])
def test_explainers_without_a_priority_are_the_hundredth(explainer: Any, before: bool) -> None:
    plain: Any = Plain()
    assert (priority_of(explainer) < priority_of(plain)) is before
    assert priority_of(explainer) == explainer.priority


def test_explainers_need_not_wish_for_anything() -> None:
    plain: Any = Plain()
    early: Any = Early
    assert runs_after(plain) == ()
    assert runs_after(early) == runs_after(early()) == ("pfi",)
