"""The runner: order, reasons, one state per check, the same bytes for any number of workers."""

import json
import logging
from typing import Any, ClassVar

import numpy as np
import pytest

import uq_report as uq
from uq_report import runner
from uq_report.core.engine.fast_path_evaluator import Progress
from uq_report.core.model.adapter import Match
from uq_report.core.model.subject import make_subject
from uq_report.core.support.errors import InputError, ModelError, PluginError, UQReportError
from uq_report.distributions import Normal
from uq_report.evidence import codec
from uq_report.evidence.run import Run
from uq_report.runner.settings import Settings
from uq_report.testing import KnownTruth, linear_subject

from ..packages import Packages, explainer

AS_OF = "2026-01-31"


def audit(*explainers: str, **settings: Any) -> Run:
    return runner.run(linear_subject(40), Settings(explainers=explainers, as_of=AS_OF, **settings)).run


def reason(run: Run, name: str, group: str = "explainers") -> str:
    return next(entry.reason for entry in run.not_run if (entry.group, entry.name) == (group, name))


def outcome(run: Run, name: str, group: str = "explainers") -> str:
    return next(record.outcome for record in run.plugins if (record.group, record.name) == (group, name))


def test_a_failure_becomes_a_reason_and_everything_else_is_delivered(
    packages: Packages, caplog: pytest.LogCaptureFixture
) -> None:
    packages.explainer("good", explainer("good"))
    packages.explainer("bad", explainer("bad", "raise KeyError('no such thing')"))
    packages.explainer("child", explainer("child", needs=("bad",)))
    packages.explainer("grandchild", explainer("grandchild", needs=("child",)))
    packages.explainer("absent", "import no_such_library")
    with caplog.at_level(logging.WARNING):
        run = audit("good", "bad", "child", "grandchild", "absent")
    assert [r.id for r in run.results] == ["good"]
    assert reason(run, "bad") == "KeyError: 'no such thing'"
    assert reason(run, "child") == "it needs bad, which did not run: KeyError: 'no such thing'"
    assert reason(run, "grandchild").startswith("it needs child, which did not run: it needs bad")
    assert "No module named 'no_such_library'" in reason(run, "absent")
    assert reason(run, "pfi") == "not chosen in the settings"
    assert outcome(run, "bad") == "not run: KeyError: 'no such thing'"
    assert outcome(run, "good") == "ran: 1 result"
    assert "Traceback" in caplog.text


def test_code_of_others_that_ends_the_process_is_a_fault_of_that_code(packages: Packages) -> None:
    packages.explainer("ends", explainer("ends", "raise SystemExit(0)"))
    packages.explainer("quits", "raise SystemExit(7)")
    packages.explainer(
        "starts", explainer("starts").replace("if self.n_things < 1:", "raise SystemExit(1)\n        if 1:")
    )
    packages.explainer(
        "breaks", explainer("breaks").replace("if self.n_things < 1:", "raise KeyError('a')\n        if 1:")
    )
    packages.explainer("good", explainer("good"))
    run = audit("ends", "quits", "starts", "breaks", "good")
    assert [result.id for result in run.results] == ["good"]
    assert reason(run, "ends") == "SystemExit: 0"
    assert "explainers 'quits' of pkg_quits 1.0 cannot be imported: SystemExit: 7." in reason(run, "quits")
    assert reason(run, "starts").startswith("explainers 'starts' of pkg_starts 1.0 cannot be made: SystemExit: 1.")
    assert reason(run, "breaks").startswith("explainers 'breaks' of pkg_breaks 1.0 cannot be made: KeyError: 'a'.")
    assert {entry.cause for entry in run.not_run if entry.name in ("ends", "quits", "starts", "breaks")} == {"fault"}
    with pytest.raises(PluginError, match="cannot be made"):
        audit("breaks", require=("breaks",))


def test_what_is_needed_comes_first_and_what_is_missing_is_named(packages: Packages) -> None:
    body = "assert [r.id for r in prior['zlast']] == ['zlast']"
    packages.explainer("afirst", explainer("afirst", body, needs=("zlast",)))
    packages.explainer("zlast", explainer("zlast"))
    assert [r.id for r in audit("afirst", "zlast").results] == ["zlast", "afirst"]
    assert reason(audit("afirst"), "afirst") == "it needs zlast, which did not run: not chosen in the settings"


