"""Every page that is read, as addresses of a store with mail of each kind in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mcp_agent_mail.web.routes import ROUTES

QUERIES = ("box=log", "box=needs", "q=from:BlueLake", "q=from:Nobody", "q=is:unread", "box=none")


def places(keys: Mapping[str, str]) -> Iterator[str]:
    """`keys` of paths that have them; a page of refusals is among them."""
    for route in ROUTES:
        if route.get is not None:
            yield re.sub(r"{(\w+)}", lambda found: keys.get(found[1], "0" * 40), route.path)
    for query in QUERIES:
        yield f"/mail?{query}"
    yield "/mail/none/message/1"
