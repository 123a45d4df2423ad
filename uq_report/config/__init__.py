"""Arguments, flags and files become one `Settings`, typed and frozen; every mistake is reported together."""

from .audit_file import AuditFile, audit_schema, read_audit
from .mistakes import make_settings
from .settings import About, Action, Settings, WaiverSettings, logical_date

__all__ = [
    "About",
    "Action",
    "AuditFile",
    "Settings",
    "WaiverSettings",
    "audit_schema",
    "logical_date",
    "make_settings",
    "read_audit",
]
