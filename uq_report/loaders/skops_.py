"""Models from skops files, with a reviewed list of types; pickles are refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal
from zipfile import BadZipFile

from ..core.errors import InputError, MissingDependencyError

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
_PICKLES = (".joblib", ".pkl", ".pickle")


class SkopsLoader:
    """Reads ``.skops`` files whose types are all reviewed, or trusted by the user by name."""

    name: ClassVar[str] = "skops"
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match names that end in .skops, and in a pickle's suffix in order to refuse it with the remedy."""
        return Path(source.lower()).suffix in (".skops", *_PICKLES)

    def load(self, source: str, *, trusted: Iterable[str] = (), **options: Any) -> Any:
        """Return the model.

        Parameters
        ----------
        source : str
        trusted : iterable of str
            Full names of further types that the file may hold. Read their source first.
        """
        if options:
            raise InputError(f"skops loader: options must be 'trusted' alone; got {sorted(options)}. Leave them out.")
        if Path(source.lower()).suffix in _PICKLES:
            raise InputError(
                f"model must be a .skops file or module:factory; got {source!r}. A pickle runs code when it is loaded: "
                "save the model with skops.io.dump, or name a function that returns it."
            )
        try:
            import skops.io as sio
        except ImportError as error:
            raise MissingDependencyError("the skops loader", "skops", "skops") from error
        allowed = {*REVIEWED, *trusted}
        try:
            found = sio.get_untrusted_types(file=source)
            unknown = sorted(name for name in found if name not in allowed)
            if unknown:
                raise InputError(
                    f"model must hold reviewed types only; got {', '.join(unknown)} in {source!r}. "
                    "If you know where the file comes from and have read these types, trust them by name "
                    f"(--trust {' --trust '.join(unknown)})."
                )
            return sio.load(source, trusted=sorted(name for name in found if name in allowed))
        except (OSError, BadZipFile, KeyError) as error:
            raise InputError(f"model must be a readable .skops file; got {source!r}: {error}. Check it.") from error
