"""Without Playwright, which only `make browser` installs, nothing here is read."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]
