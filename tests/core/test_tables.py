"""What is no table, and how the refusal tells its reader to make one."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.support.errors import InputError
from uq_report.core.validation.inputs import table

RECORDS = [{"a": 1.0}, {"a": 2.0}]


@pytest.mark.parametrize(
    ("X", "end"),
    [
        (RECORDS, "(2,) of list. Pass pd.DataFrame(X)."),
        (np.array([(1.0,), (2.0,)], dtype=[("a", float)]), "(2,) of ndarray. Pass pd.DataFrame(X)."),
        ({"a": [1.0]}, "() of dict. Pass pd.DataFrame(X)."),
        ("rows.csv", "() of the text 'rows.csv'. Read the file, or audit it by uq-report run."),
        (3, "() of int. Pass a DataFrame."),
        ([1.0, 2.0], "(2,). Reshape it."),
        ([], "(0,). Reshape it."),
        (np.zeros((2, 2, 2)), "(2, 2, 2). Reshape it."),
        ([[RECORDS[0]], [RECORDS[1]]], "dtype object. Pass a DataFrame for other columns."),
    ],
    ids=str,
)
def test_the_refusal_of_what_is_no_table_names_the_remedy(X: Any, end: str) -> None:
    with pytest.raises(InputError) as refused:
        table(X, "X", None)
    assert str(refused.value).endswith(end)
