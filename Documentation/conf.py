# SPDX-License-Identifier: GPL-2.0
"""Sphinx configuration of the documents; "scripts/lab site" builds them.

The sources are reStructuredText, Markdown (the reports of benchmarks) and the
manual pages. Nothing is loaded from the network.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "sphinx"))

project = "pep"
html_title = "pep, a TCP performance enhancing proxy"
extensions = ["myst_parser", "mdoc"]
source_suffix = {
    ".rst": "restructuredtext",
    ".md": "markdown",
    ".4": "mdoc",
    ".5": "mdoc",
    ".8": "mdoc",
}
nitpicky = True
myst_heading_anchors = 4

# Blocks are commands of a shell, their output, and diagrams.
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {
    "description": "A transparent TCP performance enhancing proxy",
    "fixed_sidebar": True,
    "page_width": "80em",
    "body_max_width": "none",
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_static_path = ["sphinx/static"]
html_css_files = ["pep.css"]
html_copy_source = False
html_show_copyright = False
