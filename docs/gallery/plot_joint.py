"""
Joint importance
================

Permuting two correlated features together, against each of them alone.
"""

from example import subject

import uq_report as uq

figure = uq.redundancy(subject)["redundancy.joint"].plot()
