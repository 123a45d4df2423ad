"""Why a model did not predict: the first cell that its error is about, or the error itself."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError, ModelError
from uq_report.core.validation.cell_validation import failure

INF, NAN = np.inf, np.nan
BOTH = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, NAN, NAN], "c": [1.0, 2.0, -INF], "d": ["x", None, "z"]})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("Input X contains infinity.", r"^subject\.X\['c'\] must be finite for M; got -inf in row 2 \(1 of 3"),
        ("inf found", r"^subject\.X\['c'\] must be finite"),
        ("INFINITE", r"^subject\.X\['c'\] must be finite"),
        ("Input X contains NaN.", r"^subject\.X\['b'\] must have no missing values for M; got none in row 1 \(2"),
        ("missing cells", r"^subject\.X\['b'\] must have no missing values"),
        ("value is None", r"^subject\.X\['b'\] must have no missing values"),
        ("NaN or infinity", r"^subject\.X\['c'\] must be finite"),
    ],
)  # fmt: skip
def test_an_error_about_cells_names_the_first(words: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        raise failure("M", 3, ValueError(words), BOTH)


@pytest.mark.parametrize("words", ["no information", "nanometres", "canal", "infer", "banana"])
def test_words_that_hold_such_letters_are_about_something_else(words: str) -> None:
    error = failure("M", 7, ValueError(words), BOTH)
    assert isinstance(error, ModelError)
    assert str(error) == (
        f"M failed to predict 7 rows: ValueError: {words} (subject.X has -inf in row 2 (1 of 3 rows) in column 'c'; "
        "none in row 1 (2 of 3 rows) in column 'b')"
    )


@pytest.mark.parametrize("X", [BOTH[["a"]], np.array([[1, 2]]), np.array([[1.0, 2.0]])])
def test_without_such_cells_the_error_speaks_alone(X: Any) -> None:
    assert str(failure("M", 1, ValueError("has\n NaN"), X)) == "M failed to predict 1 rows: ValueError: has NaN"


def test_a_quoted_text_is_told_with_its_cell() -> None:
    error = failure("M", 3, ValueError("could not convert 'z'"), BOTH[["a", "d"]])
    assert "(subject.X has 'z' in column 'd', row 2; none in row 1 (1 of 3 rows) in column 'd')" in str(error)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("b"), "KeyError: 'b'"),
        (SystemExit(2), "SystemExit: 2"),
        (ValueError(), "ValueError"),
        (ModelError("X is short."), "X is short."),
    ],
)
def test_errors_have_their_type_unless_they_are_ours(error: BaseException, words: str) -> None:
    assert str(failure("M", 1, error, BOTH[["a"]])) == f"M failed to predict 1 rows: {words}"


def test_cells_of_arrays_are_told_by_position() -> None:
    with pytest.raises(InputError, match=r"subject\.X\['1'\] must be finite for M; got inf in row 0 \(1 of 2 rows\)"):
        raise failure("M", 2, ValueError("infinity"), np.array([[NAN, INF], [1.0, 2.0]]))
