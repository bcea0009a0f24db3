"""The floor: one trivial tool behind FastMCP, with the server settings and tuning of the product.

Run as `python -m benchmarks.floor PORT`. What this costs nobody who serves MCP through FastMCP
can avoid; the ratio to it is what the product itself costs.
"""

from __future__ import annotations

import gc
import logging
import sys

import fastmcp
import uvicorn
import uvloop
from fastmcp import FastMCP

KEEP_ALIVE_S = 75


def build() -> FastMCP:
    """One `async def` tool, telemetry and FastMCP's own logging off."""
    fastmcp.settings.telemetry_mode = "off"
    fastmcp.settings.log_enabled = False
    logging.getLogger("mcp").setLevel(logging.ERROR)
    logging.getLogger("fastmcp").setLevel(logging.ERROR)
    floor: FastMCP = FastMCP("floor", mask_error_details=True)

    @floor.tool(output_schema=None)
    async def echo(text: str) -> dict[str, str]:
        """Give the text back."""
        return {"text": text}

    return floor


async def serve(port: int) -> None:
    floor = build()
    schemas = {tool.name: tool.parameters for tool in await floor.list_tools()}
    # Without this the modern protocol runs a whole tools/list before every tools/call.
    floor._mcp_server.get_tool_input_schema = schemas.get  # noqa: SLF001  # no public name for it
    application = floor.http_app(path="/mcp", stateless_http=False, json_response=True)
    config = uvicorn.Config(
        application,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    await uvicorn.Server(config).serve()


def main() -> None:
    uvloop.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
