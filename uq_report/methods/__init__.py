"""One folder a method: how it explains, its rules, its section and its figure.

Methods read each other's evidence, never each other's code; what several use stands in `shared`.
"""
