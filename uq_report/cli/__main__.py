"""``python -m uq_report.cli``."""

from . import main

main()
