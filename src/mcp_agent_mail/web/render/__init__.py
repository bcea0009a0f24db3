"""Models become HTML: the one place for Jinja2, markdown-it-py, nh3 and Pygments, imported at the first page."""
