"""
A single case
=============

One observation: its distribution, and the reasons for its prediction and its uncertainty.
"""

from example import subject

import uq_report as uq

figure = uq.case(subject, 17).plot()
