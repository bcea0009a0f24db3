"""Which way calls over MCP go in the tests: past FastMCP, unless `make both-paths` has them all go through it."""

from __future__ import annotations

import os

HAS_FAST_PATH = "TESTS_WITHOUT_FAST_PATH" not in os.environ
"""No setting of the product's says so: what the tests are started with of those is taken away."""
WAY_SETTINGS = {} if HAS_FAST_PATH else {"HTTP_FAST_PATH_ENABLED": "false"}
