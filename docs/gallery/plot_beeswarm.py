"""
Beeswarm of shap
================

Shapley values of the entropy. Every plot of shap takes them: "bar", "beeswarm", "waterfall", "scatter", "heatmap", "violin", "decision", "force".
"""

from example import subject

import uq_report as uq

figure = uq.attributions(subject, range(60), "entropy").plot("beeswarm")
