"""A user's function: any callable that returns a distribution, and one message for all others."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.members import FunctionAdapter

ADAPTER = FunctionAdapter()
X = np.arange(6.0).reshape(3, 2)


def normal(rows: Any, std: float = 1.0) -> Normal:
    return Normal(rows[:, 0], np.full(len(rows), std))


class Model:
    def distribution(self, rows: Any) -> Categorical:
        return Categorical(np.full((len(rows), 2), 0.5), classes=("no", "yes"))

    def __call__(self, rows: Any) -> Categorical:
        return self.distribution(rows)


@pytest.mark.parametrize("model", [normal, partial(normal, std=2.0), Model().distribution, Model()])
def test_callables_are_called(model: Any) -> None:
    match = ADAPTER.matches(model)
    assert match is not None
    assert match.distance == 3
    dist, expected = ADAPTER.predict(model, X), model(X)
    np.testing.assert_array_equal(dist.mean(), expected.mean())
    np.testing.assert_array_equal(dist.variance(), expected.variance())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.full((3, 2), 0.5), r"ndarray of shape \(3, 2\).*Categorical\(probabilities"),
        (np.zeros(3), r"ndarray of shape \(3,\).*Normal\(mean, std\)"),
        ((np.zeros(3), np.ones(3)), r"got tuple. For a mean and a std return uq.dist.Normal"),
        (None, "of uq.dist, or a Distribution of your own; got NoneType"),
        (Normal, "got ABCMeta"),
    ],
)
def test_other_answers_are_refused_and_told_what_may_be_returned(answer: Any, words: str) -> None:
    def careless(rows: Any) -> Any:
        return answer

    with pytest.raises(ModelError, match=words) as caught:
        ADAPTER.predict(careless, X)
    assert str(caught.value).startswith("careless must return a distribution")


def test_rows_per_call_is_the_users_word() -> None:
    assert ADAPTER.batch_rows(normal) is None
    assert FunctionAdapter(batch_rows_per_call=500).batch_rows(normal) == 500


@pytest.mark.parametrize("rows", [0, -5, 2.5, True, "many"])
def test_rows_per_call_must_be_a_count(rows: Any) -> None:
    with pytest.raises(InputError, match="batch_rows_per_call must be an integer >= 1 or None"):
        FunctionAdapter(batch_rows_per_call=rows)
