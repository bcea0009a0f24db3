"""The scripts for shells. Each asks `am completion SHELL -- WORDS` at each TAB, and so knows what is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mcp_agent_mail.cli.completion.words import SuggestedWord

ShellName = Literal["bash", "zsh", "fish"]


_BASH = """\
# am and mcp-agent-mail in bash. In ~/.bashrc: eval "$(am completion bash)"
_am_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        [ -n "$line" ] && COMPREPLY+=("$line")
    done < <("$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _am_completion am mcp-agent-mail
"""

_ZSH = """\
#compdef am mcp-agent-mail
# am and mcp-agent-mail in zsh. In ~/.zshrc, behind compinit: eval "$(am completion zsh)"
_am_completion() {
    local -a found
    found=("${(@f)$("${words[1]}" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( ${#found} )); then
        _describe 'am' found
    else
        _files
    fi
}
compdef _am_completion am mcp-agent-mail
"""

_FISH = """\
# am and mcp-agent-mail in fish. In ~/.config/fish/config.fish: am completion fish | source
function __am_completion
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    set -l found ($before[1] completion fish -- $before[2..] "$typed" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$typed"
    end
end
complete -c am -f -a '(__am_completion)'
complete -c mcp-agent-mail -f -a '(__am_completion)'
"""

SCRIPTS: dict[ShellName, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def as_read_by(shell: ShellName, found: Sequence[SuggestedWord]) -> str:
    """The candidates as the shell's script reads them, one a line; bash shows words alone."""
    return "".join(f"{_line(shell, one)}\n" for one in found)


def _line(shell: ShellName, one: SuggestedWord) -> str:
    if shell == "bash" or not one.summary:
        return one.word
    if shell == "fish":
        return f"{one.word}\t{one.summary}"
    return f"{one.word.replace(':', chr(92) + ':')}:{one.summary}"
