"""The examples by the validators of others: the schemas of GitHub, GitLab and Kubernetes, each with a mistake too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
GITHUB, GITLAB = ("vendor.github-workflows",), ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")


@pytest.mark.parametrize(
    ("file", "schema", "right", "wrong", "reason"),
    [
        ("github-actions.yml", GITHUB, "permissions:\n  contents: read", "permissions:\n  contents: reed", "reed"),
        ("github-actions.yml", GITHUB, "    runs-on:", "    run-on:", "run-on"),
        ("gitlab-ci.yml", GITLAB, "when: always", "when: allways", "allways"),
        ("gitlab-ci.yml", GITLAB, "    max: 2", "    max: 3", "retry"),
    ],
)
def test_the_pipelines_follow_the_published_schemas(
    tmp_path: Path, file: str, schema: tuple[str, ...], right: str, wrong: str, reason: str
) -> None:
    pytest.importorskip("check_jsonschema", reason="the schemas of GitHub and GitLab come with check-jsonschema")
    text = (EXAMPLES / "ci" / file).read_text(encoding="utf-8")
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong), encoding="utf-8")
    words = [sys.executable, "-m", "check_jsonschema", "--no-cache", "--builtin-schema", *schema]
    good, bad = (
        subprocess.run([*words, str(place / file)], capture_output=True, text=True, check=False)
        for place in (EXAMPLES / "ci", tmp_path)
    )
    assert good.returncode == 0, good.stdout + good.stderr
    assert (bad.returncode, reason in bad.stdout) == (1, True)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("startingDeadlineSeconds: 86400", "startingDeadline: 86400"),
        ("onExitCodes:", "onExitCode:"),
        ("readOnlyRootFilesystem: true", 'readOnlyRootFilesystem: "true"'),
        ("emptyDir: {}", "emptyDir: 1"),
    ],
)
def test_the_cron_job_follows_the_schema_of_kubernetes(right: str, wrong: str) -> None:
    yaml: Any = pytest.importorskip("yaml", reason="the example is YAML")
    kubernetes: Any = pytest.importorskip(
        "kubernetes_validate", reason="the schemas of Kubernetes come with kubernetes-validate"
    )
    text = (EXAMPLES / "kubernetes" / "cronjob.yaml").read_text(encoding="utf-8")
    assert text.count(right) == 1
    for version in ("1.31", kubernetes.latest_version()):  # podFailurePolicy is stable since 1.31
        kubernetes.validate(yaml.safe_load(text), version, strict=True)
        with pytest.raises(kubernetes.ValidationError):
            kubernetes.validate(yaml.safe_load(text.replace(right, wrong)), version, strict=True)
