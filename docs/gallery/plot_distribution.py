"""
Distributions of two samples
============================

The distribution of a feature in the training and in the test sample.
"""

from example import subject

import uq_report as uq

figure = uq.drift(subject)["support.distribution"].plot()
