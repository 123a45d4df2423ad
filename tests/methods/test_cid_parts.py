"""Parts of covered information by hand: which estimator comes first, what is related, and corrected lines."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import ndtri

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, NLL, PREDICTION
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, RowValues
from uq_report.core.model.sampling import Sampling, t_quantile
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.methods.cid import cid as textbook, estimate, explain, precision
from uq_report.methods.cid.cid import LEVEL, InformationTerms, normal_log_p
from uq_report.methods.cid.correction import CoverTerms, _Corrected
from uq_report.methods.cid.estimate import (
    Choice,
    Data,
    InformationEstimate,
    _attempts,
    _first,
    _unsuited,
    in_cells,
    related_by_cells,
    related_by_correlation,
    twins,
)
from uq_report.methods.cid.explain import CoveredInformation, _means, alone
from uq_report.methods.shared.terms import ImportanceTerms as Importances, ShuffledRows

from .pfi_cases import MEASURES, subject
from .test_cid_terms import flat

AUTO = Choice("auto", None, None, "whole", 4)
N = 30


def data(columns: dict[str, Any], *, classes: bool = False) -> Data:
    """Return columns with an outcome of numbers, or of three classes."""
    X = pd.DataFrame(columns)
    y = np.arange(len(X)) % 3 if classes else np.arange(len(X), dtype=float)
    of = replace(testing.linear_subject(4), X=X, y=y, features=tuple(columns), kinds=kinds(X))
    return Data(of, tuple(columns), y, classes, len(X))


def kinds(X: pd.DataFrame) -> dict[str, Any]:
    numeric = {str(name): pd.api.types.is_numeric_dtype(X[name]) for name in X}
    return {name: "numeric" if is_numeric else "categorical" for name, is_numeric in numeric.items()}


def numbers(d: int, n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {f"x{k}": rng.normal(size=n) for k in range(d)}


def test_only_an_estimator_that_nobody_chose_may_be_replaced() -> None:
    assert AUTO.free
    assert not AUTO._replace(graph=(("a", "y"),)).free
    assert not AUTO._replace(estimator="copula").free
    assert not AUTO._replace(estimator="copula", graph=(("a", "y"),)).free


def attempts(given: Data, choice: Choice) -> tuple[list[str], list[float], list[str]]:
    """Return the inverters tried, the penalties of the discrete field, and what was refused."""
    engine: Any = None
    refused: list[str] = []
    made = [*_attempts(given, engine, choice, refused)]
    names = {precision.by_shrinkage: "shrinkage", precision.by_lasso: "lasso", precision.by_graph: "graph"}
    tried, penalties = [], []
    for attempt in made:
        of: Any = attempt
        if of.func is estimate.discrete_estimate:
            penalties.append(of.args[-1])
        else:
            inverter = of.args[1]
            tried.append(names[getattr(inverter, "func", inverter)])
    return tried, penalties, refused


@pytest.mark.parametrize(
    ("d", "penalty", "tried"),
    [(50, None, ["lasso", "shrinkage"]), (51, None, ["shrinkage"]), (51, 0.5, ["lasso", "shrinkage"])],
)
def test_a_penalty_is_cross_validated_for_up_to_fifty_features(d: int, penalty: float | None, tried: list[str]) -> None:
    found, penalties, refused = attempts(data(numbers(d)), AUTO._replace(penalty=penalty))
    assert found == tried
    assert penalties == [(penalty or 1.0) * 10.0**k for k in range(3)]
    assert [reason.partition(",")[0] for reason in refused] == (
        [] if "lasso" in tried else ["a lasso whose penalty is cross-validated"]
    )


def test_a_chosen_estimator_is_tried_alone() -> None:
    given = data(numbers(51))
    assert attempts(given, AUTO._replace(estimator="copula")) == (["lasso"], [], [])
    assert attempts(given, AUTO._replace(estimator="discrete")) == ([], [1.0], [])
    assert attempts(given, AUTO._replace(graph=(("x0", "y"),))) == (["graph"], [], [])
    text = data({"a": ["u", "v", "w"] * 10})
    assert attempts(text, AUTO._replace(penalty=2.0)) == ([], [2.0, 20.0, 200.0], [])


GAP = np.r_[np.nan, np.arange(N - 1.0)]
FAR = np.r_[np.inf, np.arange(N - 1.0)]


@pytest.mark.parametrize(
    ("columns", "choice", "classes", "first"),
    [
        (numbers(2), AUTO, False, "copula"),
        (numbers(2), AUTO, True, "mixed"),
        ({"a": ["u", "v", "w"] * 10}, AUTO, False, "discrete"),
        ({"a": GAP}, AUTO, False, "copula"),
        ({"a": GAP}, AUTO._replace(graph=()), False, "discrete"),
        ({"a": FAR}, AUTO._replace(graph=()), True, "discrete"),
        ({"a": FAR}, AUTO, True, "mixed"),
        ({"a": GAP}, AUTO._replace(estimator="discrete"), False, "discrete"),
    ],
)
def test_the_first_estimator_follows_columns_and_outcome(
    columns: dict[str, Any], choice: Choice, classes: bool, first: str
) -> None:
    assert _first(data(columns, classes=classes), choice) == first


@pytest.mark.parametrize(
    ("columns", "estimator", "classes", "match"),
    [
        ({"a": ["u", "v", "w"] * 10}, "copula", False, "'copula' must get numeric columns; got a"),
        ({"a": GAP}, "copula", False, "no missing values for 'copula'; got 1 in 'a'"),
        ({"a": FAR}, "mixed", True, "finite for 'mixed'; got infinite values in a"),
        (numbers(1), "mixed", False, "'mixed' must get a class target"),
        (numbers(1), "copula", True, "'copula' must get a numeric target"),
    ],
)
def test_a_chosen_estimator_that_does_not_suit_is_refused(
    columns: dict[str, Any], estimator: str, classes: bool, match: str
) -> None:
    with pytest.raises(InputError, match=match):
        _first(data(columns, classes=classes), AUTO._replace(estimator=estimator))


def test_a_fifth_of_the_rows_may_share_a_value() -> None:
    fifth, more = (np.where(np.arange(N) < k, 0.0, np.arange(N)) for k in (6, 7))
    assert _unsuited(data({"a": fifth}), "T") == []
    assert _unsuited(data({"a": more}), "T") == [
        "more than 20% of the observations share one value of a: a T does not fit there"
    ]
    assert _unsuited(data({"a": GAP, "b": FAR}), "T") == ["values are missing in a", "values are infinite in b"]
    same = data({"a": np.arange(N)})
    assert "share one value of y" in _unsuited(replace(same, y=np.zeros(N)), "T")[0]
    assert _unsuited(replace(same, y=np.zeros(N), classes=True), "T") == []


def test_what_does_not_suit_is_named_by_the_normal_that_would_be_used() -> None:
    heaped = {"a": np.where(np.arange(N) < 9, 0.0, np.arange(N))}
    for classes, title in ((True, "conditional Gaussian"), (False, "Gaussian copula")):
        refused = attempts(data(heaped, classes=classes), AUTO)[2]
        assert refused == [f"more than 20% of the observations share one value of a: a {title} does not fit there"]


# ------------------------------------------------------------------ what is related


@pytest.mark.parametrize("d", [2, 3, 5])
def test_columns_are_related_beyond_a_level_shared_out_over_the_others(d: int) -> None:
    Z = np.random.default_rng(1).normal(size=(60, d))
    Z[:, 1] = Z[:, 0] + Z[:, 1]
    r = np.corrcoef(Z[:, 0], Z[:, 1])[0, 1]
    least = (ndtri(1 - LEVEL / (2 * (d - 1))) / np.arctanh(r)) ** 2 + 3  # units
    for units, related in ((int(np.ceil(least)), True), (int(np.floor(least)), False)):
        found = related_by_correlation(Z, units)
        assert bool(found[0, 1]) is bool(found[1, 0]) is related
        assert found.diagonal().all()
    assert not related_by_correlation(Z, 3)[0, 1]
    assert related_by_correlation(Z[:, :1], 50).tolist() == [[True]]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("levels", [2, 3])
def test_cells_are_related_by_a_g_test_of_units(d: int, levels: int) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, levels, 90)
    b = np.where(rng.random(90) < 0.4, a, rng.integers(0, levels, 90))
    codes = np.column_stack([a, b, np.arange(90) % 2])[:, :d]
    counts = np.zeros((levels, levels))
    np.add.at(counts, (a, b), 1.0)
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / 90
    g = 2 * (counts * np.log(counts / expected)).sum() / 90  # a unit
    least = stats.chi2.isf(LEVEL / (d - 1), (levels - 1) ** 2) / g
    for units, related in ((int(np.ceil(least)), True), (int(np.floor(least)), False)):
        assert bool(related_by_cells(codes, units)[0, 1]) is related


def test_the_mean_of_log_p_of_a_copy_is_that_of_its_original() -> None:
    C = np.array([[1.0, 1.0, 0.6], [1.0, 1.0, 0.6], [0.6, 0.6, 1.0]])
    mean_log_p = normal_log_p(C, np.array([0, 1, 2, 3]))
    assert mean_log_p((0, 1)) == pytest.approx(mean_log_p((0,)), abs=1e-6) == pytest.approx(-0.5 * np.log(0.64))


# ------------------------------------------------------------------ fields, graphs and means


def test_links_of_a_field_are_the_largest_potentials_of_each_pair() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, N)
    given = replace(data({"a": a.astype(str), "b": rng.integers(0, 2, N).astype(str)}), y=a % 2, classes=True)
    found = estimate.discrete_estimate(given, 4, None, 1.0)
    field = precision.fit_field(np.column_stack([in_cells(given, 4)[0]]), None, 1.0)
    for i in range(3):
        for k in range(3):
            block = field.pair[field.block(i), field.block(k)]
            assert found.links[i, k] == pytest.approx(np.abs(block).max())
    assert found.links[0, 2] > 0
    assert found.facts == {"penalty": 1.0, "graph": "all pairs", "bins": 4}
    given_graph = estimate.discrete_estimate(given, 4, np.eye(3, dtype=bool), 2.0)
    assert given_graph.facts == {"penalty": 2.0, "graph": "given", "bins": 4}
    assert not given_graph.links.any()


def fitted(links: FloatArray, estimator: str = "Gaussian copula", **copies: str) -> InformationEstimate:
    zero = np.zeros((2, 3))
    return InformationEstimate(
        ("a", "b", "c"), InformationTerms(zero, zero), estimator, links,
        lambda _: zero, lambda _: 0.0, np.eye(3, dtype=bool), (), {}, copies=copies,
    )  # fmt: skip


def test_means_without_an_error_have_no_interval() -> None:
    of = testing.linear_subject(5)
    sampling = Sampling.of(of)
    table = pd.DataFrame(_means(("a",), "i", np.arange(5.0)[:, None], sampling, 0.9))
    error = stats.sem(np.arange(5.0))
    expected = [2.0, error, *stats.t.interval(0.9, 4, 2.0, error), 0.9]
    columns = ["estimate", "std_error", "lower", "upper", "confidence"]
    assert table[columns].to_numpy()[0] == pytest.approx(expected)
    assert table["covers"].tolist() == ["new test samples"]
    one = pd.DataFrame(_means(("a",), "i", np.ones((1, 1)), sampling.part(np.arange(1)), 0.9))
    assert one[["estimate", "covers"]].to_numpy().tolist() == [[1.0, "none"]]
    assert one[["lower", "upper", "confidence"]].isna().all(axis=None)


def test_a_flag_tells_as_much_as_its_correlation_and_a_constant_nothing() -> None:
    flag = np.arange(12) >= 6
    of = subject(flat, np.column_stack([flag, np.ones(12)]), np.arange(12.0))
    found = alone(Engine(of, MEASURES), of.features, np.zeros((12, 2)))["share of variance"]
    scores = ndtri((np.arange(12) + 0.5) / 12)
    assert found[:, 0].mean() == pytest.approx(np.corrcoef(flag, scores)[0, 1] ** 2)
    assert np.isnan(found[:, 1]).all()


def test_information_has_both_parts_and_the_share_of_features_that_have_some() -> None:
    covered = np.array([[0.3, -0.2], [-0.1, -0.4], [0.1, 0.0]])
    mutual = np.array([[0.6, -0.2], [0.2, 0.1], [0.1, 0.0]])
    of = subject(flat, np.arange(6.0).reshape(3, 2), np.arange(3.0))
    engine = Engine(of, MEASURES).bound("cid")
    made = replace(fitted(np.zeros((3, 3))), features=("a", "b"), terms=InformationTerms(mutual, mutual - covered))
    found = CoveredInformation()._information(engine, made)
    table = found.estimates.set_index(["item", "feature"])["estimate"]
    assert table["redundant part"].tolist() == pytest.approx([0.4 / 3, 0.0])
    assert table["synergistic part"].tolist() == pytest.approx([0.1 / 3, 0.2])
    assert table["covered share"].to_dict() == {"a": pytest.approx(0.1 / 0.3)}
    assert [gap.feature for gap in found.omissions] == ["b"]
    assert found.estimates.index.tolist() == list(range(len(found.estimates)))
    assert found.rows is not None
    np.testing.assert_allclose(found.rows.of("covered", "a"), covered[:, 0])


def test_a_column_without_a_mean_takes_no_interval_from_the_others() -> None:
    sampling = Sampling(np.full(4, 0.25), 4)
    table = pd.DataFrame(_means(("a", "b"), "i", np.column_stack([np.arange(4.0), np.full(4, np.nan)]), sampling, 0.9))
    assert table["confidence"].fillna(0).tolist() == [0.9, 0]
    assert np.isfinite(table.loc[0, ["lower", "upper"]].astype(float)).all()


def test_rows_of_no_weight_tell_nothing() -> None:
    x = np.r_[np.arange(6.0), np.full(6, np.nan)]
    weights = (np.arange(12) >= 6).astype(float)
    of = subject(flat, np.column_stack([x, np.arange(12.0)]), np.arange(12.0), sample_weight=weights)
    found = alone(Engine(of, MEASURES), of.features, np.zeros((12, 2)))["share of variance"]
    assert np.isnan(found[:, 0]).all()
    assert np.isfinite(found[:, 1]).all()


def test_a_column_turned_round_repeats_the_first_wherever_its_rows_stand() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        x = rng.permutation(9).astype(float)
        given = data({"a": x, "b": -x, "c": rng.permutation(9).astype(float), "d": x**3})
        assert twins(given.subject, given.features) == {"b": "a", "d": "a"}


def test_a_missing_value_pairs_off_like_any_other() -> None:
    levels = {"a": ["u", None, "v"] * 4, "b": ["x", "y", "z"] * 4, "c": ["x", "y", "y"] * 4}
    assert twins(data(levels).subject, tuple(levels)) == {"b": "a"}


def test_a_graph_has_the_covariances_of_its_edges_and_no_others() -> None:
    """A ring of four columns, which no order of columns solves in one pass."""
    rng = np.random.default_rng(4)
    S = np.asarray(np.corrcoef(rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)), rowvar=False))
    edges = (
        np.eye(4, dtype=bool) | np.roll(np.eye(4, dtype=bool), 1, axis=0) | np.roll(np.eye(4, dtype=bool), -1, axis=0)
    )
    found = precision.graph_precision(S, edges)
    assert not found[~edges].any()
    np.testing.assert_allclose(np.linalg.inv(found)[edges], S[edges], atol=1e-9)


# ------------------------------------------------------------------ corrected importance


def test_a_map_of_two_features_is_fitted_without_each() -> None:
    rng = np.random.default_rng(0)
    terms, law = rng.random((30, 2, 4)) + 0.1, np.array([-0.5, 2.0, 0.3, 1.0])
    found = textbook.importance_map(terms @ law, terms)
    np.testing.assert_allclose(found.left_out, np.tile(law, (2, 1)), atol=1e-2)
    assert found.facts["redundant_left_out"] == found.left_out[:, 0].tolist()
    assert list(found.facts["coefficients"].values()) == found.coefficients.tolist()
    flat_map = textbook.importance_map(np.ones((3, 9)), rng.random((3, 9, 4)))
    assert not {"r2", "r2_left_out"} & set(flat_map.facts)


def test_corrected_values_stand_by_set_and_feature_where_the_gate_is_open() -> None:
    rng = np.random.default_rng(0)
    terms, law = rng.random((3, 9, 4)) + 0.1, np.array([-0.5, 2.0, 0.3, 1.0])
    sets = explain.Sets({"nll": terms @ law, "brier": -(terms @ law)}, terms, "a note")
    features = tuple("abcdefghi")
    made = replace(fitted(np.zeros((10, 10))), features=features)
    found = explain.corrected_importance(sets, made, ("nll", "brier", "entropy"), 0.9)
    expected = textbook.importance_map(terms @ law, terms).corrected
    values = found.frame.set_index(["feature", "repeat"])["value"]
    for s in range(3):
        for j, feature in enumerate(features):
            assert values[feature, s] == expected[s, j]
    assert len(values) == 27
    assert set(found.frame["measure"]) == set(found.estimates["measure"]) == {"nll"}
    refused, lacking = found.omissions
    assert refused.reason.startswith("corrected importance is not shown: the coefficient of redundant covered")
    assert lacking.reason == "permutation importance has no values of single observations for every feature"
    assert list(found.meta["maps"]) == ["nll", "brier"]
    assert found.notes[0] == "a note"


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_the_scale_of_a_column_changes_nothing_of_a_normal_within_classes(scale: float) -> None:
    plain, scaled = (
        estimate.mixed_estimate(
            data({f: k * v for f, v in numbers(2).items()}, classes=True), precision.by_shrinkage, ()
        )
        for k in (1.0, scale)
    )
    np.testing.assert_allclose(scaled.terms.conditional, plain.terms.conditional, atol=1e-7)
    np.testing.assert_allclose(scaled.terms.mutual, plain.terms.mutual, atol=1e-7)


def test_sets_have_importances_only_where_every_feature_has_rows() -> None:
    of = subject(flat, np.arange(12.0).reshape(6, 2), np.arange(6.0))
    engine = Engine(of, MEASURES).bound("cid")
    zero = np.zeros((6, 2))
    made = replace(fitted(np.zeros((3, 3))), features=("a", "b"), terms=InformationTerms(zero, zero))
    values = RowValues(("nll", "brier"), ("a", "b"), np.stack([np.arange(12.0).reshape(2, 6), np.full((2, 6), np.inf)]))
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    table = pd.DataFrame(columns=list(ESTIMATE_COLUMNS))
    plain = Diagnostic(id="pfi", explainer="pfi", title="", frame=empty, estimates=table, rows=values)
    found = explain.bootstrapped(engine, made, plain, ("nll", "brier", "entropy"), 10)
    weights = explain.bootstrap_weights(engine, 10)
    assert list(found.importances) == ["nll"]
    np.testing.assert_allclose(found.importances["nll"][:, 0], weights @ np.arange(6.0))
    np.testing.assert_allclose(found.importances["nll"][:, 1], weights @ np.arange(6.0, 12))
    some = replace(plain, rows=RowValues(("nll",), ("a",), np.zeros((1, 1, 6))))
    assert explain.bootstrapped(engine, made, some, ("nll",), 10).importances == {}
    assert explain.bootstrapped(engine, made, None, ("nll",), 10).importances == {}


class Fits:
    """A model that can be fitted and not cloned."""

    def fit(self) -> None: ...


class Cloned:
    """A model that can be cloned and not fitted."""

    def get_params(self) -> None: ...


@pytest.mark.parametrize("model", [Fits(), Cloned()])
def test_only_what_can_be_cloned_and_fitted_is_refitted(model: Any) -> None:
    of = replace(subject(flat, np.arange(12.0).reshape(6, 2), np.arange(6.0)), model=model)
    engine: Any = SimpleNamespace(subject=of)
    with pytest.raises(InputError, match=f"must get an estimator that can be cloned; got {type(model).__name__}"):
        explain.refitted(engine, fitted(np.zeros((3, 3))), ("nll",), 10)


def part(estimate: FloatArray, se: FloatArray, zero: bool = False, m: int = 4) -> Importances:
    """Return the terms of one feature, a value per measure."""
    k = len(estimate)
    rows = np.tile(estimate[:, None], (1, N))
    repeats = np.tile(estimate[:, None], (1, m))
    none, freedom = np.zeros(k), np.full(k, N - 1.0)
    return Importances(
        repeats,
        estimate,
        se,
        0 * se,
        rows,
        rows,
        np.full(k, zero),
        none,
        np.zeros((k, 2), int),
        none,
        freedom,
        exact=False,
    )


def corrected_lines(measures: Any, values: dict[str, Any], se: float = 0.1, zero: bool = False) -> pd.DataFrame:
    """Return the lines of features whose corrected and plain importance of each measure are given."""
    rows = ShuffledRows(measures, np.zeros((len(measures), N)), np.zeros(N), np.ones(N), None)
    terms = {}
    for feature, pairs in values.items():
        own, plain = np.array(pairs, dtype=float).T
        errors = np.full(len(measures), se)
        terms[feature] = CoverTerms(
            part(plain, 2 * errors), part(own + plain, errors), part(own, errors, zero), part(own - plain, 3 * errors)
        )
    partners = dict.fromkeys(values, ("p", "q"))
    reach = 2 * se * t_quantile(0.95, N - 1)
    alone: Any = {
        (measure.name, feature): SimpleNamespace(estimate=own, lower=own - reach, upper=own + reach, margin=0.01)
        for feature, pairs in values.items()
        for measure, (_, own) in zip(measures, pairs, strict=True)
    }
    pfi: Any = SimpleNamespace(result=SimpleNamespace(rows=None))
    made = _Corrected(rows, partners, terms, pfi, alone, 0.9).result({}, ())
    assert made.meta["degrees_of_freedom"] == N - 1
    assert made.estimates.index.tolist() == list(range(len(measures) * len(values)))
    return made.estimates


def test_corrected_lines_have_the_intervals_of_each_part() -> None:
    (line,) = corrected_lines((NLL,), {"a": [(1.0, 2.0)]}).to_dict("records")
    reach = 0.1 * t_quantile(0.95, N - 1)
    assert [line[name] for name in ("estimate", "lower", "upper")] == pytest.approx([1.0, 1.0 - reach, 1.0 + reach])
    assert [line[f"plain{end}"] for end in ("", "_lower", "_upper")] == pytest.approx(
        [2.0, 2.0 - 2 * reach, 2.0 + 2 * reach]
    )
    assert [line[f"joint{end}"] for end in ("", "_lower", "_upper")] == pytest.approx([3.0, 3.0 - reach, 3.0 + reach])
    assert (line["change_std_error"], line["confidence"], line["covers"]) == pytest.approx(
        (0.3, 0.9, "new test samples")
    )
    assert (line["partners"], line["verdict"], line["exact_zero"]) == ("p, q", "positive", False)


def test_what_is_exactly_0_is_about_0_where_it_has_an_interval() -> None:
    (line,) = corrected_lines((NLL,), {"a": [(0.0, 0.0)]}, se=0.0, zero=True).to_dict("records")
    assert (line["verdict"], line["exact_zero"]) == ("about 0", True)
    (bare,) = corrected_lines((NLL,), {"a": [(1.0, 1.0)]}, se=np.nan).to_dict("records")
    assert (bare["verdict"], bare["covers"], bare["exact_zero"]) == ("undetermined", "none", False)
    assert np.isnan(bare["confidence"])
    (none,) = corrected_lines((NLL,), {"a": [(0.0, 0.0)]}, se=np.nan, zero=True).to_dict("records")
    assert none["verdict"] == "undetermined"


@pytest.mark.parametrize(
    ("measure", "ranks"),
    [
        (NLL, [2, 1, 3]),
        (replace(NLL, direction="smaller"), [2, 3, 1]),
        (replace(PREDICTION, direction="smaller"), [2, 1, 3]),
        (PREDICTION, [2, 1, 3]),
    ],
)
def test_ranks_follow_the_direction_in_which_a_measure_is_worse(measure: Any, ranks: list[int]) -> None:
    table = corrected_lines((measure, ENTROPY), {"a": [(2.0, 2.0)] * 2, "b": [(3.0, 1.0)] * 2, "c": [(1.0, 3.0)] * 2})
    own = table[table["measure"] == measure.name]
    assert own["rank"].tolist() == ranks
    assert own["plain_rank"].tolist() == [ranks[0], ranks[2], ranks[1]]
    assert table.loc[table["measure"] == "entropy", "rank"].tolist() == [2, 1, 3]
