"""Airflow 3.3: one audit a week. The data interval is its date, so a retry or a backfill has the same inputs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

AUDITS = "/srv/audits"


@task(execution_timeout=timedelta(hours=2))
def audit(file: str, ds: str | None = None) -> dict[str, Any]:
    """Run an audit; a lock that another run holds is an error of uq_report, after which Airflow tries again."""
    import uq_report as uq  # by the worker alone

    done = uq.run(file, {"run.as_of": ds}, progress=False)
    if done.reasons:  # findings at the gate: the report is filed, and another attempt would find the same
        raise AirflowFailException("; ".join(done.reasons))
    if done.exit_code:
        raise AirflowException(f"exit code {done.exit_code}: the tracking store could not be written")
    if done.unchanged:
        raise AirflowSkipException(f"nothing changed since {done.reference}")
    return dict(done.summary)


with DAG(
    dag_id="uq_report",
    schedule="0 6 * * 1",
    start_date=datetime(2026, 1, 5, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
    tags=["model risk"],
) as dag:
    index = BashOperator(
        task_id="index",
        bash_command=f"uq-report index {AUDITS}/history --output {AUDITS}/index.html --quiet",
        trigger_rule="all_done",
        append_env=True,
    )
    audit(f"{AUDITS}/credit/audit.toml") >> index
