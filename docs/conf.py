"""Configuration of Sphinx, which makes a site from these pages: scripts/site.sh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hrp_model.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "hrp_ros"
author = "hrp_ros developers"
release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxarg.ext",
    "sphinx_copybutton",
]
exclude_patterns = ["examples"]

html_theme = "furo"
html_title = f"hrp_ros {release}"
html_theme_options = {"navigation_with_keys": True}
html_show_sphinx = html_show_copyright = False
copybutton_exclude = ".linenos, .gp, .go"

# Anchors of headings as GitHub makes them, so that links work in both.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

# Long signatures have a parameter on each line.
maximum_signature_line_length = 90
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

# Pages at the top of the repository, which GitHub expects there, are included in pages of the site.
_TOP_PAGES = re.compile(r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md")


def setup(app: Sphinx) -> None:
    """Let links to pages at the top of the repository lead to those of the site."""

    def link_to_site(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = _TOP_PAGES.sub(lambda m: f"](/{m[1].lower()}.md", source[0])

    app.connect("source-read", link_to_site)
