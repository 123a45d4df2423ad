"""Ensembles of classifiers: the ensemble's own probabilities, and members that average to them."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import entr
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, CategoricalMixture
from uq_report.inputs.adapters.ensemble import EnsembleAdapter

FrozenEstimator = pytest.importorskip("sklearn.frozen", reason="new in scikit-learn 1.6").FrozenEstimator

ADAPTER = EnsembleAdapter()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
CODES = np.digitize(X[:, 0] + 0.7 * RNG.normal(size=120), [-1.6, 0.6])  # the first class is rare
Y = np.array(["rare", "common", "bulk"])[CODES]
NEW = RNG.normal(size=(30, 4))
FEW: dict[str, Any] = {"n_estimators": 12, "random_state": 0}


def predict(model: Any, rows: Any = NEW) -> CategoricalMixture:
    dist = ADAPTER.predict(model, rows)
    assert isinstance(dist, CategoricalMixture)
    return dist


def split_of(members: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the mean member entropy and the mutual information of (m, n, k) probabilities, by definition."""
    mean = np.average(members, axis=0, weights=weights)
    aleatoric = np.average(entr(members).sum(axis=2), axis=0, weights=weights)
    return aleatoric, entr(mean).sum(axis=1) - aleatoric


def aligned(model: Any, rows: Any) -> Any:
    """Return bagged members' probabilities in the ensemble's columns, one row and class at a time."""
    out = np.zeros((len(model.estimators_), len(rows), len(model.classes_)))
    for m, (member, features) in enumerate(zip(model.estimators_, model.estimators_features_, strict=True)):
        given = member.predict_proba(rows[:, features])
        for j, position in enumerate(member.classes_):
            out[m, :, position] = given[:, j]
    return out


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(max_depth=4, **FEW),
        ExtraTreesClassifier(max_depth=4, **FEW),
        RandomForestClassifier(max_depth=1, **FEW),  # fewer nodes than rows
        ExtraTreesClassifier(**FEW),  # more
    ],
    ids=["forest", "extra", "stumps", "deep"],
)
def test_forest_splits_as_its_trees_say(model: Any) -> None:
    model.fit(X, Y)
    dist = predict(model)
    np.testing.assert_allclose(dist.probabilities, model.predict_proba(NEW), atol=1e-12)
    assert dist.classes.tolist() == ["bulk", "common", "rare"]
    aleatoric, epistemic = split_of(np.array([tree.predict_proba(NEW) for tree in model.estimators_]))
    np.testing.assert_allclose(dist.aleatoric(), aleatoric, atol=1e-12)
    np.testing.assert_allclose(dist.epistemic(), epistemic, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(200, max_depth=6, random_state=0), BaggingClassifier(n_estimators=40, random_state=0)],
    ids=["forest", "bagging"],
)
def test_any_number_of_cores_gives_the_bits_of_one(model: Any) -> None:
    model.fit(X, Y)
    own = model.predict_proba(NEW)
    model.set_params(n_jobs=4)
    for _ in range(5):
        np.testing.assert_array_equal(predict(model).probabilities, own)


def test_bagged_members_that_missed_a_class_are_aligned() -> None:
    member = KNeighborsClassifier(3)  # takes no sample weights, so it sees only the rows it drew
    model = BaggingClassifier(member, max_samples=0.1, max_features=0.5, n_estimators=25, random_state=0).fit(X, Y)
    missed = [member for member in model.estimators_ if len(member.classes_) < 3]
    assert 0 < len(missed) < 25, "the test needs members of both kinds"
    members = aligned(model, NEW)
    dist = predict(model)
    np.testing.assert_allclose(dist.probabilities, model.predict_proba(NEW), atol=1e-12)
    np.testing.assert_allclose(members.mean(axis=0), dist.probabilities, atol=1e-12)
    aleatoric, epistemic = split_of(members)
    np.testing.assert_allclose(dist.aleatoric(), aleatoric, atol=1e-12)
    np.testing.assert_allclose(dist.epistemic(), epistemic, atol=1e-12)


def test_bagging_on_a_frame_equals_bagging_on_its_array() -> None:
    model = BaggingClassifier(LogisticRegression(), max_features=0.5, **FEW)
    names = list("abcd")
    on_frame = predict(model.fit(pd.DataFrame(X, columns=names), Y), pd.DataFrame(NEW, columns=names))
    frame_split = on_frame.aleatoric()
    np.testing.assert_allclose(frame_split, predict(model.fit(X, Y)).aleatoric(), atol=1e-12)


def test_bagging_on_a_frame_of_nullable_and_boolean_columns() -> None:
    frame = pd.DataFrame(
        {"a": pd.array(X[:, 0], dtype="Float64"), "b": X[:, 1] > 0, "c": pd.array(CODES, dtype="Int64")}
    )
    model = BaggingClassifier(**FEW).fit(frame, Y)
    members = aligned(model, frame.to_numpy(dtype=float))
    np.testing.assert_allclose(predict(model, frame).aleatoric(), split_of(members)[0], atol=1e-12)


