"""torch modules and gpytorch models against closed forms and central differences."""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.derivatives import finite_differences
from uq_report.core.model.subject import make_subject
from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Categorical, Normal, NormalMixture, Poisson, StudentT
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.inputs.adapters.torch_ import TorchAdapter
from uq_report.methods.rsens.explain import RSens

from .typed_lines import typed

torch = pytest.importorskip("torch", reason="the torch adapter reads torch modules")
laws = torch.distributions
Module: Any = torch.nn.Module

ADAPTER = TorchAdapter()
X = np.random.default_rng(0).normal(size=(30, 3))
W = torch.tensor([[1.0, -0.5, 0.2], [0.3, 0.8, -1.0], [-0.4, 0.1, 0.6]], dtype=torch.float64)


class Head(Module):  # type: ignore[misc] # torch is Any to mypy
    """Applies a function to the rows; holds a weight, so that the model has a dtype, and dropout."""

    def __init__(self, function: Any, dtype: Any = torch.float64) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(W.clone().to(dtype))
        self.dropout = torch.nn.Dropout(0.5)
        self.function = function

    def forward(self, rows: Any) -> Any:
        return self.function(self.dropout(rows), self.weight)


def bumpy(x: Any, w: Any) -> Any:
    """Return a normal of mean sin(x0) + x1 x2 and std exp(x0 / 2)."""
    return laws.Normal(torch.sin(x[:, 0]) + x[:, 1] * x[:, 2], torch.exp(x[:, 0] / 2))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


# ---------------------------------------------------------------- families


def test_a_normal_is_read_and_differentiated_twice() -> None:
    a, b, c = X.T
    model = Head(bumpy)
    dist = ADAPTER.predict(model, X)
    assert isinstance(dist, Normal)
    close(dist.mean(), np.sin(a) + b * c)
    close(dist.variance(), np.exp(a))
    found = ADAPTER.derivatives(model, X, 2)
    assert found is not None
    assert found.method == "automatic differentiation"
    assert found.second is not None
    zero, one = np.zeros(30), np.ones(30)
    close(found.values, dist.parameters)
    close(found.first[..., 0], np.stack([np.cos(a), c, b], axis=1))
    close(found.first[..., 1], np.stack([np.exp(a), zero, zero], axis=1))
    bent = [[-np.sin(a), zero, zero], [zero, zero, one], [zero, one, zero]]
    close(found.second[..., 0], np.moveaxis(np.array(bent), 2, 0))
    close(found.second[:, 0, 0, 1], np.exp(a))
    close(found.second[..., 1].sum(axis=(1, 2)), np.exp(a))


def test_categorical_logits_give_the_softmax_and_its_derivatives() -> None:
    model = Head(lambda x, w: laws.Categorical(logits=x @ w))
    model.classes_ = np.array(["low", "mid", "high"])
    dist = ADAPTER.predict(model, X)
    assert isinstance(dist, Categorical)
    assert dist.classes.tolist() == ["low", "mid", "high"]
    w = W.numpy()
    p = np.exp(X @ w)
    p /= p.sum(axis=1, keepdims=True)
    close(dist.probabilities, p)
    lean = w[None] - (p @ w.T)[:, :, None]  # of log p: w_jm - sum_c p_c w_jc, (n, d, k)
    slope = p[:, None, :] * lean
    found = ADAPTER.derivatives(model, X, 2)
    assert found is not None
    assert found.second is not None
    close(found.first, slope)
    spread = np.einsum("njc,ec->nje", slope, w)
    close(found.second, p[:, None, None] * (lean[:, :, None] * lean[:, None, :] - spread[..., None]))


def test_bernoulli_has_two_classes() -> None:
    model = Head(lambda x, w: laws.Bernoulli(logits=2 * x[:, :1]))
    dist = ADAPTER.predict(model, X)
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    assert isinstance(dist, Categorical)
    close(dist.probabilities, np.stack([1 - p, p], axis=1))
    found = ADAPTER.derivatives(model, X, 1)
    assert found is not None
    assert found.second is None
    slope = 2 * p * (1 - p)
    close(found.first[:, 0], np.stack([-slope, slope], axis=1))


def test_student_t_has_location_and_squared_scale() -> None:
    model = Head(lambda x, w: laws.StudentT(5.0, x[:, 0] ** 2, torch.exp(x[:, 1])))
    dist = ADAPTER.predict(model, X)
    assert isinstance(dist, StudentT)
    assert not dist.varies
    close(dist.parameters, np.stack([X[:, 0] ** 2, np.exp(2 * X[:, 1])], axis=1))
    close(dist.variance(), np.exp(2 * X[:, 1]) * 5 / 3)
    found = ADAPTER.derivatives(model, X, 1)
    assert found is not None
    close(found.first[:, 0, 0], 2 * X[:, 0])
    close(found.first[:, 1, 1], 2 * np.exp(2 * X[:, 1]))


