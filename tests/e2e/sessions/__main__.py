"""Plays the sessions and prints what they cost beside what they cost before: `python -m tests.e2e.sessions`.

Ends with 1 where one costs more than seven tenths of what it did. With the dependency group `tokens` (`make sessions`)
tokens are counted, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.e2e.sessions.measure import (
    AFTER,
    BEFORE,
    MOST,
    ROOT,
    SESSIONS,
    Figures,
    before,
    figures_of,
    keep,
    play,
    share,
)
from tests.e2e.sessions.page import PAGE, page
from tests.e2e.sessions.player import Cost


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.sessions", description=__doc__.partition(":")[0])
    parser.add_argument("--server", type=Path, default=ROOT, metavar="CHECKOUT", help="whose code the server runs")
    parser.add_argument("--format", choices=("json", "md"), default="json", help="of the agents' connections")
    parser.add_argument("--mistakes", action="store_true", help="the extra turns of each mistake, too")
    parser.add_argument("--keep-before", action="store_true", help=f"write {BEFORE.name} from this run")
    parser.add_argument("--keep-after", action="store_true", help=f"write {AFTER.name} and its page from this run")
    given = parser.parse_args()
    known = {} if given.keep_before else before()
    played: dict[str, Figures] = {}
    for name in SESSIONS:
        cost = play(name, given.server, given.format)
        played[name] = figures_of(cost)
        _show(name, played[name], known.get(name))
        if given.mistakes:
            _show_mistakes(cost)
    if given.keep_before:
        keep(BEFORE, _version(given.server), given.format, played)
    if given.keep_after:
        keep(AFTER, _version(given.server), given.format, played)
        PAGE.write_text(page(), encoding="utf-8")
    is_dear = any(share(played[name], was) > MOST for name, was in known.items())
    return 1 if is_dear else 0


def _show(name: str, now: Figures, was: Figures | None) -> None:
    shares = "" if was is None else f"   {_of(now.turns, was.turns)}   {_of(now.characters, was.characters)}"
    tokens = "not counted" if now.tokens is None else f"{now.tokens:,}"
    if was is not None and now.tokens is not None and was.tokens is not None:
        shares += f"   {_of(now.tokens, was.tokens)}"
    sys.stdout.write(
        f"{name:10} {now.turns:4} turns {now.characters:8,} characters, tokens {tokens}; "
        f"{now.mistakes} mistakes, the dearest {now.most_extra_turns} extra{shares}\n"
    )


def _of(now: int, was: int) -> str:
    return f"{now / was:.2f} of {was:,}"


def _show_mistakes(cost: Cost) -> None:
    for what, extra in cost.mistakes.items():
        sys.stdout.write(f"  {extra} {what}\n")


def _version(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "log", "-1", "--format=%h", "--", "src"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
