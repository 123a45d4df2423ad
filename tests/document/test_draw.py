"""Every kind of result has a figure, strangers' figures stand beside ours, and no figure opens a window."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure

from uq_report.core.model.results import ESTIMATE_COLUMNS, KINDS, Importance, Result
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.document.plots.picture import to_svg
from uq_report.evidence import ids
from uq_report.runner import figures, plugins

from ..packages import Packages
from . import results

FIGURE = """
from typing import ClassVar
from matplotlib.figure import Figure

class Drawn:
    name: ClassVar = {name!r}
    api_version: ClassVar = 1
    companions: ClassVar = {{"own": "own"}}

    def draw(self, result, own=None, **choice):
        figure = Figure()
        figure.suptitle("a stranger's " + ("figure" if own is None else str(getattr(own, "id", own))))
        return figure
"""


def install(packages: Packages, name: str) -> None:
    packages.install("stranger", {f"figures:{name}": "stranger:Drawn"}, FIGURE.format(name=name))


def title(figure: Figure) -> str:
    return str(figure.get_suptitle())


@pytest.mark.parametrize("result", [*results.every_kind(), *results.every_id()], ids=lambda result: result.id)
def test_every_registered_figure_draws(result: Result) -> None:
    assert isinstance(figures.draw(result), Figure)
    assert len(to_svg(figures.draw(result))) < 40_000


def test_the_figures_tried_are_all_that_are_registered() -> None:
    by_kind, by_id = {result.kind for result in results.every_kind()}, {result.id for result in results.every_id()}
    ours = {plugin.name for plugin in plugins.find(plugins.FIGURES) if plugin.distribution == "uq_report"}
    assert by_kind == set(KINDS)
    assert by_kind | by_id == ours


@pytest.mark.parametrize("result", results.every_kind(), ids=lambda result: result.kind)
def test_a_strangers_result_with_the_base_columns_alone_is_drawn_by_its_kind(result: Result) -> None:
    bare = result.estimates[list(ESTIMATE_COLUMNS)]
    strange = replace(result, id="stranger.part", explainer="stranger", estimates=bare, meta={}, measures={})
    assert isinstance(figures.draw(strange), Figure)


def test_a_figure_for_an_id_comes_before_that_for_its_kind(packages: Packages) -> None:
    install(packages, "stranger.part")
    strange = replace(results.importance(), id="stranger.part", explainer="stranger")
    assert title(figures.draw(strange)) == "a stranger's figure"
    assert title(figures.draw(replace(strange, id="stranger"))) == ""


def test_a_figure_gets_its_companions_of_the_same_explainer_unless_they_are_chosen(packages: Packages) -> None:
    install(packages, "stranger")
    strange = replace(results.importance(), id="stranger", explainer="stranger")
    others = [strange, results.own(), replace(results.own(), id="stranger.own", explainer="stranger")]
    assert title(figures.draw(strange, others=others)) == "a stranger's stranger.own"
    assert title(figures.draw(strange, others=others[:2])) == "a stranger's figure"
    assert title(figures.draw(strange, others=others, own="choice")) == "a stranger's choice"


def test_a_denied_figure_is_not_imported(packages: Packages) -> None:
    install(packages, ids.PFI)
    assert title(figures.draw(results.importance())) == "a stranger's figure"
    sys.modules.pop("stranger")
    assert title(figures.draw(results.importance(), deny=["stranger"])) == ""
    assert "stranger" not in sys.modules


def test_a_profile_of_two_features_is_drawn_as_a_surface() -> None:
    figure = figures.draw(replace(results.surface(), id="stranger"))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("x", "z")


def test_a_profile_takes_own_values_and_distribution_from_the_others() -> None:
    others = [results.profile(), results.own(), results.distribution()]
    assert len(figures.draw(others[0], others=others, measure="prediction").axes) == 2
    assert len(figures.draw(others[0], measure="prediction").axes) == 1


def test_an_unknown_kind_is_refused_by_name() -> None:
    class Odd(Importance):
        kind = "odd"

    found = results.importance()
    odd = Odd(id="strange", explainer="odd", title="odd", frame=found.frame, estimates=found.estimates)
    with pytest.raises(UnsupportedError, match=r"must get one of \['attribution', .*; got 'strange', odd\."):
        figures.draw(odd)


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
        figures.draw(result, **choice)
    assert held in str(error.value)


def test_the_door_of_plugins_loads_nothing_heavy_and_drawing_no_pyplot() -> None:
    script = (
        "import sys; from uq_report.runner import figures;"
        "assert not {'matplotlib', 'sklearn', 'scipy.stats', 'jinja2', 'weasyprint'} & set(sys.modules);"
        "import uq_report.document.plots.picture, uq_report.document.plots.importance;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
