"""Runs an audit: chooses the adapter, prepares and orders the explainers, times them; a failure becomes NotRun."""

from .adapter_choice import (
    RESIDUALS as RESIDUALS,
    choose_adapter as choose_adapter,
    lay_over as lay_over,
    named_outputs as named_outputs,
    pick_output as pick_output,
    unpack as unpack,
)
from .audit import (
    Audited as Audited,
    facts as facts,
    make_engine as make_engine,
    run as run,
    side_by_side as side_by_side,
    single as single,
)
from .budget import TimeBudget as TimeBudget
from .changes import changes as changes
from .permuted import permuted as permuted
from .prepare import load_measures as load_measures, option_mistakes as option_mistakes
