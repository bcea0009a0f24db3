"""Where the user's own files are. Standard library, and as little of it as can be: hooks import it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def expand_home(text: str, environ: Mapping[str, str]) -> str:
    """A path as a shell reads it that sees no quotes: `~` before it is the user's own home; other users' stay."""
    return home_folder(environ) + text[1:] if text == "~" or text.startswith("~/") else text


def home_folder(environ: Mapping[str, str]) -> str:
    """HOME where it is absolute, else what the password file says: an empty or a relative one would put files wherever
    we happen to stand. For a user that the file does not know, a place where nothing can be made.
    """
    home = environ.get("HOME", "")
    if home.startswith("/"):
        return home
    import pwd  # noqa: PLC0415  # seldom needed

    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.devnull
    return home if home.startswith("/") else os.devnull
