"""The fixed part of a first ``audit.toml``; a test switches every key on and reads it back."""

HEADER = """\
# One audit. Run it with `uq-report run audit.toml`; `uq-report config check audit.toml` only reads it.
# Keys behind a # are off. Places are relative to this file. Flags of `run` win over it.
"""

REST = """\
#[data.groups]
# Features that are explained together as well.
#accounts = ["saving_accounts", "checking_account"]

#[expectations]
# The direction that the prediction must have in a feature, for the check of directions.
#duration = "increasing"

[policy]
# Rules of the model's owner, each judged by its interval, and the severity from which `run` ends with exit code 1.
#rules = ["coverage 90 >= 0.85", "postcode not in top 3 of entropy"]
#fail_on = "high"

#[explainers.pfi]
# Options of an explainer, one section each; `uq-report plugins pfi` lists them.
#n_repeats = 30

#[rules.calibration]
# Options of a check, such as its thresholds.
#effect = 0.02

[run]
seed = 0
#confidence = 0.95  # level of every interval
#jobs = -1  # workers; they change no number
#explainers = ["calibration", "pfi"]  # all by default
#rules = ["calibration"]  # all by default
#deny = ["dalex"]  # plugins or distributions that must not be imported
#require = ["pfi"]  # plugins without whose part the audit ends with exit code 1
#as_of = "2026-01-31"  # the report's date; by default SOURCE_DATE_EPOCH or today

[budget]
# What a limit cuts is listed as not run. A time or memory limit makes a run that hits it not reproducible.
#rows = 5000000  # rows predicted in all
#seconds = 3600
#memory_mb = 4000

[about]
# What only people can say; what is missing stands as open in the report.
#title = "Audit of the model"
#author = ""
#owner = ""
#version = ""
#purpose = ""
#intended_use = ""
#out_of_scope = ""
#materiality = ""
#validator = ""

#[[waivers]]
# A finding that somebody answers for until a day: it stays in the report, and is not open.
#code = "UQ101"
#owner = "Model owner"
#reason = "Accepted until the next training"
#expires = "2026-12-31"

#[[actions]]
# Who deals with a finding, and until when.
#code = "UQ201"
#owner = "Model owner"
#due = "2026-12-31"

[output]
folder = "uq-report"
formats = ["html", "pdf"]  # markdown and junit too
#template = "audit"  # brief, model-card
#templates = "house-style"
#annex = "short"  # none; full for all tables and figures of every method
#history = "history"  # files every run, and tells what changed since the last one
#name = "my-model"  # of the audit in the history; the label by default
#keep = 24  # so many runs are kept in the history

#[hooks]
# What happens after a run. Secrets come from the environment alone.
#when = "findings"
#folder = "published"

#[mlflow]
# The tracking store that a run is logged to.
#tracking_uri = "sqlite:///mlflow.db"
"""
