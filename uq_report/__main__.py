"""``python -m uq_report``: the command line, which takes no code from the folder it is started in."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the working folder, where `-m` looks first

from .cli import main

main()