def test_poisson_has_its_rate() -> None:
    model = Head(lambda x, w: laws.Poisson(torch.exp(x[:, 0])))
    dist = ADAPTER.predict(model, X)
    assert isinstance(dist, Poisson)
    close(dist.mean(), np.exp(X[:, 0]))
    found = ADAPTER.derivatives(model, X, 2)
    assert found is not None
    assert found.second is not None
    close(found.first[:, 0, 0], np.exp(X[:, 0]))
    close(found.second[:, 0, 0, 0], np.exp(X[:, 0]))


def test_independent_of_one_output_is_its_base() -> None:
    model = Head(lambda x, w: laws.Independent(laws.Normal(x[:, :1], torch.ones_like(x[:, :1])), 1))
    close(ADAPTER.predict(model, X).mean(), X[:, 0])
    found = ADAPTER.derivatives(model, X, 2)
    assert found is not None
    assert found.second is not None
    close(found.first[..., 0], np.eye(3)[[0] * 30])
    assert not found.first[..., 1].any()  # a constant std needs no gradient, and has none
    assert not found.second.any()


def test_a_model_in_single_precision_is_differentiated_in_it() -> None:
    single, double = (ADAPTER.derivatives(Head(bumpy, dtype), X, 2) for dtype in (torch.float32, torch.float64))
    assert single is not None
    assert double is not None
    np.testing.assert_allclose(single.first, double.first, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(single.second, double.second, rtol=1e-5, atol=1e-6)  # type: ignore[arg-type]


def test_rows_come_in_the_dtype_of_the_model() -> None:
    seen = []

    def look(x: Any, w: Any) -> Any:
        seen.append(x.dtype)
        return laws.Categorical(logits=x @ w)

    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    for dtype in (torch.float32, torch.float64):
        ADAPTER.predict(Head(look, dtype), frame)
    bare = torch.nn.Module()
    bare.forward = lambda x: look(x, W)
    ADAPTER.predict(bare, frame)
    assert seen == [torch.float32, torch.float64, torch.float64]


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda x, w: x @ w, r"got Tensor of shape \(30, 3\)"),
        (lambda x, w: (x[:, 0], x[:, 1]), "got tuple"),
        (lambda x, w: laws.Gamma(torch.exp(x[:, 0]), torch.exp(x[:, 1])), "got Gamma"),
        (lambda x, w: laws.LogNormal(x[:, 0], torch.exp(x[:, 1])), "got LogNormal"),
    ],
)
def test_anything_else_is_refused(function: Any, got: str) -> None:
    for ask in (lambda: ADAPTER.predict(Head(function), X), lambda: ADAPTER.derivatives(Head(function), X, 1)):
        with pytest.raises(ModelError, match=rf"Head\.forward must return a torch\.distributions .*{got}.* Wrap it"):
            ask()


def test_logits_are_refused_with_the_lines_that_wrap_the_module() -> None:
    model = Head(lambda x, w: x @ w)
    with pytest.raises(ModelError, match="got Tensor of shape") as error:
        ADAPTER.predict(model, X)
    subject = typed(str(error.value), model=model, X=X, y=np.arange(30) % 3)
    logits = X @ W.numpy()
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(subject.adapter.predict(subject.model, X).probabilities, expected, rtol=1e-6)


@pytest.mark.parametrize("columns", [0, slice(0, 1)])
def test_points_are_refused_with_the_lines_that_lay_residuals_over_them(columns: Any) -> None:
    model = Head(lambda x, w: (x @ w)[:, columns])
    with pytest.raises(ModelError, match="got Tensor of shape") as error:
        ADAPTER.predict(model, X)
    subject = typed(str(error.value), model=model, X=X, y=X[:, 0], X_calibration=X + 1, y_calibration=X[:, 1])
    np.testing.assert_allclose(subject.adapter.predict(subject.model, X).mean(), (X @ W.numpy())[:, 0])


def test_several_outputs_and_several_df_are_refused() -> None:
    two = Head(lambda x, w: laws.Independent(laws.Normal(x[:, :2], torch.ones_like(x[:, :2])), 1))
    with pytest.raises(ModelError, match=r"one distribution per row.*shape \(30, 2\)") as error:
        ADAPTER.predict(two, X)
    subject = typed(str(error.value), model=two, X=X, y=X[:, :2])
    np.testing.assert_allclose(subject.model(X).mean(), X[:, 0])
    three = Head(lambda x, w: laws.Poisson(torch.exp(x)))
    with pytest.raises(ModelError, match=r"one distribution per row.*shape \(30, 3\).*one output at a time"):
        ADAPTER.predict(three, X)
    with pytest.raises(ModelError, match=r"StudentT\.df .* one number for all rows; got 30 of them"):
        ADAPTER.predict(Head(lambda x, w: laws.StudentT(torch.exp(x[:, 0]), x[:, 0], torch.exp(x[:, 1]))), X)


def test_text_columns_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"Head\.X must hold numeric columns only; got \['town'\]"):
        ADAPTER.predict(Head(bumpy), pd.DataFrame({"a": [1.0], "town": ["Kiel"], "c": [1.0]}))


# ---------------------------------------------------------------- the model is left as it was