def test_a_circle_of_needs_stops(packages: Packages) -> None:
    packages.explainer("one", explainer("one", needs=("two",)))
    packages.explainer("two", explainer("two", needs=("one",)))
    with pytest.raises(PluginError, match=r"must not form a circle; got (one -> two -> one|two -> one -> two)"):
        audit("one", "two")


def test_what_the_distribution_lacks_is_said(packages: Packages) -> None:
    packages.explainer("wants", explainer("wants", requires=("epistemic",)))
    assert reason(audit("wants"), "wants").startswith("epistemic needs the members of an ensemble")


def test_all_wrong_options_are_reported_before_anything_runs(packages: Packages) -> None:
    packages.explainer("extra", explainer("extra"))
    options = {"extra": {"n_thing": 1, "n_things": 0}, "pfy": {}, "checks.calibration": {"no_such": 1}}
    with pytest.raises(InputError) as caught:
        runner.run(linear_subject(20), Settings(explainers=("extra", "pdq"), options=options))
    told = str(caught.value)
    assert len(told.splitlines()) == 5
    assert "explainers.extra.n_thing must be a known option; got 'n_thing'. Did you mean 'n_things'?" in told
    assert "extra.n_things must be >= 1; got 0." in told
    assert "settings.explainers must list registered names; got 'pdq'. Did you mean 'pdp'?" in told
    assert "got 'pfy'. Did you mean 'pfi'?" in told
    assert "checks.calibration.no_such must be a known option" in told


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [None]", "must return Results"),
        ("return [self.made('other')]", "a result must be named after its explainer; got 'other'"),
        (
            "return [self.made('extra.x'), self.made('extra.x')]",
            "result ids must be unique in a run; got 'extra.x' twice",
        ),
        ("return [self.made('extra', meta={'m': engine})]", "extra.meta.m must be a JSON value to be saved"),
    ],
)
def test_results_that_break_the_contract_are_told(packages: Packages, body: str, message: str) -> None:
    packages.explainer("extra", explainer("extra", body))
    assert message in reason(audit("extra"), "extra")


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("X = subject.X; X.iloc[0, 0] = 9.0", "X"),
        ("X = subject.X; X.iloc[0, 0] = 9.0; raise ValueError", "X"),
        ("engine.subject.y[:] = 0", "y"),
    ],
)
def test_an_explainer_that_changes_the_data_stops_the_audit_and_is_named(
    packages: Packages, body: str, changed: str
) -> None:
    packages.explainer("extra", explainer("extra", body))
    with pytest.raises(PluginError, match=rf"^explainers 'extra' of pkg_extra 1\.0 must .* it changed {changed}\. "):
        audit("extra", "pfi")
    packages.explainer("reads", explainer("reads", "X = subject.X.copy(); X.iloc[0, 0] = 9.0"))
    assert [result.id for result in audit("reads").results] == ["reads"]


class Line:
    """A model that can be fitted again, and whose predictions may be random."""

    slope, noise = 1.0, 0.0

    def __call__(self, X: Any) -> Normal:
        return Normal(self.slope * np.asarray(X)[:, 0] + self.noise * np.random.default_rng().normal(), 1.0)


def audit_of(model: Line, **given: Any) -> Run:
    X = np.random.default_rng(0).normal(size=(40, 2))
    return runner.run(uq.explain(model, X, **given), Settings(explainers=("extra", "pfi"), as_of=AS_OF)).run


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (
            "subject.model.slope = 2",
            r"got two calls that differ by up to \d\.\d+ \(mean\) in 40 of 40 rows, one before",
        ),
        ("subject.model.slope = 2; raise ValueError", "got two calls that differ"),
        ("subject.model.slope = None", "since then Line failed to predict 40 rows: TypeError: "),
    ],
)
def test_an_explainer_that_changes_the_model_stops_the_audit_and_is_named(
    packages: Packages, body: str, changed: str
) -> None:
    packages.explainer("extra", explainer("extra", body))
    with pytest.raises(PluginError, match=rf"^explainers 'extra' of pkg_extra 1\.0 must leave the model .*; {changed}"):
        audit_of(Line())


