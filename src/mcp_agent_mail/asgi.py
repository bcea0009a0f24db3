"""The server inside of a process of your own: `uvicorn mcp_agent_mail.asgi:app`, or mounted in a parent application.

```python
mail = create_app({"STORAGE_ROOT": "/srv/mail"})

@asynccontextmanager
async def parent_lifespan(parent):
    async with lifespan(mail):
        yield

parent = Starlette(routes=[Mount("/mail", app=mail)], lifespan=parent_lifespan)
```

Nothing is read or opened before the lifespan begins. docs/how-to/embed-in-an-application.md says the rest.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_agent_mail.core.settings.names import nearest_setting
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.server.asgi import AsgiServer


def create_app(
    settings: Mapping[str, str] | Settings | None = None, *, env_file: Path | None = None, url: str | None = None
) -> AsgiServer:
    """A server as one ASGI application. `settings` by name win over the environment and the `.env`, which are read when
    the lifespan begins; those of `load_settings` stand for all of them. `url` is where clients on this machine reach
    it, such as http://127.0.0.1:8000/mail: without it, that is learned from the first request. Raises ValueError for
    a name that is no setting.
    """
    if isinstance(settings, Settings):
        loaded = settings
        return AsgiServer(lambda: loaded, url=url)
    overrides = dict(settings or {})
    for name in overrides.keys() - {row.name for row in ROWS}:
        nearest = nearest_setting(name)
        raise ValueError(f"There is no setting {name}." + (f" Did you mean {nearest}?" if nearest else ""))

    def read() -> Settings:
        return load_settings(os.environ, cwd=Path.cwd(), overrides=overrides, env_file=env_file).settings

    return AsgiServer(read, url=url)


@asynccontextmanager
async def lifespan(mail: AsgiServer) -> AsyncIterator[None]:
    """Inside, `mail` owns its store and serves; a parent application enters it in its own lifespan, since nobody else
    runs that of what is mounted. Raises AgentMailError (StoreInUse, …) or SettingsError where it cannot start.
    """
    async with mail.opened():
        yield


app = create_app()
"""By the settings of the environment."""
