"""Airflow 3: one audit a week. The data interval is its date, so a retry or a backfill has the same inputs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

AUDITS = "/srv/audits"
RUN = "uq-report run {file} --as-of {{{{ ds }}}} --quiet --json --exit-code-unchanged 99"

with DAG(
    dag_id="uq_report",
    schedule="0 6 * * 1",
    start_date=datetime(2026, 1, 5, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
    tags=["model risk"],
) as dag:
    # 99, nothing changed: skipped. 75, another run is at work: tried again. 1, findings: failed, the report is filed.
    audit = BashOperator(
        task_id="audit",
        bash_command=RUN.format(file=f"{AUDITS}/credit/audit.toml"),
        skip_on_exit_code=99,
        execution_timeout=timedelta(hours=2),
        append_env=True,
    )
    index = BashOperator(
        task_id="index",
        bash_command=f"uq-report index {AUDITS}/history --output {AUDITS}/index.html --quiet",
        trigger_rule="all_done",
        append_env=True,
    )
    audit >> index
