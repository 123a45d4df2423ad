"""What the loaders of this package share: their kind, and the names of files that they match."""

from pathlib import Path
from typing import ClassVar, Literal


class ModelLoader:
    """A loader of models."""

    kind: ClassVar[Literal["model", "data"]] = "model"
    api_version: ClassVar[int] = 1
    endings: ClassVar[tuple[str, ...]] = ()

    def matches(self, source: str) -> bool:
        """Match names by their endings."""
        return Path(source.lower()).suffix in self.endings


class DataLoader(ModelLoader):
    """A loader of tables."""

    kind: ClassVar[Literal["model", "data"]] = "data"

    def matches(self, source: str) -> bool:
        """Match names of files by their endings."""
        return "://" not in source and super().matches(source)
