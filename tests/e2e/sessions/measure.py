"""Plays the sessions and counts what they cost, in turns, characters and tokens.

Tokens need the tokenizer of the dependency group `tokens` (as `make tokens` does); without it they are None.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.e2e.sessions import conflict, forgotten, product, swarm
from tests.e2e.sessions.player import Cost
from tests.served import Served
from tests.server.token_counts import encoding

ROOT = Path(__file__).parents[3]
MOST = 0.7
"""Of what a session cost before."""
BEFORE, AFTER = (Path(__file__).with_name(f"{name}.json") for name in ("before", "after"))
SESSIONS: dict[str, Callable[[Served, Cost, str], None]] = {
    "conflict": conflict.play,
    "forgotten": forgotten.play,
    "product": product.play,
    "swarm": swarm.play,
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one session; `most_extra_turns` is what its dearest mistake cost beyond the call that was meant."""

    turns: int
    characters: int
    tokens: int | None
    mistakes: int
    most_extra_turns: int


def play(name: str, checkout: Path = ROOT, form: str = "json") -> Cost:
    """One session against a server of its own, which runs the code of `checkout`."""
    cost = Cost()
    with (
        tempfile.TemporaryDirectory() as folder,
        Served(Path(folder) / "store", PYTHONPATH=str(checkout / "src")) as server,
    ):
        SESSIONS[name](server, cost, form)
    return cost


def figures_of(cost: Cost) -> Figures:
    return Figures(
        turns=cost.turns,
        characters=cost.characters,
        tokens=_tokens(cost.texts),
        mistakes=len(cost.mistakes),
        most_extra_turns=max(cost.mistakes.values()),
    )


def _tokens(texts: list[str]) -> int | None:
    if find_spec("litellm") is None:
        return None
    encode = encoding().encode
    return sum(len(encode(text)) for text in texts)


def before() -> dict[str, Figures]:
    """By session, as kept in before.json."""
    return kept(BEFORE)


def kept(place: Path) -> dict[str, Figures]:
    """By session, as `keep` wrote them."""
    sessions = json.loads(place.read_text(encoding="utf-8"))["sessions"]
    return {name: Figures(**figures) for name, figures in sessions.items()}


def share(now: Figures, was: Figures) -> float:
    """The larger of what turns, characters and tokens (where both are counted) are of those before."""
    pairs = [(now.turns, was.turns), (now.characters, was.characters)]
    if now.tokens is not None and was.tokens is not None:
        pairs.append((now.tokens, was.tokens))
    return max(one / other for one, other in pairs)


def keep(place: Path, version: str, form: str, figures: dict[str, Figures]) -> None:
    """Write before.json or after.json anew."""
    told = {"version": version, "format": form, "sessions": {name: asdict(one) for name, one in figures.items()}}
    place.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