def test_flags_and_gradients_are_left_as_they_were() -> None:
    model = Head(lambda x, w: laws.Poisson(torch.exp(x @ w[0])))
    model.train()
    model.dropout.eval()
    model.weight.grad = torch.full_like(model.weight, 7.0)
    before = model.weight.detach().clone()
    ADAPTER.predict(model, X)
    ADAPTER.derivatives(model, X, 2)
    model.function = lambda x, w: x
    with pytest.raises(ModelError):
        ADAPTER.predict(model, X)
    assert (model.training, model.dropout.training) == (True, False)
    assert bool((model.weight.grad == 7.0).all())
    assert model.weight.requires_grad
    assert bool((model.weight == before).all())


def test_dropout_is_off() -> None:
    model = Head(bumpy)
    assert model.training
    close(ADAPTER.predict(model, X).parameters, ADAPTER.predict(model.eval(), X).parameters)


def test_no_grad_outside_does_not_matter() -> None:
    with torch.no_grad():
        found = ADAPTER.derivatives(Head(bumpy), X, 1)
    assert found is not None
    close(found.first[:, 0, 1], np.exp(X[:, 0]))


# ---------------------------------------------------------------- matching, and R-sens from end to end


def test_modules_match_and_nothing_else_does() -> None:
    match = ADAPTER.matches(Head(bumpy))
    assert match is not None
    assert match.distance == 1
    other = FunctionAdapter().matches(Head(bumpy))
    assert other is not None
    assert other.distance > match.distance
    assert all(ADAPTER.matches(thing) is None for thing in (Head, bumpy, X, None, "torch.Module", W))


def test_asking_does_not_import_torch() -> None:
    code = (
        "import sys\n"
        "from uq_report.inputs.adapters.torch_ import TorchAdapter\n"
        "TorchAdapter().matches(object()); TorchAdapter().batch_rows(object())\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_rsens_is_the_closed_form_and_names_its_derivatives() -> None:
    subject = make_subject(Head(bumpy), ADAPTER, X)
    engine = Engine(subject, testing.measures(), seed=0).bound("rsens")
    main = RSens(shared_unit=True, interactions=False, comparators=False).explain(subject, engine, {})[0]
    assert "automatic differentiation" in main.meta["method"]
    assert main.rows is not None
    a, b, c = X.T
    variance = np.exp(a)
    expected = {
        "x0": np.sqrt(np.cos(a) ** 2 / variance + 0.5),
        "x1": abs(c) / np.exp(a / 2),
        "x2": abs(b) / np.exp(a / 2),
    }
    for feature, length in expected.items():
        np.testing.assert_allclose(main.rows.of("rsens", feature), length, rtol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
def test_single_precision_keeps_automatic_differentiation_and_its_differences_are_sound(order: int) -> None:
    torch.manual_seed(0)

    class Net(Module):  # type: ignore[misc] # torch is Any to mypy
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

        def forward(self, x: Any) -> Any:
            mean, log_std = self.body(x).unbind(-1)
            return torch.distributions.Normal(mean, (0.1 * log_std).exp())

    X = np.random.default_rng(0).normal(size=(40, 4))
    single = Net()
    double = Net().double()
    double.load_state_dict(single.state_dict())
    found = [
        Engine(make_subject(model, TorchAdapter(), X), {}).derivatives(range(4), order) for model in (single, double)
    ]
    assert all("automatic differentiation" in part.method for part in found)
    rough = finite_differences(
        X,
        range(4),
        X.std(axis=0),
        lambda rows: TorchAdapter().predict(single, rows),
        order,
        precision=found[0].precision,
    )
    for name in ("first", "second")[:order]:
        truth = getattr(found[1], name)
        scale = np.abs(truth).max()
        np.testing.assert_allclose(getattr(found[0], name), truth, atol=1e-5 * scale)
        np.testing.assert_allclose(getattr(rough, name), truth, atol=2e-2 * scale)


# ---------------------------------------------------------------- dropout


def test_dropout_is_told_to_be_off_and_members_switch_it_on() -> None:
    model = Head(lambda x, w: laws.Normal((x @ w)[:, 0], torch.ones(len(x), dtype=x.dtype)))
    plain = uq.explain(model, X)
    off = "Dropout is off in 1 layer, as in evaluation mode"
    assert plain.notes == (f"{off}; stochastic='members' makes its draws the members of a mixture.",)
    drawn = uq.explain(model, X, stochastic="members", n_members=9)
    assert drawn.notes == ("Predictions are random: 9 calls are read as members of a mixture.",)
    state = torch.get_rng_state()
    first, second = (Engine(drawn, {}).baseline for _ in range(2))
    assert isinstance(first, NormalMixture)
    assert isinstance(second, NormalMixture)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(first.means, second.means)
    assert first.epistemic_variance().mean() > 0.1
    assert all(module.training for module in model.modules())


def test_a_module_without_dropout_has_no_remark() -> None:
    assert ADAPTER.remarks(torch.nn.Linear(3, 1)) == ()
