"""The Sphinx settings of the site: Markdown by MyST, the theme Furo, nothing from other hosts."""

from __future__ import annotations

import builtins
import re
from typing import Any

import nuthatch
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

project = "Nuthatch"
author = "The Nuthatch authors"
copyright = "The Nuthatch authors, Apache-2.0"
version = release = nuthatch.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
exclude_patterns = ["_*"]
# Headings get the anchors that code hosts give them, which is what links between the documents use.
myst_heading_anchors = 6
# Grammars of Pygments do not know every placeholder in an example (`…`), and such a block is shown without colours.
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = False
highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 90
add_module_names = False
# Every page carries the tree of all pages. With each method in it, building takes minutes.
toc_object_entries = False

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"Nuthatch {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_domain_indices = False


def without_links(app: Sphinx, page: nodes.document) -> None:
    """A type such as `bytes` in a signature is Python's, and no attribute of that name."""
    for reference in list(page.findall(addnodes.pending_xref)):
        if reference.get("refdomain") == "py" and hasattr(builtins, reference["reftarget"]):
            reference.replace_self(reference.children)


def made_by_calls(
    app: Sphinx, kind: str, name: str, value: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """A handle such as `Collection` is made by a call: what it takes is not for users."""
    inside = kind == "class" and signature is not None and re.match(r"\((?:\w*core|sync|open)\b", signature)
    return ("", None) if inside else (signature, returned)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", without_links)
    app.connect("autodoc-process-signature", made_by_calls)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