def test_votes_of_members_without_probabilities_have_no_split() -> None:
    model = BaggingClassifier(SVC(), **FEW).fit(X, Y)
    dist = ADAPTER.predict(model, NEW)
    assert type(dist) is Categorical
    np.testing.assert_array_equal(dist.probabilities, model.predict_proba(NEW))
    assert "epistemic" not in dist.supports


@pytest.mark.parametrize(("weights", "used"), [(None, [1, 1]), ([3, 7, 1], [3, 1])])
def test_soft_votes_are_weighted_and_dropped_members_leave(weights: Any, used: Any) -> None:
    members = [("tree", DecisionTreeClassifier(max_depth=3)), ("gone", GaussianNB()), ("bayes", GaussianNB())]
    model = VotingClassifier(members, voting="soft", weights=weights).set_params(gone="drop").fit(X, Y)
    dist = predict(model)
    np.testing.assert_array_equal(dist.probabilities, model.predict_proba(NEW))
    aleatoric, epistemic = split_of(np.array([m.predict_proba(NEW) for m in model.estimators_]), used)
    np.testing.assert_allclose(dist.aleatoric(), aleatoric, atol=1e-12)
    np.testing.assert_allclose(dist.epistemic(), epistemic, atol=1e-12)


def test_voting_on_a_frame_passes_the_frame() -> None:
    frame, new = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(NEW, columns=list("abcd"))
    model = VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft").fit(frame, Y)
    assert predict(model, new).aleatoric().shape == (30,)


def test_hard_votes_are_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="voting = 'soft'"):
        ADAPTER.predict(VotingClassifier([("a", GaussianNB())]).fit(X, Y), NEW)


def test_every_wrapper_gives_the_split_of_the_forest_it_holds() -> None:
    forest = RandomForestClassifier(max_depth=4, **FEW)
    bare = make_pipeline(StandardScaler(), forest).fit(X, Y)
    expected = split_of(np.array([tree.predict_proba(bare[:-1].transform(NEW)) for tree in bare[-1].estimators_]))
    for model in (
        bare,
        GridSearchCV(make_pipeline(StandardScaler(), forest), {}, cv=2).fit(X, Y),
        make_pipeline(StandardScaler(), GridSearchCV(forest, {}, cv=2)).fit(X, Y),
        FrozenEstimator(bare),
    ):
        dist = predict(model)
        np.testing.assert_allclose(dist.probabilities, model.predict_proba(NEW), atol=1e-12)
        np.testing.assert_allclose((dist.aleatoric(), dist.epistemic()), expected, atol=1e-12)


FRAME = pd.DataFrame({"town": np.array([f"t{i}" for i in range(30)])[RNG.integers(0, 30, 120)], "x": X[:, 0]})


@pytest.mark.parametrize("model", [RandomForestClassifier(**FEW), BaggingClassifier(**FEW)], ids=["forest", "bagging"])
def test_rows_an_encoder_left_sparse_reach_the_members(model: Any) -> None:
    encoder = make_column_transformer((OneHotEncoder(sparse_output=True), ["town"]), remainder="passthrough")
    whole = make_pipeline(encoder, model).fit(FRAME, Y)
    rows = encoder.fit(FRAME).transform(FRAME)
    assert hasattr(rows, "tocsr")
    dist = predict(whole, FRAME)
    np.testing.assert_allclose(dist.probabilities, whole.predict_proba(FRAME), atol=1e-12)
    members = whole[-1].estimators_
    aleatoric = np.mean([entr(m.predict_proba(rows.toarray())).sum(axis=1) for m in members], axis=0)
    np.testing.assert_allclose(dist.aleatoric(), aleatoric, atol=1e-12)


def test_members_are_evaluated_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = GaussianNB.predict_proba

    def counted(self: Any, rows: Any) -> Any:
        asked.append(len(rows))
        return original(self, rows)

    model = VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], voting="soft").fit(X, Y)
    monkeypatch.setattr(GaussianNB, "predict_proba", counted)
    dist = predict(model)
    dist.entropy()
    assert len(asked) == 2
    dist.aleatoric()
    dist.epistemic()
    assert len(asked) == 4


@pytest.mark.parametrize("kind", ["forest", "bagging", "voting"])
def test_rows_changed_after_the_call_do_not_reach_the_members(kind: str) -> None:
    model: Any = {
        "forest": RandomForestClassifier(**FEW),
        "bagging": BaggingClassifier(**FEW),
        "voting": VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft"),
    }[kind].fit(X, Y)
    rows = NEW.copy()
    dist = predict(model, rows)
    rows[:] = 0.0
    np.testing.assert_array_equal(dist.aleatoric(), predict(model).aleatoric())


def test_an_unasked_mixture_can_be_pickled() -> None:
    dist = predict(RandomForestClassifier(**FEW).fit(X, Y))
    again = pickle.loads(pickle.dumps(dist))
    np.testing.assert_array_equal(again.epistemic(), dist.epistemic())


def test_several_outputs_are_refused() -> None:
    model = RandomForestClassifier(**FEW).fit(X, np.column_stack([CODES, CODES > 1]))
    with pytest.raises(InputError, match="one output at a time"):
        ADAPTER.predict(model, NEW)


def test_an_unfitted_forest_is_refused() -> None:
    with pytest.raises(InputError, match="fitted"):
        ADAPTER.predict(RandomForestClassifier(), NEW)
