"""Plays the conversation and prints what hooks told of it, and for how many tokens: `python -m tests.e2e.hook_talk`.

With the dependency group `tokens` (`make hook-talk`) tokens are counted; else four bytes are taken for one. Ends with 1
where an item was not told at its slot once, a turn without mail was told anything, or a turn was told more than 400
tokens on average.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

from tests.e2e.hook_talk.talk import TURNS, Talk, Tokens, TooBusy
from tests.server.token_counts import encoding

MOST_ON_AVERAGE = 400
EX_TEMPFAIL = 75


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.hook_talk", description=__doc__.partition(":")[0])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    is_counted = importlib.util.find_spec("tiktoken") is not None
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), given.seed, _tokens() if is_counted else _guessed)
        try:
            talk.play(given.turns)
        except TooBusy as late:
            sys.stderr.write(f"The machine is too busy for this after {len(talk.turns)} turns: {late}. Run it again.\n")
            return EX_TEMPFAIL
    return _show(talk, "" if is_counted else " (guessed: the group tokens is not installed)")


def _tokens() -> Tokens:
    encode = encoding().encode
    return lambda words: len(encode(words))


def _guessed(words: str) -> int:
    return (len(words.encode()) + 3) // 4


def _show(talk: Talk, how: str) -> int:
    tokens = [one.tokens for one in talk.turns]
    silent = [one.tokens for one in talk.turns if not one.has_mail and not one.is_reprimed]
    reprimed = [one.tokens for one in talk.turns if one.is_reprimed]
    told = sum(map(bool, tokens))
    average = sum(tokens) / len(tokens)
    lines = [
        f"{len(tokens)} turns, {talk.events} events, {sum(talk.slots.values())} items told",
        *(f"  {count:4} at {slot}" for slot, count in sorted((+talk.slots).items())),
        f"{sum(tokens):,} tokens injected{how}: {average:.1f} a turn, {max(tokens)} at most",
        f"{told} turns were told anything, {sum(tokens) / max(1, told):.1f} tokens each",
        f"{len(silent)} turns without mail: {sum(silent)} tokens",
        f"{len(reprimed)} turns with a re-prime: {max(reprimed)} tokens at most, mail included",
        f"{len(talk.faults)} faults",
        *(f"  {fault}" for fault in talk.faults),
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if talk.faults or sum(silent) or average > MOST_ON_AVERAGE else 0


if __name__ == "__main__":
    sys.exit(main())
