#!/bin/sh
# `am guard install` wrote this file, because core.hooksPath (or a hook that asks for its own name) leaves no room
# for the guard where the hooks are. Git looks for hooks in this folder now, and each runs the hook that
# Git would run without us: from where it lies, under its own name, with the same arguments, input and directory.
# `am guard uninstall` takes the folder away again. Please do not edit.

here=@here@
hook=$(basename "$0")
hook=${hook%.before-agent-mail}

# Asked each time, so that a tool that sets core.hooksPath, or drops it, later on is followed. The last value is
# the one that counts, and ours stands behind all others.
folder=$(git config --type=path --get-all core.hooksPath | grep -vxF -e "$here" | tail -n 1)
[ -n "$folder" ] || folder=$(git rev-parse --git-common-dir)/hooks

[ -x "$folder/$hook" ] || exit 0
# This very folder, written in another way: nobody else's hook is meant, and we would run ourselves for ever.
[ "$(cd "$folder" && pwd -P)" != "$(cd "$(dirname "$0")" && pwd -P)" ] || exit 0
exec "$folder/$hook" "$@"
