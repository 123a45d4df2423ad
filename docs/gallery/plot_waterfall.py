"""
Waterfall of shap
=================

Why one observation is uncertain: from the mean entropy to its own.
"""

from example import subject

import uq_report as uq

figure = uq.attributions(subject, 3, "entropy").plot("waterfall", row=3)
