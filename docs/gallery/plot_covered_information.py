"""
Covered information
===================

The information of each feature about the target, and the part that it shares with the others.
"""

from example import subject

import uq_report as uq

figure = uq.covered_information(subject).plot()
