"""What happens after a run, if asked for: a mail, a request to a web address, a copy in a folder.

Off by default. Secrets come from the environment alone. A hook that fails is told; it changes neither the report nor
the exit code, because the audit itself is done. A run that found nothing changed has no hooks.
"""

from .after import Ended, after, refused

__all__ = ["Ended", "after", "refused"]
