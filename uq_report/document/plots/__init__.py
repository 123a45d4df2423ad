"""Drawing: functions from a result's frames to matplotlib figures, and the figures registered as plugins.

`uq_report.runner.figures.draw` finds the figure of a result. matplotlib is imported with the first one.
"""
