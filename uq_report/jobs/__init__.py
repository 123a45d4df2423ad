"""An audit described in a file or flags: its settings, and its subject read from model and tables."""

from .audit_file import installed_schema
from .sources import read_model, read_table
from .starter import starter
from .subject import mistakes_of, subject_of

__all__ = ["installed_schema", "mistakes_of", "read_model", "read_table", "starter", "subject_of"]
