"""Arguments, flags and files become one `Settings`, typed and frozen; every mistake is reported together."""

from .audit_file import AuditFile, DataPart, ModelPart, OutputPart, audit_schema
from .mistakes import make_settings, refuse, settled
from .reading import Description, describe_audit, read_audit, toml_value
from .settings import About, Action, Settings, WaiverSettings, logical_date

__all__ = [
    "About",
    "Action",
    "AuditFile",
    "DataPart",
    "Description",
    "ModelPart",
    "OutputPart",
    "Settings",
    "WaiverSettings",
    "audit_schema",
    "describe_audit",
    "logical_date",
    "make_settings",
    "read_audit",
    "refuse",
    "settled",
    "toml_value",
]
