"""One page over all audits of a history: how each is rated, its trend, and where its reports are."""

from .page import check_page, write_overview

__all__ = ["check_page", "write_overview"]
