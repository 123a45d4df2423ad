"""The works that rules, methods and findings rest on; every citation in a report comes from here."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import NamedTuple


class Work(NamedTuple):
    """One source: as it is cited in running text, and in the list of references."""

    short: str
    full: str


WORKS = MappingProxyType({
    "apley": Work(
        "Apley & Zhu 2020",
        "D. W. Apley, J. Zhu: Visualizing the effects of predictor variables in black box supervised learning models. "
        "Journal of the Royal Statistical Society B 82, 2020.",
    ),
    "baniecki": Work(
        "Baniecki et al. 2021",
        "H. Baniecki, W. Kretowicz, P. Piątyszek, J. Wiśniewski, P. Biecek: dalex: Responsible machine learning with "
        "interactive explainability and fairness in Python. Journal of Machine Learning Research 22, 2021.",
    ),
    "biecek": Work(
        "Biecek & Burzykowski 2021",
        "P. Biecek, T. Burzykowski: Explanatory model analysis. Chapman and Hall/CRC, 2021.",
    ),
    "breiman": Work("Breiman 2001", "L. Breiman: Random forests. Machine Learning 45, 2001."),
    "broecker": Work(
        "Bröcker & Smith 2007",
        "J. Bröcker, L. A. Smith: Increasing the reliability of reliability diagrams. Weather and Forecasting 22, "
        "2007.",
    ),
    "cui": Work(
        "Cui et al. 2020",
        "T. Cui, P. Marttinen, S. Kaski: Learning global pairwise interactions with Bayesian neural networks. European "
        "Conference on Artificial Intelligence, 2020.",
    ),
    "czado": Work(
        "Czado, Gneiting & Held 2009",
        "C. Czado, T. Gneiting, L. Held: Predictive model assessment for count data. Biometrics 65, 2009.",
    ),
    "friedman": Work(
        "Friedman 2001",
        "J. H. Friedman: Greedy function approximation: a gradient boosting machine. Annals of Statistics 29, 2001.",
    ),
    "friedman_popescu": Work(
        "Friedman & Popescu 2008",
        "J. H. Friedman, B. E. Popescu: Predictive learning via rule ensembles. Annals of Applied Statistics 2, 2008.",
    ),
    "gebru": Work("Gebru et al. 2021", "T. Gebru et al.: Datasheets for datasets. Communications of the ACM 64, 2021."),
    "gelman": Work(
        "Gelman & Pardoe 2007",
        "A. Gelman, I. Pardoe: Average predictive comparisons for models with nonlinearity, interactions, and variance "
        "components. Sociological Methodology 37, 2007.",
    ),
    "goldstein": Work(
        "Goldstein et al. 2015",
        "A. Goldstein, A. Kapelner, J. Bleich, E. Pitkin: Peeking inside the black box: visualizing statistical "
        "learning with plots of individual conditional expectation. Journal of Computational and Graphical Statistics "
        "24, 2015.",
    ),
    "greenwell": Work(
        "Greenwell et al. 2018",
        "B. M. Greenwell, B. C. Boehmke, A. J. McCarthy: A simple and effective model-based variable importance "
        "measure. arXiv 1805.04755, 2018.",
    ),
    "holm": Work(
        "Holm 1979",
        "S. Holm: A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 1979.",
    ),
    "kendall": Work("Kendall 1945", "M. G. Kendall: The treatment of ties in ranking problems. Biometrika 33, 1945."),
    "klein": Work(
        "Klein, Wright & Wieczorek 2020",
        "M. Klein, T. Wright, J. Wieczorek: A joint confidence region for an overall ranking of populations. Journal "
        "of the Royal Statistical Society C 69, 2020.",
    ),
    "lecture": Work(
        "lecture Interpretable machine learning",
        "Interpretable machine learning, lecture notes: Permutation feature importance.",
    ),
    "lundberg": Work(
        "Lundberg & Lee 2017",
        "S. M. Lundberg, S.-I. Lee: A unified approach to interpreting model predictions. Advances in Neural "
        "Information Processing Systems 30, 2017.",
    ),
    "mitchell": Work(
        "Mitchell et al. 2019", "M. Mitchell et al.: Model cards for model reporting. Proceedings of FAT*, 2019."
    ),
    "modeva": Work("Modeva documentation", "Modeva documentation: Global explainability."),
    "mogstad": Work(
        "Mogstad et al. 2024",
        "M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm: Inference for ranks with applications to mobility across "
        "neighbourhoods and academic achievement across countries. Review of Economic Studies 91, 2024.",
    ),
    "paananen": Work(
        "Paananen, Andersen & Vehtari 2021",
        "T. Paananen, M. R. Andersen, A. Vehtari: Uncertainty-aware sensitivity analysis using Rényi divergences. "
        "Uncertainty in Artificial Intelligence, 2021.",
    ),
    "pereira": Work(
        "Pereira et al.",
        "J. Pereira, E. S. G. Stroes, A. H. Zwinderman, E. Levin: Covered information disentanglement: model "
        "transparency via unbiased permutation importance.",
    ),
    "vovk": Work(
        "Vovk et al. 2005",
        "V. Vovk, A. Gammerman, G. Shafer: Algorithmic learning in a random world. Springer, 2005.",
    ),
    "watson": Work(
        "Watson et al. 2023",
        "D. S. Watson et al.: Explaining predictive uncertainty with information theoretic Shapley values. Advances "
        "in Neural Information Processing Systems 36, 2023.",
    ),
    "wood": Work(
        "Wood et al.",
        "D. Wood, T. Papamarkou, M. Benatan, R. Allmendinger: Model-agnostic variable importance for predictive "
        "uncertainty: an entropy-based approach.",
    ),
})  # fmt: skip


_KEYED = re.compile(rf"\b({'|'.join(WORKS)}):\s*")


def cite(reference: str) -> str:
    """Return references ``work:place``, parted by ``; ``, in words; plain words are returned as they are.

    Examples
    --------
    >>> cite("wood:section 3.5; breiman"), cite("Owner's rule: none")
    ('Wood et al., section 3.5; Breiman 2001', "Owner's rule: none")
    """
    return "; ".join(map(_cited, reference.split("; ")))


def _cited(reference: str) -> str:
    if reference in WORKS:
        return WORKS[reference].short
    return _KEYED.sub(lambda found: f"{WORKS[found[1]].short}, ", reference)
