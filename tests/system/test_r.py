"""The R example: an audit of a glm of R from R, whose numbers are those of the same model in Python."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq

RSCRIPT = shutil.which("Rscript")
EXAMPLE = Path(__file__).parents[2] / "examples" / "r" / "audit.R"
FIT = """
source({example!r})
set.seed(1); n <- 60
d <- data.frame(age = rnorm(n, 40, 10), income = rexp(n), home = factor(sample(c("own", "rent"), n, TRUE)))
y <- factor(ifelse(runif(n) < plogis(0.08 * (d$age - 40) - d$income + (d$home == "own")), "yes", "no"))
m <- glm(y ~ ., binomial, cbind(d, y = y))
write.csv(data.frame(value = format(coef(m), digits = 17)), "coef.csv", row.names = FALSE)
explainer <- list(model = m, data = d, y = y,
                  predict_function = function(m, x) predict(m, x, type = "response"))
code <- audit(explainer, "--explainers", "pfi,pdp", "--format", "html", program = {program!r})
stopifnot(code == 0)
"""

pytestmark = pytest.mark.skipif(RSCRIPT is None, reason="R is not installed (Debian: r-base-core)")


def test_an_audit_made_from_r_has_the_numbers_of_the_same_model_in_python(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("uq-report")
    script = tmp_path / "fit.R"
    script.write_text(FIT.format(example=str(EXAMPLE), program=str(program)))
    done = subprocess.run([str(RSCRIPT), str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "more rows; they are in rows.csv" in done.stderr
    run = uq.load(tmp_path / "audit" / "report")
    assert (tmp_path / "audit" / "report" / "report.html").stat().st_size > 50_000
    b0, age, income, rent = pd.read_csv(tmp_path / "coef.csv")["value"]
    data = pd.read_csv(tmp_path / "audit" / "data.csv")

    def model(X: Any) -> Any:
        p = 1 / (1 + np.exp(-(b0 + age * X["age"] + income * X["income"] + rent * (X["home"] == "rent"))))
        return uq.dist.Categorical(np.column_stack([1 - p, p]), classes=["no", "yes"])

    subject = uq.explain(model, data.drop(columns="target"), data["target"])
    own = uq.audit(subject, explainers=["pfi", "pdp"], progress=False)
    for key in ("pfi", "pdp"):
        ours, theirs = run[key].estimates, own[key].estimates
        assert ours["feature"].tolist() == theirs["feature"].tolist()
        assert {"entropy", "nll"} <= set(ours["measure"])
        assert np.abs(ours["estimate"] - theirs["estimate"]).max() < 1e-9
