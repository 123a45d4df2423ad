"""What a plugin author writes: the contract checks of uq_report over one's own plugins."""

import numpy as np
import pytest
from uq_report_screen.judging import FollowsFeature
from uq_report_screen.lines import LineAdapter, LineLoader, LineModel
from uq_report_screen.measures import CONFIDENCE, EXCESS
from uq_report_screen.screen import RankScreen
from uq_report_screen.showing import DigestRenderer, ScreenFigure, ScreenSection

from uq_report import testing

PLUGINS = [
    (testing.measure_checks, EXCESS),
    (testing.measure_checks, CONFIDENCE),
    (testing.explainer_checks, RankScreen),
    (testing.check_checks, FollowsFeature),
    (testing.section_checks, ScreenSection),
    (testing.figure_checks, ScreenFigure),
    (testing.renderer_checks, DigestRenderer),
    (testing.adapter_checks, LineAdapter),
    (testing.loader_checks, LineLoader),
]
CASES = [
    pytest.param(check, plugin, id=f"{plugin.name}-{check.__name__}")
    for checks, plugin in PLUGINS
    for check in checks()
]


@pytest.mark.parametrize(("check", "plugin"), CASES)
def test_contract(check, plugin):
    check(plugin)


@pytest.mark.parametrize("check", testing.adapter_model_checks(), ids=lambda check: check.__name__)
def test_the_adapter_with_its_model(check):
    check(LineAdapter, LineModel({"a": 1.0, "b": -2.0}, 0.5), np.random.default_rng(0).normal(size=(20, 2)))


@pytest.mark.parametrize("check", testing.loader_source_checks(), ids=lambda check: check.__name__)
def test_the_loader_with_its_source(check, tmp_path):
    (tmp_path / "model.line").write_text("a 1\nnoise 0.5\n")
    check(LineLoader, str(tmp_path / "model.line"))
