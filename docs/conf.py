"""Configuration of the documentation; `sh docs/build.sh` builds it."""

import importlib.metadata
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import reference
from sphinx_gallery.scrapers import figure_rst

reference.write(HERE)

project, author, copyright = "uq_report", "The uq_report founders", "The uq_report founders"
release = importlib.metadata.version("uq_report")
extensions = [
    "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_nb", "sphinx_design", "sphinx_copybutton", "sphinx_gallery.gen_gallery",
]  # fmt: skip
exclude_patterns = [
    "_build",
    "_ext",
    "sg_execution_times.rst",
    "gallery/*.py",
    "gallery_built/*.ipynb",
    "gallery_built/*.py",
    "README.md",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
html_theme = "pydata_sphinx_theme"
html_title = "uq_report"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["labels.js"]
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "header_links_before_dropdown": 6}
html_show_sourcelink = False
mathjax_path = "mathjax/tex-chtml.js"
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
autodoc_typehints = "none"  # numpydoc states the types
numpydoc_show_class_members = False


def drawn(_block, block_vars, gallery_conf):
    """Save the figure that an example of the gallery draws."""
    figure = block_vars["example_globals"].get("figure")
    if figure is None:
        return ""
    place = next(block_vars["image_path_iterator"])
    figure.savefig(place, bbox_inches="tight", dpi=120)
    return figure_rst([place], gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "image_scrapers": (drawn,),
    "capture_repr": (),
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery_built",
    "filename_pattern": r"plot_",
    "write_computation_times": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
}
suppress_warnings = ["config.cache", "mystnb.unknown_mime_type"]
