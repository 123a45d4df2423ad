"""
Importance adjusted for redundancy
==================================

Importance alone, and with the partner features corrupted as well.
"""

from example import subject

import uq_report as uq

figure = uq.adjusted_importance(subject).plot()
