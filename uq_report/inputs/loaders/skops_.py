"""Models from skops files, with a reviewed list of types."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal
from zipfile import BadZipFile

from ...core.support.errors import InputError, MissingDependencyError

# Read in scikit-learn's source: each holds fitted arrays and numbers, and runs nothing on load.
# No list makes an untrusted file safe: compiled types trust the sizes they are given.
REVIEWED = (
    "numpy.dtype",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.sparse._csr.csr_matrix",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.frozen._frozen.FrozenEstimator",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.CompoundKernel",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.Exponentiation",
    "sklearn.gaussian_process.kernels.ExpSineSquared",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.isotonic.IsotonicRegression",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._search_successive_halving.HalvingGridSearchCV",
    "sklearn.model_selection._search_successive_halving.HalvingRandomSearchCV",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)


class SkopsLoader:
    """Reads ``.skops`` files whose types are all reviewed, or trusted by the user by name."""

    name: ClassVar[str] = "skops"
    libraries: ClassVar[tuple[str, ...]] = ("skops",)
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1
    options: ClassVar[tuple[str, ...]] = ("trusted",)

    def matches(self, source: str) -> bool:
        """Match names that end in .skops."""
        return Path(source.lower()).suffix == ".skops"

    def load(self, source: str, *, trusted: Iterable[str] = ()) -> Any:
        """Return the model.

        Parameters
        ----------
        source : str
        trusted : iterable of str
            Full names of further types that the file may hold. Read their source first.
        """
        return read_skops(source, trusted)

    def caution(self, source: str, *, trusted: Iterable[str] = ()) -> str:
        """Name the types that were trusted beyond the reviewed ones."""
        return caution_of(trusted)


def read_skops(file: str, trusted: Iterable[str] = (), source: str = "") -> Any:
    """Return the model in a .skops file whose types are all reviewed, or trusted by the user by name.

    Parameters
    ----------
    file : str
    trusted : iterable of str
        Full names of further types that the file may hold.
    source : str, optional
        What the user named, for messages; the file itself by default.
    """
    try:
        import skops.io as sio
    except ImportError as error:
        raise MissingDependencyError("the skops loader", "skops", "skops") from error
    source = source or file
    try:
        types = set(sio.get_untrusted_types(file=file))
        unknown = sorted(types - {*REVIEWED, *trusted})
        model = None if unknown else sio.load(file, trusted=sorted(types))
    except (OSError, BadZipFile, KeyError, ValueError, TypeError, EOFError, zlib.error, struct.error) as error:
        raise InputError(f"model must be a readable .skops file; got {source!r}: {error}. Check it.") from error
    if unknown:
        raise InputError(
            f"model must hold reviewed types only; got {', '.join(unknown)} in {source!r}. "
            "If you know where the file comes from and have read these types, trust them by name "
            f"(--trusted {' --trusted '.join(unknown)})."
        )
    return model


def caution_of(trusted: Iterable[str]) -> str:
    """Name the types that were trusted beyond the reviewed ones; nothing if there are none."""
    names = ", ".join(sorted(trusted))
    return f"a skops file; trusted by name beyond the reviewed types: {names}" if names else ""
