"""What fuzzing found, each as small as it gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.statistics.curve_gap import widest_parting
from uq_report.core.support.arrays import FloatArray


@pytest.mark.parametrize("power", [-1030, 250])
def test_curves_part_at_the_same_place_on_a_feature_of_any_size(power: int) -> None:
    x = np.linspace(-1.0, 1.5, 6)
    local = pd.DataFrame({"x": x, "estimate": x**2, "std_error_change": 0.01})
    average = pd.DataFrame({"x": 1.25 * x, "estimate": x, "std_error": 0.01})
    plain = widest_parting(local, average, 0.95)
    local, average = (rows.assign(x=np.ldexp(rows["x"], power)) for rows in (local, average))
    scaled = widest_parting(local, average, 0.95)
    assert plain is not None
    assert scaled is not None
    assert scaled._replace(at=plain.at) == plain
    assert scaled.at == plain.at._replace(x=np.ldexp(plain.at.x, power), start=np.ldexp(plain.at.start, power))


@pytest.mark.parametrize("column", [np.linspace(-1e-300, 1e-300, 40), np.full(40, 2**64 - 1, dtype="uint64")])
def test_a_column_of_any_size_is_audited_and_drawn_without_a_warning(column: FloatArray) -> None:
    rows = pd.DataFrame({"a": np.sin(np.arange(40.0)), "b": column})
    subject = uq.explain(lambda X: uq.dist.Normal(X["a"].to_numpy(), 1.0), rows, rows["a"])
    options = {"pfi": {"n_repeats": 2}, "pdp": {"grid_resolution": 3, "max_ice": 3}}
    audit = uq.audit(subject, explainers=("pfi", "cid", "pdp"), options=options, progress=False)
    assert [gap.reason for gap in audit.run.not_run if gap.name == "cid"] == []
    assert b"<html" in audit.render("html")


@pytest.mark.parametrize("name", ["classes_", "feature_names_in_"])
def test_a_property_of_a_model_that_fails_is_named(name: str) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("not loaded")

    predict = {"predict_proba": lambda _, X: np.full((len(X), 2), 0.5), name: property(fail)}
    rows = pd.DataFrame({"a": np.arange(20.0)})
    with pytest.raises(uq.UQReportError, match=rf"model\.{name} must be readable; Odd raises RuntimeError: not loaded"):
        uq.explain(type("Odd", (), predict)(), rows, np.arange(20) % 2)
