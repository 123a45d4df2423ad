"""Every kind of result has a figure, third-party ones included, and no figure opens a window."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure

from uq_report import plots
from uq_report.core.errors import InputError, UnsupportedError
from uq_report.core.results import KINDS, Importance, Result
from uq_report.plots.svg import to_svg

from . import results


@pytest.mark.parametrize("result", results.every_kind(), ids=lambda result: result.kind)
def test_every_kind_is_drawn(result: Result) -> None:
    assert isinstance(plots.draw(result), Figure)
    assert len(to_svg(plots.draw(result))) < 40_000


def test_the_kinds_tried_are_all_kinds() -> None:
    assert {result.kind for result in results.every_kind()} == set(KINDS) == set(plots.BY_KIND)


def test_a_strangers_result_is_drawn_by_its_kind() -> None:
    strange = replace(results.importance(), id="stranger.part", explainer="stranger")
    assert isinstance(plots.draw(strange, measure="entropy"), Figure)


def test_a_profile_of_two_features_is_drawn_as_a_surface() -> None:
    figure = plots.draw(replace(results.surface(), id="stranger"))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("x", "z")


def test_a_profile_finds_own_values_and_distribution_beside_it() -> None:
    beside = [results.profile(), results.own(), results.distribution()]
    assert len(plots.draw(beside[0], beside=beside, measure="prediction").axes) == 2
    assert len(plots.draw(beside[0], measure="prediction").axes) == 1


def test_an_unknown_kind_is_refused_by_name() -> None:
    class Odd(Importance):
        kind = "odd"

    found = results.importance()
    odd = Odd(id="odd", explainer="odd", title="odd", frame=found.frame, estimates=found.estimates)
    with pytest.raises(UnsupportedError, match=r"must get one of the kinds .* got 'odd'"):
        plots.draw(odd)


@pytest.mark.parametrize(
    ("result", "choice", "held"),
    [
        (results.importance(), {"measure": "brier"}, "nll"),
        (results.profile(), {"feature": "age"}, "x"),
        (results.attribution(), {"row": 3}, "2, 5"),
        (results.surface(), {"pair": ("x", "y")}, "'z'"),
    ],
    ids=["measure", "feature", "row", "pair"],
)
def test_a_choice_the_result_does_not_hold_is_refused(result: Result, choice: dict[str, Any], held: str) -> None:
    with pytest.raises(InputError, match=r"must be one of .*; got") as error:
        plots.draw(result, **choice)
    assert held in str(error.value)


def test_importing_plots_loads_no_matplotlib_and_drawing_no_pyplot() -> None:
    script = (
        "import sys; from uq_report import plots; assert 'matplotlib' not in sys.modules;"
        "import uq_report.plots.importance, uq_report.plots.svg; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
