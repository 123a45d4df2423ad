"""dalex's own explanations of the prediction, and of entropy and nll as if they were predictions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import ClassVar

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.results import Result
from ...core.model.subject import Subject
from ...core.support import options as opt
from ..shared.cards import CardedExplainer
from ..shared.choice import as_names, as_rows, chosen_rows, draw, leading, positions, row_measures
from .parts import Dalex, leading_features, model_parts, model_performance, model_profile, predict_parts

PARTS = ("model_parts", "model_profile", "predict_parts", "model_performance")
PREDICT_TYPES = ("break_down", "break_down_interactions", "shap")


@dataclass(frozen=True)
class DalexExplanations(CardedExplainer):
    """DALEX's permutation importance, profiles, break-down and performance, of every measure.

    Each measure becomes the ``predict_function`` of a `dalex.Explainer`; dalex does the rest, and its
    tables come back as results of the usual kinds. Entropy needs no y: its "loss" is the mean over
    rows. nll finds y by the row index; in ``predict_parts`` y is that of the explained row, since
    background rows would bring their own. dalex gives no sampling intervals. Of more than 20 features it gets the 20
    that lead in permutation importance, and in ``predict_parts`` all others as one.

    Parameters
    ----------
    measures : tuple of str
        What is explained, by the names of measures.
    parts : tuple of str
        Any of ``model_parts``, ``model_profile``, ``predict_parts``, ``model_performance``.
    rows : tuple of int, optional
        Rows for ``predict_parts``; by default `n_local` each of the most uncertain, the most wrong
        and the typical ones.
    n_local : int
        Rows of each of these kinds.
    n_repeats : int
        Permutation rounds of ``model_parts`` (dalex's B).
    max_rows : int
        Rows given to dalex, drawn once, so that its full-model loss is the same in every round.
    n_background : int
        Rows of those for ``model_profile`` and ``predict_parts``.
    max_profiles : int
        Features with a profile: the leading ones of ``model_parts``.
    grid_points : int
        Points of a numeric profile, at equally spaced quantile levels.
    predict_type : {"break_down", "break_down_interactions", "shap"}
        What dalex makes of single rows.
    n_paths : int
        Random orders of ``predict_type="shap"`` (dalex's B).

    References
    ----------
    Baniecki et al. (2021), JMLR 22(214). Biecek & Burzykowski (2021), Explanatory Model Analysis.
    """

    measures: tuple[str, ...] = ("prediction", "entropy", "nll")
    parts: tuple[str, ...] = opt.option(PARTS, f"some of {PARTS}", lambda value: set(value) <= set(PARTS))
    rows: tuple[int, ...] | None = None
    n_local: int = opt.at_least(0, 1)
    n_repeats: int = opt.at_least(2, 10)
    max_rows: int = opt.at_least(1, 1000)
    n_background: int = opt.at_least(1, 100)
    max_profiles: int = opt.at_least(1, 4)
    grid_points: int = opt.at_least(2, 21)
    predict_type: str = opt.one_of(PREDICT_TYPES, "break_down")
    n_paths: int = opt.at_least(2, 25)

    name: ClassVar[str] = "dalex"
    libraries: ClassVar[tuple[str, ...]] = ("dalex",)
    section: ClassVar[str] = "prediction.dalex"
    priority: ClassVar[int] = 13

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        object.__setattr__(self, "measures", as_names(self.name, "measures", self.measures))
        object.__setattr__(self, "parts", as_names(self.name, "parts", self.parts))
        object.__setattr__(self, "rows", as_rows(self.name, self.rows))
        super().__post_init__()

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: shuffles, points of profiles, steps of single rows."""
        features = len(leading(subject.features, {})[0])
        rows, local = min(subject.n, self.max_rows), positions(chosen_rows(self.name, self.rows, engine, self.n_local))
        background, players = min(rows, self.n_background), features + (features < len(subject.features))
        asked = {
            "model_parts": rows * self.n_repeats * features,
            "model_profile": background * min(self.max_profiles, features) * self.grid_points,
            "predict_parts": background * len(local) * self._steps(players, len(engine.select(self.measures)[0])),
            "model_performance": 0,
        }
        return sum(asked[part] for part in self.parts)

    def _steps(self, players: int, measures: int) -> int:
        """Return how many sets of features of one row are exchanged at most, in `measures` orders or random ones."""
        if self.predict_type == "shap":
            return self.n_paths * players
        pairs = comb(players, 2) if self.predict_type == "break_down_interactions" else 0
        return players + pairs + measures * max(players - 2, 0)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return one result for each part, ``dalex.model_parts`` and so on."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        features, which = leading(subject.features, prior)
        rounds = self.n_repeats * (len(features) + 2) if "model_parts" in self.parts else 0
        dalex = Dalex(subject, engine, measures, omitted, asdict(self), features, rounds)
        roles = chosen_rows(self.name, self.rows, engine, self.n_local)
        rows = draw(engine.rng("rows"), subject.n, self.max_rows)
        background = rows[draw(engine.rng("background"), len(rows), self.n_background)]
        parts = model_parts(dalex, rows, self.n_repeats, which) if "model_parts" in self.parts else None
        results: list[Result] = [] if parts is None else [parts]
        if "model_profile" in self.parts:
            profiled = leading_features(parts, dalex, self.max_profiles)
            results.append(model_profile(dalex, background, profiled, self.grid_points))
        if "predict_parts" in self.parts:
            results.append(predict_parts(dalex, background, roles, which, self.predict_type, self.n_paths))
        if "model_performance" in self.parts:
            results.append(model_performance(dalex, rows))
        return results
