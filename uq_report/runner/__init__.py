"""Runs an audit: chooses the adapter, prepares and orders the explainers, times them; a failure becomes NotRun."""

from .adapter_choice import RESIDUALS as RESIDUALS
from .adapter_choice import choose_adapter as choose_adapter
from .adapter_choice import lay_over as lay_over
from .adapter_choice import named_outputs as named_outputs
from .adapter_choice import pick_output as pick_output
from .adapter_choice import unpack as unpack
from .audit import Audited as Audited
from .audit import facts as facts
from .audit import make_engine as make_engine
from .audit import run as run
from .audit import side_by_side as side_by_side
from .audit import single as single
from .budget import TimeBudget as TimeBudget
from .changes import changes as changes
from .permuted import permuted as permuted
from .prepare import load_measures as load_measures
from .prepare import option_mistakes as option_mistakes