def test_an_explainer_is_not_blamed_for_predictions_that_are_random(packages: Packages) -> None:
    packages.explainer("extra", explainer("extra", "subject.model"))
    random = Line()
    random.noise = 1.0
    for run in (audit_of(Line()), audit_of(random, stochastic="members")):
        assert "extra" in [result.id for result in run.results]


def test_denied_plugins_are_listed_and_not_imported(packages: Packages) -> None:
    packages.explainer("extra", "raise SystemExit('imported')")
    run = runner.run(linear_subject(20), Settings(explainers=(), deny=("pkg_extra",), as_of=AS_OF)).run
    assert reason(run, "extra") == "denied by the settings; it was not imported"


def test_a_required_plugin_that_cannot_be_used_stops(packages: Packages) -> None:
    packages.explainer("extra", "import no_such_library")
    with pytest.raises(PluginError, match="No module named 'no_such_library'"):
        audit("extra", require=("extra",))


INFINITE = """
from uq_report.evidence.finding import Outcome
from uq_report.checks.rule import Rule
class C:
    name = "inf"; title = "Inf"; api_version = 1
    rules = (Rule(code="X2", title="t", grades=("low",), when="always", rests_on="r"),)
    def check(self, run):
        finding = self.rules[0].finding("low", "s", ["pfi"], observed=float("inf"))
        return Outcome(check="inf", state="found", findings=(finding,))
"""


def test_every_check_ends_in_one_state(packages: Packages) -> None:
    check = (
        "class C:\n    name = title = 'odd'; rules = (); api_version = 1\n    def check(self, run):\n        1 / 0\n"
    )
    packages.install("odd_pkg", {"checks:odd": "odd_pkg:C"}, check)
    run = audit()
    states = {o.check: o for o in run.outcomes}
    assert states["odd"].state == "skipped"
    assert reason(run, "odd", "checks") == states["odd"].reason == "it failed: ZeroDivisionError: division by zero"
    assert len(run.outcomes) == len([r for r in run.plugins if r.group == "checks"])
    packages.install("inf_pkg", {"checks:inf": "inf_pkg:C"}, INFINITE)
    assert "must be finite to be saved; got inf" in reason(audit(), "inf", "checks")
    left_out = {o.check: o for o in audit(checks=("odd",)).outcomes}
    assert left_out["calibration"].reason == "not chosen in the settings"


def test_bytes_do_not_depend_on_workers_and_the_clock_does_not_enter() -> None:
    subject = linear_subject(60, train=True)

    def bytes_of(n_jobs: int) -> bytes:
        options = {"pfi": {"n_repeats": 4}, "pdp": {"grid_resolution": 5}}
        settings = Settings(explainers=("pfi", "pdp"), options=options, as_of=AS_OF, n_jobs=n_jobs, backend="threading")
        return codec.dumps(runner.run(subject, settings).run)

    one = bytes_of(1)
    assert one == bytes_of(2)
    assert one == bytes_of(1)


def test_the_run_equals_its_file() -> None:
    run = audit("pdp", options={"pdp": {"features": ["a"], "grid_resolution": 4}})
    again = codec.loads(codec.dumps(run))
    assert again.subject == run.subject
    assert again.settings == run.settings
    assert [r.options for r in again.results] == [r.options for r in run.results]
    assert [r.meta for r in again.results] == [r.meta for r in run.results]


def test_rows_and_environment_are_recorded() -> None:
    audited = runner.run(linear_subject(40), Settings(explainers=("pdp",), as_of=AS_OF))
    rows = {(r.group, r.name): r.rows_predicted for r in audited.run.plugins}
    assert rows["explainers", "pdp"] > 40
    assert outcome(audited.run, "entropy", "measures") == "used"
    assert outcome(audited.run, "html", "renderers") == "available"
    assert {"python", "platform", "numpy", "uq_report"} <= set(audited.run.environment)
    assert {"started", "seconds", "host", "n_jobs"} <= set(audited.clock)
    assert "host" not in json.dumps(dict(audited.run.environment))


