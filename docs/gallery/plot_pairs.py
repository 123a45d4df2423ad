"""
Interactions by partial dependence
==================================

How much the spread of the profile along one feature differs between the values of another.
"""

from example import subject

import uq_report as uq

figure = uq.interactions(subject, "pdp", measures="entropy").plot()
