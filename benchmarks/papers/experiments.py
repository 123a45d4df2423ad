"""All experiments, in the order of the document."""

from .beyond import EXPERIMENTS as BEYOND
from .lecture import EXPERIMENTS as LECTURE
from .paananen import EXPERIMENTS as PAANANEN
from .pereira import EXPERIMENTS as PEREIRA
from .wood import EXPERIMENTS as WOOD

EXPERIMENTS = (*WOOD, *LECTURE, *PEREIRA, *PAANANEN, *BEYOND)
