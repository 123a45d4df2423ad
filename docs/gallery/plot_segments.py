"""
Segments
========

Where the loss exceeds the loss that the model expects.
"""

from example import subject

import uq_report as uq

figure = uq.segments(subject).plot()
