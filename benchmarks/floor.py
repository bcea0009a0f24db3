"""The floor: one trivial tool behind FastMCP, with the server settings and tuning of the product.

Run as `python -m benchmarks.floor PORT`. What this costs nobody who serves MCP through FastMCP
can avoid; the ratio to it is what the product itself costs. Whatever tuning the product gets that
is not about its own tools belongs here too, else the floor flatters us.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from typing import TYPE_CHECKING, Any

import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastmcp import FastMCP

KEEP_ALIVE_S = 75
GC_AFTER_S = 1.0


def build() -> FastMCP[Any]:
    """One `async def` tool; telemetry, FastMCP's own logging and its update check off."""
    os.environ.update(
        FASTMCP_ENV_FILE=os.devnull,
        FASTMCP_LOG_ENABLED="false",
        FASTMCP_ENABLE_RICH_TRACEBACKS="false",
        FASTMCP_TELEMETRY_MODE="off",
        FASTMCP_CHECK_FOR_UPDATES="off",
    )
    from fastmcp import FastMCP  # noqa: PLC0415  # reads its settings while it is imported

    floor: FastMCP[Any] = FastMCP("floor", mask_error_details=True)

    @floor.tool(output_schema=None)
    async def echo(text: str) -> dict[str, str]:
        """Give the text back."""
        return {"text": text}

    return floor


async def serve(port: int, more: Callable[[FastMCP[Any]], None] | None = None) -> None:
    """Until a signal. `more` adds tools to the one."""
    import uvicorn  # noqa: PLC0415  # after the collector is off, as in the product

    floor = build()
    if more is not None:
        more(floor)
    schemas = {tool.name: tool.parameters for tool in await floor.list_tools()}
    # Without this the modern protocol runs a whole tools/list before every tools/call.
    floor._mcp_server.get_tool_input_schema = schemas.get  # noqa: SLF001  # no public name for it
    config = uvicorn.Config(
        floor.http_app(path="/mcp", stateless_http=False, json_response=True),
        host="127.0.0.1",
        port=port,
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    asyncio.get_running_loop().call_later(GC_AFTER_S, tune_collector)
    await uvicorn.Server(config).serve()


def tune_collector() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def main(more: Callable[[FastMCP[Any]], None] | None = None) -> None:
    gc.disable()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(int(sys.argv[1]), more))


if __name__ == "__main__":
    main()
