"""Settings: typed, frozen, every mistake at once and by key."""

import pytest

from uq_report.core.support.errors import InputError
from uq_report.runner.settings import Settings, logical_date, make_settings


def test_every_mistake_is_reported_together_by_key() -> None:
    wrong = {
        "sed": 1,
        "seed": -1,
        "n_jobs": 0,
        "as_of": "20260101",
        "explainers": 3,
        "options": {"pfi": 3},
        "batch_rows": 0,
        "backend": "tread",
    }
    with pytest.raises(InputError) as caught:
        make_settings(wrong, "audit")
    lines = str(caught.value).splitlines()
    assert len(lines) == len(wrong)
    assert "audit.sed must be a known setting; got 'sed'. Did you mean 'seed'?" in lines
    assert "audit.as_of must be a date written YYYY-MM-DD; got '20260101'." in lines
    assert "audit.n_jobs must be a number of workers, or -1 for all processors; got 0." in lines
    assert "audit.explainers must be a valid tuple; got 3." in lines


def test_none_means_the_default_and_settings_are_frozen() -> None:
    settings = make_settings({"explainers": None, "seed": 3})
    assert settings.explainers is None
    with pytest.raises(ValueError, match="frozen"):
        settings.seed = 4


def test_the_date_is_the_option_else_the_epoch_else_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert Settings().as_of == "1970-01-02"
    assert Settings(as_of="2026-02-03").as_of == "2026-02-03"
    assert len(logical_date({})) == len("2026-01-01")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH must be seconds since 1970 as an integer; got 'now'"):
        logical_date({"SOURCE_DATE_EPOCH": "now"})


def test_workers_are_not_recorded() -> None:
    recorded = make_settings(
        {"n_jobs": 2, "backend": "loky", "seed": 5, "options": {"pfi": {"n_repeats": 3}}}
    ).recorded()
    assert {"n_jobs", "backend"}.isdisjoint(recorded)
    assert recorded["seed"] == 5
    assert recorded["options"] == {"pfi": {"n_repeats": 3}}
