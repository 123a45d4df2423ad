"""A dalex.Explainer as it is: what it holds, y as class labels, and refusals where it says too little."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uq_report.core.support.errors import InputError
from uq_report.inputs.adapters.dalex_ import DalexAdapter

dx = pytest.importorskip("dalex", reason="takes explainers of dalex")

ADAPTER = DalexAdapter()
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(80, 3)), columns=["a", "b", "c"])
CODES = (X["a"] + 0.5 * RNG.normal(size=80) > 0).to_numpy().astype(int)
WORDS = np.array(["good", "bad"])[CODES]  # classes_ are bad, good: the explained one is good, code 0


def explainer(model: Any, data: Any = X, y: Any = None, **options: Any) -> Any:
    return dx.Explainer(model, data, y, verbose=False, **options)


def first(k: int) -> Any:
    """Return a predict function of class k."""
    return lambda model, rows: model.predict_proba(rows)[:, k]


def test_own_class_and_subclasses_match_at_0_and_namesakes_do_not() -> None:
    class Better(dx.Explainer):  # type: ignore[misc, name-defined] # dalex is untyped
        pass

    class Explainer:
        model = None

    model = LogisticRegression().fit(X, CODES)
    for one in (explainer(model), Better(model, X, verbose=False)):
        match = ADAPTER.matches(one)
        assert match is not None
        assert match.distance == 0
    assert ADAPTER.matches(Explainer()) is None


def test_everything_it_holds_is_unpacked() -> None:
    model, weights = BayesianRidge().fit(X, CODES), np.arange(80.0)
    data = X.set_index(np.arange(80) * 3 + 7)
    given = ADAPTER.unpack(explainer(model, data, CODES, weights=weights, label="my ridge"))
    assert given["model"] is model
    pd.testing.assert_frame_equal(given["X"], data)
    np.testing.assert_array_equal(given["y"], CODES)
    np.testing.assert_array_equal(given["sample_weight"], weights)
    assert given["label"] == "my ridge"
    assert "positive_class" not in given


@pytest.mark.parametrize("precalculate", [True, False])
def test_indicators_become_the_models_words(precalculate: bool) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, WORDS)
    given = ADAPTER.unpack(explainer(model, X, (WORDS == "good").astype(int), precalculate=precalculate))
    assert given["y"].tolist() == WORDS.tolist()
    assert given["positive_class"] == "good"


def test_the_explained_class_is_the_predict_functions() -> None:
    model = LogisticRegression().fit(X, WORDS)
    given = ADAPTER.unpack(explainer(model, X, (WORDS == "bad").astype(float), predict_function=first(0)))
    assert given["y"].tolist() == WORDS.tolist()
    assert given["positive_class"] == "bad"


@pytest.mark.parametrize("kind", [bool, float, int, np.int8])
def test_numeric_and_boolean_classes_keep_their_kind(kind: Any) -> None:
    model = RandomForestClassifier(5, random_state=0).fit(X, CODES == 1)
    given = ADAPTER.unpack(explainer(model, X, CODES.astype(kind)))
    assert given["y"].dtype == bool
    np.testing.assert_array_equal(given["y"], CODES == 1)


def test_several_classes_need_labels_which_stay() -> None:
    three = np.array([1, 2, 3])[np.digitize(X["a"], [-0.4, 0.4])]
    model = LogisticRegression().fit(X, three)
    given = ADAPTER.unpack(explainer(model, X, three, predict_function=first(2)))
    np.testing.assert_array_equal(given["y"], three)
    assert given["positive_class"] == 3


def test_without_y_there_is_none() -> None:
    given = ADAPTER.unpack(explainer(LogisticRegression().fit(X, WORDS)))
    assert given["y"] is None
    assert given["positive_class"] == "good"


def test_a_frame_that_dalex_made_of_an_array_is_an_array_again() -> None:
    model = BayesianRidge().fit(X.to_numpy(), CODES)
    with pytest.warns(UserWarning, match="feature names"):
        one = explainer(model, X.to_numpy(), CODES)
    given = ADAPTER.unpack(one)
    np.testing.assert_array_equal(given["X"], X.to_numpy())
    model.predict(given["X"])  # and warns no more


def test_a_frame_whose_names_are_numbers_stays_a_frame() -> None:
    data = X.set_axis(["0", "1", "2"], axis=1)
    given = ADAPTER.unpack(explainer(BayesianRidge().fit(data, CODES), data, CODES))
    pd.testing.assert_frame_equal(given["X"], data)


class TestRefusals:
    def refuse(self, one: Any, words: str) -> None:
        with pytest.raises(InputError, match=words) as caught:
            ADAPTER.unpack(one)
        assert "uq_report.explain(explainer.model, X, y)" in str(caught.value)

    def test_no_data(self) -> None:
        self.refuse(explainer(LogisticRegression().fit(X, CODES), None), "data must be set; got None")

    def test_steps_before_a_classifier(self) -> None:
        scaler = StandardScaler().fit(X)
        model = LogisticRegression().fit(scaler.set_output(transform="pandas").transform(X), CODES)
        one = explainer(model, X, CODES, predict_function=lambda m, d: m.predict_proba(scaler.transform(d) + 1)[:, 1])
        self.refuse(one, "predict_function must be the model's own predict")

    def test_steps_after_a_regressor(self) -> None:
        one = explainer(BayesianRidge().fit(X, CODES), X, CODES, predict_function=lambda m, d: np.exp(m.predict(d)))
        self.refuse(one, "other numbers than model.predict")

    def test_labels_in_place_of_probabilities(self) -> None:
        one = explainer(LogisticRegression().fit(X, CODES), X, CODES, predict_function=lambda m, d: m.predict(d))
        self.refuse(one, "differ from every column")

    def test_two_columns(self) -> None:
        model = LogisticRegression().fit(X, CODES)
        with pytest.warns(UserWarning, match="predict_function"):
            one = explainer(model, X, predict_function=lambda m, d: m.predict_proba(d))
        self.refuse(one, r"shape \(50, 2\) beside")

    @pytest.mark.parametrize("codes", [CODES, np.ones(80)])
    def test_codes_with_two_meanings(self, codes: Any) -> None:
        one = explainer(LogisticRegression().fit(X, CODES), X, codes, predict_function=first(0))
        self.refuse(one, "can be read in two ways")

    def test_indicators_of_one_class_of_three(self) -> None:
        three = np.array(["x", "y", "z"])[np.digitize(X["a"], [-0.4, 0.4])]
        self.refuse(explainer(LogisticRegression().fit(X, three), X, (three == "y").astype(int)), "is neither")

    def test_codes_0_and_1_of_three_classes(self) -> None:
        three = np.digitize(X["a"], [-0.4, 0.4])
        self.refuse(explainer(LogisticRegression().fit(X, three), X, np.minimum(three, 1)), "two ways")

    def test_foreign_labels(self) -> None:
        self.refuse(explainer(LogisticRegression().fit(X, WORDS), X, CODES + 1), r"got \[1, 2\], which is neither")


def test_predict_says_to_unpack() -> None:
    one = explainer(LogisticRegression().fit(X, CODES))
    assert ADAPTER.batch_rows(one) is None
    with pytest.raises(InputError, match="Open it with unpack"):
        ADAPTER.predict(one, X)
