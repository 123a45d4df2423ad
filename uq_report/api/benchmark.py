"""The benchmark of an audit: a simple model fitted to the training observations, or a fitted model that is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import runner
from ..core.engine.fast_path_evaluator import first_distribution
from ..core.model.subject import Subject
from ..core.support.arrays import AnyArray, Table
from ..core.support.errors import InputError
from ..distributions import Normal, Poisson
from ..runner.settings import BENCHMARKS

CLASSES, NUMBERS = "classes", "numbers"
TRIED_ROWS = 20


def benchmark_of(subject: Subject, benchmark: Any, deny: Sequence[str] = ()) -> Subject:
    """Return the subject's rows with another model, which predicts without a view of them.

    Parameters
    ----------
    subject : Subject
        With training rows and their outcomes, where a model is fitted.
    benchmark : {"logistic", "ridge", "poisson", "constant"} or fitted model
        Logistic regression for classes, Bayesian ridge regression for numbers, Poisson regression for counts, or what
        predicts the distribution of the training outcomes for every row.
    deny : sequence of str
        Plugins that must not be imported.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from uq_report.api.explaining import explain
    >>> X, y = np.arange(8.0)[:, None], np.arange(8.0) % 3
    >>> subject = explain(BayesianRidge().fit(X, y), X, y, train=(X, y))
    >>> benchmark_of(subject, "constant").label
    'constant prediction, fitted to 8 training observations'
    """
    if not isinstance(benchmark, str):
        return _with_model(subject, benchmark, f"{type(benchmark).__name__}, as given", deny)
    dist = first_distribution(subject, TRIED_ROWS)
    allowed = [
        kind for kind, (_, of) in BENCHMARKS.items() if of in ("", CLASSES if "proba" in dist.supports else NUMBERS)
    ]
    if benchmark not in allowed:
        raise InputError(
            f"audit.benchmark must be one of {allowed}, or a fitted model; got {benchmark!r}. "
            "A file is named in audit.toml: [run] benchmark."
        )
    X, y = subject.train or (None, None)
    if X is None or y is None or dist.censored:
        why = "outcomes may be censored" if dist.censored else "there are no training rows with outcomes"
        raise InputError(f"audit.benchmark must be a fitted model where {why}; got {benchmark!r}. Give train=(X, y).")
    if benchmark != "constant" or "proba" in dist.supports:
        model: Any = _pipeline(subject, benchmark).fit(X, y)
    else:
        model = _constant(y, counts=dist.discrete)
    label = f"{BENCHMARKS[benchmark][0]}, fitted to {len(X)} training observations"
    return _with_model(subject, model, label, deny)


def _with_model(subject: Subject, model: Any, label: str, deny: Sequence[str]) -> Subject:
    adapter, reason = runner.choose_adapter(model, None, tuple(deny))
    own = {"model": model, "adapter": adapter, "adapter_reason": reason, "label": label}
    return replace(subject, **own, assumption=None, notes=(), groups={})


def _pipeline(subject: Subject, benchmark: str) -> Any:
    """Return the estimator behind median imputation and scaling of numbers and one-hot columns of categories."""
    from sklearn.compose import make_column_transformer
    from sklearn.dummy import DummyClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    estimators: Mapping[str, Callable[[], Any]] = {
        "logistic": lambda: LogisticRegression(max_iter=1000),
        "ridge": BayesianRidge,
        "poisson": PoissonRegressor,
        "constant": lambda: DummyClassifier(strategy="prior"),
    }
    names = list(subject.features) if hasattr(subject.X, "columns") else list(range(len(subject.features)))
    pairs = list(zip(names, map(subject.kinds.__getitem__, subject.features), strict=True))
    numeric, levels = ([name for name, own in pairs if own == kind] for kind in ("numeric", "categorical"))
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels),
    )
    return make_pipeline(columns, estimators[benchmark]())


def _constant(y: AnyArray, *, counts: bool) -> Callable[[Table], Normal | Poisson]:
    """Return the prediction of the training mean for every row: a Poisson of counts, else a normal."""
    mean, spread = float(np.mean(y)), float(np.std(y, ddof=1))
    if counts:
        return lambda X: Poisson(np.full(len(X), mean))
    return lambda X: Normal(np.full(len(X), mean), np.full(len(X), spread))
