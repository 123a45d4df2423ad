"""Whole audits are left out of the measurement of coverage: nothing traces them, nor does it in a worker."""

import sys


def test_nothing_traces_what_is_left_out() -> None:
    assert sys.gettrace() is None
