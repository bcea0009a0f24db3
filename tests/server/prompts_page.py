"""Writes the reference page of prompts from their declarations: `python -m tests.server.prompts_page`."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.server.completion import KINDS
from mcp_agent_mail.server.prompts import WORKFLOWS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "prompts.md"

_HEAD = """\
# Prompts

<!-- Made by `python -m tests.server.prompts_page` from the prompts' declarations; a test compares. -->

Workflows that a person can start in a client that shows MCP prompts (often as slash commands). Each becomes one message
for the agent: which calls to make, in which order, with what was filled in. Nothing is called by the server itself.
"""

_TAIL = """\
## Completion

Clients that ask for it (`completion/complete`) get suggestions for the arguments {names}, here and in the
[resources](resources.md)' templates: at most 100, those used last first, ignoring letter case. A project is found by
its path, the last part of that or its slug. Agents and threads are those of the project already filled in, else of the
project that the agent's token belongs to; threads are suggested to those who may read the project's mail, from its
newest 2,000 messages. A question that leads nowhere has an empty answer.
"""


def page() -> str:
    parts = [_HEAD]
    for workflow in WORKFLOWS:
        rows = "".join(
            f"| `{name}` | {'no' if name in workflow.optional else 'yes'} | {text} |\n"
            for name, text in workflow.arguments.items()
        )
        head = f"## `{workflow.name}`\n\n{workflow.title}: {workflow.description}\n\n"
        parts.append(f"{head}| argument | required | what it is |\n|---|---|---|\n{rows}")
    parts.append(_TAIL.format(names=", ".join(f"`{name}`" for name in sorted(KINDS))))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
