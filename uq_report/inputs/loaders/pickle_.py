"""Models from joblib and pickle files: only where the user allows the danger by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import joblib

from .pickles import USED, loaded, refuse_unless


class PickleLoader:
    """Reads ``.joblib``, ``.pkl`` and ``.pickle`` with joblib, if `allow_pickle` is True.

    Loading a pickle runs whatever code its author put in it. A hash (``model.sha256``) is compared
    before the file is opened here; it says that the file is the one you know, not that it is harmless.
    """

    name: ClassVar[str] = "pickle"
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1
    options: ClassVar[tuple[str, ...]] = ("allow_pickle",)

    def matches(self, source: str) -> bool:
        """Match names that end in .joblib, .pkl or .pickle, in order to refuse them with the remedy too."""
        return Path(source.lower()).suffix in (".joblib", ".pkl", ".pickle")

    def load(self, source: str, *, allow_pickle: bool = False) -> Any:
        """Return the model, or refuse before the file is opened."""
        remedy = "save the model with skops.io.dump, or name a function that returns it."
        refuse_unless(allow_pickle, source, "a pickle", remedy)
        return loaded(lambda: joblib.load(source), source)

    def caution(self, source: str, *, allow_pickle: bool = False) -> str:
        """Say that code of the file was run."""
        return USED if allow_pickle else ""
