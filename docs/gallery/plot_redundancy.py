"""
Redundancy
==========

How well each feature is predicted by the others.
"""

from example import subject

import uq_report as uq

uq.audit(subject, explainers=["redundancy"], progress=False).result("redundancy").plot()