def test_progress_names_every_explainer() -> None:
    steps: list[Progress] = []
    runner.run(linear_subject(30), Settings(explainers=("pdp",), as_of=AS_OF), steps.append)
    assert steps[0] == Progress("pdp", 0, 0, 1, 1)
    assert steps[-1].done == steps[-1].total > 0


def test_a_budget_that_is_spent_is_a_reason() -> None:
    assert "engine.row_budget must allow the next" in reason(audit("pdp", row_budget=100), "pdp")


def test_a_model_that_cannot_predict_stops_with_one_error() -> None:
    class Broken(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            raise ValueError("no weights")

    subject = make_subject(object(), Broken(), np.zeros((5, 2)), label="net")
    with pytest.raises(ModelError, match="net failed to predict 5 rows: ValueError: no weights"):
        runner.run(subject, Settings(explainers=()))


class _Speaks:
    name: ClassVar[str] = "speaks"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        return Match(0, "mine") if isinstance(model, _Model) else None

    def predict(self, model: Any, X: Any) -> Normal:
        return Normal(np.zeros(len(X)), np.ones(len(X)))

    def batch_rows(self, model: Any) -> int | None:
        return None


class _Model:
    pass


ADAPTER = """
from uq_report.core.model.adapter import Match
class {cls}:
    name = {name!r}
    api_version = 1
    def matches(self, model): return Match({distance}, "by name") if type(model).__name__ == "_Model" else None
    def predict(self, model, X): raise NotImplementedError
    def batch_rows(self, model): return None
"""


def test_the_closest_adapter_wins_a_tie_lists_both_and_a_name_decides(packages: Packages) -> None:
    for name, distance in (("near", 1), ("far", 2)):
        packages.install(
            f"p_{name}", {f"adapters:{name}": f"p_{name}:A"}, ADAPTER.format(cls="A", name=name, distance=distance)
        )
    adapter, why = runner.choose_adapter(_Model())
    assert (adapter.name, why) == ("near", "by name")
    assert runner.choose_adapter(_Model(), "far")[0].name == "far"
    packages.install("p_twin", {"adapters:twin": "p_twin:A"}, ADAPTER.format(cls="A", name="twin", distance=1))
    with pytest.raises(InputError, match=r"'near' \(by name\) and 'twin' \(by name\) equally well"):
        runner.choose_adapter(_Model())


def test_a_model_that_no_adapter_reads_is_refused_with_lines_to_type() -> None:
    with pytest.raises(InputError) as caught:
        runner.choose_adapter(_Model())
    assert "_Model, which has no method that uq_report knows. Type:" in str(caught.value)
    assert "    uq.explain(f, X, y)" in str(caught.value)
    with pytest.raises(InputError, match="got the class _Model itself"):
        runner.choose_adapter(_Model)


def test_an_adapter_object_decides_and_anything_else_is_refused() -> None:
    assert runner.choose_adapter(_Model(), _Speaks())[1] == "given by the user"
    for wrong in (3, _Speaks):
        with pytest.raises(InputError, match="adapter must be a registered name or an Adapter object"):
            runner.choose_adapter(_Model(), wrong)  # type: ignore[arg-type]


def test_a_broken_adapter_does_not_stop_the_others(packages: Packages) -> None:
    packages.install("p_bad", {"adapters:bad": "p_bad:A"}, "import no_such_library")
    assert runner.choose_adapter(lambda X: X)[0].name == "function"
    assert "no_such_library" in reason(audit(), "bad", "adapters")


def test_single_raises_and_says_why_nothing_is_left() -> None:
    subject = linear_subject(30)
    with pytest.raises(InputError, match=r"pfi\.n_repeats must be an integer >= 1; got 0"):
        runner.single(subject, "pfi", {"n_repeats": 0}, Settings())
    for name in ("pdp", "pfi"):
        with pytest.raises(UQReportError, match="epistemic needs the members of an ensemble"):
            runner.single(subject, name, {"measures": ["epistemic"]}, Settings())
