"""WeasyPrint is imported without tools that a page does not need, and has them where it does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from uq_report.render.weasy import replaced

CHECKED = """
import sys
from uq_report.render import weasy
from weasyprint.pdf import fonts
rare = "fontTools.subset", "fontTools.varLib.instancer"
assert not set(rare) & set(sys.modules), "imported"
options = fonts.subset.Options(retain_gids=True)
try:
    fonts.instantiateVariableFont(None, {})
except Exception as error:
    assert not isinstance(error, ImportError), error
assert set(rare) <= set(sys.modules), "not imported"
assert type(options) is sys.modules[rare[0]].Options and options.retain_gids
"""


def test_tools_of_fonts_are_imported_where_they_are_called() -> None:
    subprocess.run([sys.executable, "-c", CHECKED], check=True)


def test_what_was_replaced_is_put_back_even_if_it_fails() -> None:
    class Place:
        first, second = 1, 2

    def fail() -> None:
        assert (Place.first, Place.second) == (3, 4)
        raise KeyError

    with pytest.raises(KeyError), replaced(Place, first=3, second=4):
        fail()
    assert (Place.first, Place.second) == (1, 2)
