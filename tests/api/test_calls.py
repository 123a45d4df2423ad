"""Calls as people make them: what is in another's place is answered in one line, with the call that is meant."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.core.support.errors import InputError

X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
Y = (X["a"] > 0).astype(int).to_numpy()
MODEL = LogisticRegression().fit(X, Y)
SUBJECT = uq.explain(MODEL, X, Y)
RUN = uq.audit(SUBJECT, explainers=["calibration"], options={"calibration": {"n_draws": 99}}, progress=False)
ONE = "audit.subject must be one subject, or champion and challenger; got "
MAKE = "Call uq.{}(model, X, y)."
VERBS = (
    uq.audit,
    uq.importance,
    uq.profile,
    uq.attributions,
    uq.calibration,
    uq.segments,
    uq.selective,
    uq.dalex_explainer,
)
audit: Callable[..., Any] = uq.audit
importance: Callable[..., Any] = uq.importance
explain: Callable[..., Any] = uq.explain
profile: Callable[..., Any] = uq.profile
load: Callable[..., Any] = uq.load
run: Callable[..., Any] = uq.run


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_every_verb_that_gets_a_model_alone_says_what_to_call(verb: Callable[..., Any]) -> None:
    with pytest.raises(InputError) as caught:
        verb(MODEL)
    text = str(caught.value)
    assert text.startswith(f"{verb.__name__}.subject must be ")
    assert text.endswith(f"; got a LogisticRegression. {MAKE.format(verb.__name__)}")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit([MODEL, MODEL]), "Call uq.audit([uq.explain(champion, X, y), uq.explain(challenger, X, y)])."),
        (lambda: audit([SUBJECT, MODEL]), f"{ONE}a Subject and a LogisticRegression."),
        (lambda: audit([SUBJECT]), f"{ONE}1 subjects. Call uq.audit for each of them."),
        (lambda: audit([]), f"{ONE}0 subjects. {MAKE.format('audit')}"),
        (
            lambda: audit({"m": MODEL}),
            "Call uq.audit({name: uq.explain(model, X, y) for name, model in ",
        ),
        (lambda: audit("audit.toml"), f"{ONE}the text 'audit.toml'. Call uq.run('audit.toml')."),
        (lambda: audit(X), f"{ONE}a DataFrame. {MAKE.format('audit')}"),
        (lambda: audit(LogisticRegression), f"{ONE}the class LogisticRegression."),
        (audit, f"{ONE}a NoneType."),
        (lambda: audit(RUN), f"{ONE}a AuditRun. It is an audit that has been made: its results are in run.results."),
        (lambda: importance([SUBJECT, SUBJECT]), "subjects must have different labels; got one twice."),
        (lambda: importance(SUBJECT, 3), "pfi.measures must be a list of texts; got 3."),
        (lambda: profile(SUBJECT, 3), "profile.features must be a name, a position, a pair or a list of them; got 3."),
        (
            lambda: audit(SUBJECT, {"seed": 1}),
            "audit.settings must be Settings; got a dict. Pass single ones as",
        ),
        (lambda: audit(SUBJECT, previous=3), "An earlier audit must be a run, its folder or run.json; got a int."),
        (lambda: run(SUBJECT), "run.file must be the path of an audit.toml; got a Subject. Call uq.audit(subject)."),
        (lambda: run(MODEL), "got a LogisticRegression. Call uq.audit(model, X, y)."),
        (lambda: run({"run.seed": 1}), "got a dict. Call uq.run(changes={...})."),
        (
            lambda: explain(MODEL, X, Y, time=np.r_[np.inf, np.ones(29)]),
            "time must be finite; got inf in row 0",
        ),
        (lambda: explain(MODEL, X, Y, time=np.ones(30) * 1j), "subject.time must be numbers or dates; got complex128."),
        (lambda: load(RUN), "load.path must be a run.json, or a folder with one; got a AuditRun."),
        (lambda: explain(SUBJECT), "got a Subject, which is explained. Call uq.audit(subject)."),
        (lambda: explain(X, MODEL, Y), "got a DataFrame and a LogisticRegression. Call uq.explain(model, X, y)."),
        (lambda: explain(MODEL, Y, X), "got shapes (30,) and (30, 2). Call uq.explain(model, X, y)."),
        (lambda: explain("m.pkl", X, Y), "explain.model must be a fitted model; got the text 'm.pkl'."),
        (lambda: explain(MODEL, X.assign(t=Y), "t"), "Call uq.explain(model, X.drop(columns='t'), X['t'])."),
        (lambda: explain(MODEL, X, "t"), "subject.y must hold one value per row; got 't', a str."),
        (lambda: explain(MODEL), "explain.X must be the rows to audit; got None."),
        (lambda: explain(MODEL, X, Y, deny=3), "explain.deny must be a name or a list of names; got 3."),
        (lambda: explain(MODEL, X, Y, data=X), "explain.data must be left out where X is given; got both."),
        (lambda: uq.importance(uq.explain(MODEL, X), ["nll"]), "nll: it needs outcomes, which were not given."),
    ],
)
def test_what_is_in_anothers_place_is_answered_with_the_call(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(uq.UQReportError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "allowed"),
    [
        ({"n_jobs": -2}, "audit.n_jobs must be a number of workers, or -1 for all processors; got -2."),
        ({"n_jobs": 0}, "audit.n_jobs must be a number of workers, or -1 for all processors; got 0."),
        ({"n_jobs": "2"}, "audit.n_jobs must be an integer; got '2'."),
        ({"n_jobs": True}, "audit.n_jobs must be an integer; got True."),
        ({"seed": 1.0}, "audit.seed must be an integer; got 1.0."),
        ({"confidence": "0.9"}, "audit.confidence must be a number; got '0.9'."),
        ({"time_limit": float("nan")}, "audit.time_limit must be greater than 0; got nan."),
        ({"fast_paths": "no"}, "audit.fast_paths must be a valid boolean; got 'no'."),
        ({"options": {"pfi": {"n_repeats": "3"}}}, "explainers.pfi.n_repeats must be an integer; got '3'."),
        ({"options": {"pfi": {"n_repeats": -1}}}, "pfi.n_repeats must be an integer >= 1; got -1."),
        ({"options": {"pfi": ["n_repeats"]}}, "audit.options.pfi must be a valid dictionary; got ['n_repeats']."),
    ],
    ids=str,
)
def test_options_of_a_wrong_type_are_named_by_their_key(field: dict[str, Any], allowed: str) -> None:
    with pytest.raises(uq.UQReportError) as caught:
        audit(SUBJECT, progress=False, **field)
    assert allowed in str(caught.value)


@pytest.mark.parametrize("n_jobs", [-1, 1, np.int64(1)])
def test_numbers_of_workers_are_taken(n_jobs: int) -> None:
    assert uq.Settings(n_jobs=n_jobs).n_jobs == n_jobs


def test_a_label_for_every_row_is_no_class() -> None:
    def of(n: int) -> Any:
        each = [f"id{i}" for i in range(n)]
        return uq.explain(lambda T: uq.dist.Categorical(np.full((len(T), n), 1 / n), classes=each), X[:n], each)

    with pytest.raises(InputError, match=r"explain\.y must repeat its labels; got 21 different ones in 21 rows\."):
        of(21)
    assert of(20).n == 20
