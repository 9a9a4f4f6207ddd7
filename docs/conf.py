"""How Sphinx builds the documentation: `make docs`. Nothing is fetched, and a warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import gradlife  # noqa: E402

project = "gradlife"
author = "gradlife authors"
copyright = author
release = version = gradlife.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "code_pages"]
exclude_patterns = ["_build", "_ext", "Thumbs.db"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# A field of a value may be called `object`, as a builtin is.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"gradlife {release}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["extra.css"]
pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "none"

# The standard library has no page here, and no inventory is fetched: names from elsewhere are shown, not linked.
autodoc_typehints = "signature"
# Users import `gradlife.why`, not the module that has it.
add_module_names = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
python_use_unqualified_type_names = True
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"gradlife\.(_heap|_engine|output|snapshot|open_snapshot|model\.(neighbourhood|reading|heap_map)|program\.hunt\.following\.Follow)\b.*",
    ),
    (
        r"py:.*",
        r"(collections|typing|pathlib|os|types|io|enum|dataclasses|contextlib|argparse|rich|pytest|_pytest|torch)\b.*",
    ),
    (r"py:(class|obj|data)", r"(Any|Callable|Iterable|Iterator|Sequence|Mapping|Path|TextIO|Self|T|P|R|optional)"),
]


def with_readable_defaults(
    app: Sphinx, what: str, name: str, value: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show the default of a field that has a factory as `...`: Sphinx cannot read `<factory>`, nor the types beside it."""
    return signature and signature.replace("<factory>", "..."), returns


def setup(app: Sphinx) -> None:
    """Connect what Sphinx calls."""
    app.connect("autodoc-process-signature", with_readable_defaults)
