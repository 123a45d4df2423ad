"""The file of a sample's model: saved and hashed, so that its report names a file as that of a real audit does."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib

from ...core.model.subject import Subject


def filed(subject: Subject) -> Subject:
    """Return a subject with the name and hash of the file that joblib saves its model to.

    Parameters
    ----------
    subject : Subject
        Its label names the file.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from uq_report.api import explain
    >>> model = BayesianRidge().fit(np.eye(3), np.arange(3.0))
    >>> made = filed(explain(model, np.eye(3), label="Bayesian ridge"))
    >>> made.sources["model"], len(made.hashes["model"])
    ('bayesian-ridge.joblib', 64)
    """
    name = f"{re.sub(r'[^a-z0-9]+', '-', subject.label.lower()).strip('-')}.joblib"
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        joblib.dump(subject.model, file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return replace(subject, sources={**subject.sources, "model": name}, hashes={**subject.hashes, "model": digest})
