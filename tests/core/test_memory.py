"""What models free in one call is there for the next."""

import os
import platform
import subprocess
import sys
from textwrap import dedent

import pytest

PAGES = 3 * 2**21 // 4096  # of three blocks of 2 MiB, as a Gaussian process on 500 rows fills


def taken(first: str, environment: dict[str, str]) -> int:
    """Return the pages that 20 calls take anew, of a model that fills three blocks and frees them."""
    code = dedent(f"""
        import resource
        import numpy as np
        {first}
        faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        def call():
            blocks = [np.empty(2**18) for _ in range(3)]
            for block in blocks:
                block.fill(1.0)
        call(), call()
        before = faults()
        for _ in range(20):
            call()
        print(faults() - before)
    """)
    return int(subprocess.check_output([sys.executable, "-c", code], text=True, env=os.environ | environment))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc learns what to keep")
@pytest.mark.parametrize("environment", [{}, {"MALLOC_TRIM_THRESHOLD_": "65536"}])  # as it is, and as dask sets it
def test_blocks_that_a_call_freed_are_there_for_the_next(environment: dict[str, str]) -> None:
    kept = "from uq_report.core.memory import keep_freed_blocks; keep_freed_blocks()"
    assert taken(kept, environment) < PAGES < taken("pass", environment) / 5
