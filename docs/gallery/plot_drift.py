"""
Training and test sample
========================

How the distribution of each feature differs between the training and the test sample.
"""

from example import subject

import uq_report as uq

figure = uq.drift(subject).plot()
