"""
Dependence graph
================

Features that stay associated given all others, as covered information uses them.
"""

from example import subject

import uq_report as uq

figure = uq.covered_information(subject)["cid.graph"].plot()
