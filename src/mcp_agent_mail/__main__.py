"""`python -m mcp_agent_mail` and the console scripts `am` and `mcp-agent-mail`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Imported here, so that importing this module costs nothing.
    from mcp_agent_mail.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
