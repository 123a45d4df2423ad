"""Every family of models that the documentation names, fitted on small real data: the rows of docs/models.md."""

from .families_boosted import BOOSTED
from .families_of_libraries import LIBRARIES
from .families_of_users import OWN
from .families_sklearn import SKLEARN

FAMILIES = (*SKLEARN, *BOOSTED, *LIBRARIES, *OWN)
