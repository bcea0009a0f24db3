"""Values as people read them: ages, sizes, counts, and the colour of a name."""

from __future__ import annotations

import hashlib

from mcp_agent_mail.core.clock import SECOND, Micros, iso

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "m"))
_MINUTE = 60 * SECOND
_KIB = 1_024
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

HUES = ("red", "orange", "amber", "lime", "green", "teal", "cyan", "blue", "indigo", "violet", "pink", "brown")
_NAMED = {
    **dict.fromkeys(("red", "crimson", "scarlet", "ruby", "rust", "maroon", "coral"), "red"),
    **dict.fromkeys(("orange", "copper", "tangerine", "apricot"), "orange"),
    **dict.fromkeys(("amber", "gold", "golden", "yellow", "saffron", "lemon", "honey"), "amber"),
    **dict.fromkeys(("lime", "olive", "chartreuse"), "lime"),
    **dict.fromkeys(("green", "emerald", "jade", "mossy", "forest"), "green"),
    **dict.fromkeys(("teal", "turquoise", "mint", "aqua"), "teal"),
    **dict.fromkeys(("cyan", "silver", "white", "frosty", "icy"), "cyan"),
    **dict.fromkeys(("blue", "azure", "sapphire", "cobalt", "navy"), "blue"),
    **dict.fromkeys(("indigo", "black", "gray", "grey", "dark"), "indigo"),
    **dict.fromkeys(("violet", "purple", "lavender", "lilac", "plum"), "violet"),
    **dict.fromkeys(("pink", "rose", "magenta", "fuchsia"), "pink"),
    **dict.fromkeys(("brown", "bronze", "chocolate", "tan", "sandy"), "brown"),
}


def hue_of(name: str) -> str:
    """The hue that a name says (BlueLake is blue), else one that is always the same for it."""
    lowered = name.casefold()
    for word, hue in _NAMED.items():
        if lowered.startswith(word):
            return hue
    return HUES[hashlib.sha256(lowered.encode("utf-8", "surrogatepass")).digest()[0] % len(HUES)]


def initials_of(name: str) -> str:
    """Of a name in capitals its capitals, else its beginning: two letters at most."""
    capitals = [letter for letter in name if letter.isupper()]
    return "".join(capitals[:2]) if len(capitals) > 1 else name[:2].title()


def age(since: Micros, now: Micros) -> str:
    """How long ago: `now`, `5m`, `3h`, `12d`; beyond a year the date."""
    seconds = max(0, now - since) // SECOND
    if seconds >= 365 * 86_400:
        return iso(since)[:10]
    for size, unit in _STEPS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def left(until: Micros, now: Micros) -> str:
    """How long there is yet, in two units at most: `4m`, `1h 49m`, `6d 23h`. A minute that has begun counts: what was
    given for 30 days has 30 days left.
    """
    if until - now < _MINUTE:
        return "under 1m"
    minutes = -(-(until - now) // _MINUTE)
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((days, "d"), (hours, "h"), (minutes, "m"))
    first = next(place for place, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number}{unit}" for number, unit in parts[first : first + 2] if number)


def moment(at: Micros) -> str:
    """`2026-11-28 17:46:05 UTC`."""
    return f"{iso(at)[:19].replace('T', ' ')} UTC"


def clock(at: Micros, now: Micros) -> str:
    """`28 Nov 17:46 UTC`, with the year where that is another one than now's."""
    written = iso(at)
    day = f"{int(written[8:10])} {_MONTHS[int(written[5:7]) - 1]}"
    year = "" if written[:4] == iso(now)[:4] else f" {written[:4]}"
    return f"{day}{year} {written[11:16]} UTC"


def size(number: int) -> str:
    """`512 B`, `12 KiB`, `3.4 MiB`."""
    value = float(number)
    for unit in ("B", "KiB", "MiB"):
        if value < _KIB:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= _KIB
    return f"{value:.1f} GiB"


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 message`, `1,204 messages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
