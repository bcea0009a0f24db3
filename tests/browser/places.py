"""Every page that is read, as addresses of a store with mail of each kind in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from mcp_agent_mail.web.routes import ROUTES

EVENTS = "/mail/events"
"""A stream has no end: no browser finishes loading it as a page."""
QUERIES = ("box=log", "box=needs", "q=from:BlueLake", "q=from:Nobody", "q=is:unread", "box=none")
REFUSED = ("/mail?box=none", "/mail/none/message/1")
"""Pages of refusals, to the operator too."""
_HISTORY = "/mail/archive/"
_OF_HISTORY = (
    "activity?project={project}",
    "timeline?project={project}",
    "network?project={project}",
    "guide?project={project}",
    "browser?project={project}",
    "browser?project={project}&path={folder}",
    "browser?project={project}&path={file}",
    "commit/{commit}?project={project}",
    "time-travel?project={project}",
    "time-travel?project={project}&agent={agent}&at={at}",
)
_ASKED = (
    "search?q={word}",
    "search?q=zzzznothing",
    "{project}/search?q={word}",
    "{project}/search?q=zzzznothing",
    "{project}/agents?retired=1",
    "{project}/file_reservations?ended=1",
    "{project}/overseer/compose?thread={thread}&to={agent}",
)


def places(keys: Mapping[str, str]) -> Iterator[str]:
    """`keys` of paths that have them; a page of refusals is among them. A query is there where all its keys are."""
    for route in ROUTES:
        if route.get is not None and route.path != EVENTS:
            yield re.sub(r"{(\w+)}", lambda found: keys.get(found[1], "0" * 40), route.path)
    for query in QUERIES:
        yield f"/mail?{query}"
    for form in (*(_HISTORY + one for one in _OF_HISTORY), *(f"/mail/{one}" for one in _ASKED)):
        if set(re.findall(r"{(\w+)}", form)) <= set(keys):
            yield form.format_map({name: quote(key, safe="") for name, key in keys.items()})
    yield "/mail/none/message/1"
