"""
Model-implied and realised importance
=====================================

What the model expects of each feature, and what the outcomes confirm.
"""

from example import subject

import uq_report as uq

figure = uq.importance(subject)["pfi.claims"].plot()
