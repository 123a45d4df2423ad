"""The places of the report that plugins fill, in reading order: the one place that orders them.

A slot is ``chapter.place``. What names only a chapter stands behind its places; what names neither stands with the
drivers of the prediction or of the uncertainty, by the role of its measures.
"""

from typing import Final

from ..evidence import ids

QUALITY: Final = "data.quality"
PROFILES: Final = "soundness.profiles"
LOCAL_EFFECTS: Final = "soundness.local-effects"
GROUPS: Final = f"outcomes.{ids.GROUPS}"
CALIBRATION: Final = f"uncertainty-quality.{ids.CALIBRATION}"
SEGMENTS: Final = f"uncertainty-quality.{ids.SEGMENTS}"
SELECTIVE: Final = f"uncertainty-quality.{ids.SELECTIVE}"
IMPORTANCE: Final = "prediction.importance"
SHAPLEY: Final = "prediction.shapley"
LIBRARY: Final = f"prediction.{ids.DALEX}"
SENSITIVITY: Final = "uncertainty.sensitivity"
DEPENDENCE: Final = "relations.dependence"
COVER: Final = "relations.cover"
AGREEMENT: Final = "relations.agreement"
INTERACTIONS: Final = "robustness.interactions"
SUPPORT: Final = f"robustness.{ids.SUPPORT}"

ORDER: Final = (
    QUALITY, PROFILES, LOCAL_EFFECTS, GROUPS, CALIBRATION, SELECTIVE, SEGMENTS, IMPORTANCE, SHAPLEY, LIBRARY,
    SENSITIVITY, DEPENDENCE, COVER, AGREEMENT, INTERACTIONS, SUPPORT,
)  # fmt: skip
CHAPTERS: Final = tuple(dict.fromkeys(slot.partition(".")[0] for slot in ORDER))
PREDICTION, UNCERTAINTY = "prediction", "uncertainty"


def is_slot(name: str) -> bool:
    """Say whether `name` is a place of the report or one of its chapters."""
    return name in ORDER or name in CHAPTERS


def chapter_of(slot: str) -> str:
    """Return the chapter of a slot.

    Examples
    --------
    >>> chapter_of("relations.cover"), chapter_of("relations")
    ('relations', 'relations')
    """
    return slot.partition(".")[0]


def place_of(slot: str) -> int:
    """Return where a slot stands in the reading order; a chapter alone stands behind all its places."""
    return ORDER.index(slot) if slot in ORDER else len(ORDER)
