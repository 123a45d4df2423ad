"""What Python's garbage collector looks through while an audit or a report is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def older_objects_left() -> Iterator[None]:
    """Let collections pass over what exists before: models, data and libraries are some 200,000 objects.

    What is made inside is collected as ever. Older garbage is collected afterwards. A caller who has frozen objects
    himself, or another thread inside this, is left as he is.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
