"""Log lines on stderr: plain, coloured on a terminal, or one JSON object per line.

Foreign exceptions are logged as their kind and where they happened: their messages may quote what an
agent sent.
"""

from __future__ import annotations

import json
import logging
import sys
import time

_PLAIN = "%(asctime)s %(levelname)-7s %(name)s %(message)s"
_QUIET = ("mcp", "fastmcp", "uvicorn", "asyncio", "git", "sse_starlette", "httpx")
"""Libraries whose everyday lines say nothing to an operator: their warnings are kept."""


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)


def configure_logs(*, level: str, rich_enabled: bool, json_enabled: bool) -> None:
    """Replace every handler of the root logger. Called once by the process's entry, never at import."""
    handler: logging.Handler
    if json_enabled:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonFormatter())
    elif rich_enabled and sys.stderr.isatty():
        handler = _rich_handler()
    else:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(_PLAIN))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level]))


def _rich_handler() -> logging.Handler:
    # Imported only where it shows: 50 ms and 4 MiB.
    from rich.console import Console  # noqa: PLC0415
    from rich.logging import RichHandler  # noqa: PLC0415

    return RichHandler(console=Console(stderr=True), show_path=False, markup=False, rich_tracebacks=False)
