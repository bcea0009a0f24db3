"""By what an agent's shell is known: variables that coding agents set in the commands they run, and nobody else does.

A mark proves nothing and takes nothing away: it says that a commit without a name is no person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AgentMark(NamedTuple):
    """One variable, whose it is, and where it is told that commands of that agent have it."""

    variable: str
    agent: str
    source: str


AGENT_MARKS = (
    AgentMark("CLAUDECODE", "Claude Code", "github.com/anthropics/claude-code/issues/531"),
    AgentMark("GEMINI_CLI", "Gemini CLI", "google-gemini.github.io/gemini-cli/docs/tools/shell.html"),
    AgentMark("CODEX_SANDBOX", "Codex CLI", "github.com/openai/codex, spawn.rs"),
    AgentMark("CODEX_SANDBOX_NETWORK_DISABLED", "Codex CLI", "github.com/openai/codex, spawn.rs"),
    AgentMark("CODEX_THREAD_ID", "Codex CLI", "github.com/openai/codex/issues/36883"),
    AgentMark("CODEX_CI", "Codex CLI", "github.com/aws/aws-cdk-cli/pull/1853"),
    AgentMark("CURSOR_AGENT", "Cursor", "forum.cursor.com/t/132427"),
    AgentMark("COPILOT_CLI", "Copilot CLI", "github.com/github/copilot-cli, changelog.md"),
    AgentMark("OPENCODE", "OpenCode", "github.com/anomalyco/opencode, packages/opencode/src/index.ts"),
    AgentMark("AMP_CURRENT_THREAD_ID", "Amp", "github.com/microsoft/vscode/issues/311734"),
    AgentMark("QWEN_CODE", "Qwen Code", "github.com/aws/aws-cdk-cli/pull/1853"),
    AgentMark("GOOSE_TERMINAL", "Goose", "github.com/anthropics/claude-code/issues/24838"),
    AgentMark("CLINE_ACTIVE", "Cline", "github.com/aws/aws-cdk-cli/pull/1853"),
    AgentMark("AUGMENT_AGENT", "Augment", "docs.augmentcode.com/cli/reference#shell-environment"),
    AgentMark("AI_AGENT", "any agent", "github.com/vercel/detect-agent, the AI_AGENT standard"),
)
"""Whole names, no beginnings: CODEX_HOME and keys are a person's configuration, CURSOR_TRACE_ID stands in every
terminal of the editor, and AGENT is what `am run` tells its command.
"""

_OFF = frozenset({"", "0", "false", "no", "off"})


def find_mark(environment: Mapping[str, str]) -> AgentMark | None:
    """The first mark, in the table's order, that is set and not switched off; None in a person's shell."""
    return next((mark for mark in AGENT_MARKS if environment.get(mark.variable, "").strip().lower() not in _OFF), None)
