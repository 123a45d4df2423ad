"""What a run and its document are made of: values that never change, named by their fields."""

from __future__ import annotations

from dataclasses import Field, dataclass, field
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Frozen:
    """Makes a frozen dataclass, with fields by keyword, of every class below it: write no decorator."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        """Take fields by keyword."""
        dataclass(frozen=True, kw_only=True)(cls)
