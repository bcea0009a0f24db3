"""A server that records none of its calls: `python -m benchmarks.unwatched PORT`, for `benchmarks.overhead`.

The product always records them; leaving that out is the benchmark's own doing, in the one place where calls are run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.server.serve import quiet_fastmcp, serve


def leave_out_recording() -> None:
    """Calls are run without figures, from here on in this process."""
    quiet_fastmcp()  # before FastMCP is imported, which the server's assembly does
    from mcp_agent_mail.server import assembly, dispatch  # noqa: PLC0415

    class Unrecorded(dispatch.Calls):
        def __init__(self, *args: object, **options: object) -> None:
            options["usage"] = None
            super().__init__(*args, **options)  # type: ignore[arg-type]  # as they came

    vars(assembly)["Calls"] = Unrecorded


def main() -> int:
    overrides = {"HTTP_HOST": "127.0.0.1", "HTTP_PORT": sys.argv[1]}
    loaded = load_settings(os.environ, cwd=Path.cwd(), overrides=overrides)
    leave_out_recording()
    return serve(loaded.settings)


if __name__ == "__main__":
    sys.exit(main())
