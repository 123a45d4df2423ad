"""One audit by the workers of a dask cluster, here one on this machine: the same bytes of run.json as by one process.

    python examples/dask/audit_on_a_cluster.py [SCHEDULER]

On the command line it is the flag ``--scheduler tcp://host:8786``, in ``audit.toml`` the key ``scheduler`` of the
section ``[run]``. The workers need the Python environment of this process.
"""

from __future__ import annotations

import logging
import sys

from distributed import LocalCluster
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import uq_report as uq
from uq_report.evidence import codec


def audit(scheduler: str | None) -> bytes:
    """Return run.json of a small audit, by the workers of a cluster or by this process."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :5], data.target_names[data.target]
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[:400], y[:400])
    subject = uq.explain(model, X[400:], y[400:])
    run = uq.audit(subject, explainers=["pdp"], checks=[], as_of="2026-01-31", scheduler=scheduler)
    return codec.dumps(run.run)


def main(scheduler: str | None = None) -> None:
    if scheduler is not None:
        audit(scheduler)
        return
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**options) as cluster:
        same = audit(cluster.scheduler_address) == audit(None)
    print("the same bytes" if same else "other bytes")


if __name__ == "__main__":
    main(*sys.argv[1:2])
