#!/bin/sh
# The guard of agent-mail: it stops a commit or a push of files that another agent has reserved.
#
# `am guard install` wrote this file. `am guard uninstall` takes it away and puts back the hook that was here
# before, which lies beside it as @hook@.before-agent-mail. `am guard status` says how things stand.
# Please do not edit: neither command touches an edited file.
#
# The guard looks first: it is quick, and a refusal should not come after minutes of tests. Then the former hook
# runs, with the same arguments, input, environment and directory; its exit code is the answer.

hook=@hook@
python=@python@
packages=@packages@
folder=$(dirname "$0")
former=$folder/$hook.before-agent-mail

# Its exit code: 0 pass, 1 refused; all else means that it could not do its work.
run_guard() {
    if [ -x "$python" ]; then
        # -I: neither the repository we stand in nor PYTHONPATH decides what is imported.
        "$python" -I -c 'import sys
sys.path.append(sys.argv.pop(1))
try:
    from mcp_agent_mail.__main__ import main
    main()
except ImportError as missing:
    sys.stderr.write(f"agent-mail guard: {missing}\n")
    sys.exit(127)' "$packages" guard hook "$hook" "$@"
        code=$?
        [ "$code" -eq 127 ] || return "$code"
    fi
    # That installation is gone. The program may still be on PATH.
    command -v mcp-agent-mail >/dev/null || return 127
    mcp-agent-mail guard hook "$hook" "$@"
}

# What AGENT_MAIL_GUARD_ON_ERROR says, in the environment or in the user's own settings.
policy_on_error() {
    settings=${AGENT_MAIL_ENV_FILE:-$HOME/.config/mcp-agent-mail/.env}
    in_file=$(sed -n 's/^ *AGENT_MAIL_GUARD_ON_ERROR *= *//p' "$settings" 2>/dev/null | tail -n 1)
    printf %s "${AGENT_MAIL_GUARD_ON_ERROR:-$in_file}" | tr -d "\"' " | tr '[:upper:]' '[:lower:]'
}

# A guard that cannot run never blocks and never passes without a word.
tell_broken() {
    echo "agent-mail guard: could not run (code $1, $python): nobody's reservations were looked at." >&2
    echo "  Repair it: am guard install     What is wrong: am guard status" >&2
    case $(printf %s "${AGENT_MAIL_BYPASS-}" | tr '[:upper:]' '[:lower:]') in
    1 | t | true | y | yes | on) return 0 ;;
    esac
    if [ "$(policy_on_error)" = block ]; then
        echo "  Stopped here, because AGENT_MAIL_GUARD_ON_ERROR=block. AGENT_MAIL_BYPASS=1 passes." >&2
        return 1
    fi
    echo "  Going on without it (AGENT_MAIL_GUARD_ON_ERROR=warn)." >&2
}

# lefthook writes its hooks anew while it runs, when its configuration has changed, and puts this file aside
# as *.old. Then its new hook becomes the former one, and this file goes back to where it was.
return_after_lefthook() {
    for name in pre-commit pre-push; do
        here=$folder/$name
        if grep -q '^# The guard of agent-mail' "$here.old" 2>/dev/null && grep -q 'call[_]lefthook' "$here" 2>/dev/null &&
            { [ ! -e "$here.before-agent-mail" ] || grep -q 'call[_]lefthook' "$here.before-agent-mail"; }; then
            mv -f "$here" "$here.before-agent-mail" && mv -f "$here.old" "$here"
        fi
    done
}

# Git tells pre-push on its input what is pushed, and both the guard and the former hook must hear it.
# The x keeps the last end of line.
input=
if [ "$hook" = pre-push ]; then
    input=$(cat && printf x)
    input=${input%x}
fi

{ printf %s "$input" 2>/dev/null; } | run_guard "$@"
code=$?
case $code in
0) ;;
1 | 130 | 143) exit "$code" ;;
*) tell_broken "$code" || exit 1 ;;
esac

[ -x "$former" ] || exit 0
# The pre-commit framework calls a hook that it found: this one, if it was installed again since. It goes on
# by itself then, and its own former hook must not begin from the start.
if [ -n "${PRE_COMMIT_RUNNING_LEGACY-}" ] && grep -q 'File generated[ ]by pre-commit' "$former"; then
    exit 0
fi

if [ "$hook" = pre-push ]; then
    { printf %s "$input" 2>/dev/null; } | "$former" "$@"
else
    "$former" "$@"
fi
code=$?
return_after_lefthook
exit "$code"
