from __future__ import annotations

import json
from pathlib import Path

from mcp_agent_mail.web.bundle.index import LONGEST_WORD, MOST_WORDS, shard_of, words_of
from tests.given_mail import GivenMail


def test_words_are_taken_as_the_script_takes_them() -> None:
    assert words_of("The CART_id's ﬁrst; x 漢 Straße " + "y" * 50) == [
        "the",
        "cart_id",
        "first",
        "漢",
        "straße",
        "y" * LONGEST_WORD,
    ]
    assert len(words_of(" ".join(f"w{number}" for number in range(MOST_WORDS + 5)))) == MOST_WORDS


def test_words_that_begin_alike_lie_together() -> None:
    assert shard_of("coupon") == shard_of("cost") == shard_of("co")
    assert len({shard_of(word) for word in ("ab", "ba", "zz", "漢字", "qu", "th")}) > 2


def test_a_search_leads_from_a_word_to_the_message(given: GivenMail, tmp_path: Path) -> None:
    for number in range(150):
        given.send([given.red], subject=f"S{number}", body="quagga" if number in (3, 120) else "zebra")
    given.export(tmp_path / "out")

    found = json.loads((tmp_path / "out" / "search" / f"words-{shard_of('quagga')}.json").read_bytes())["quagga"]
    rows = json.loads((tmp_path / "out" / "search" / "messages-1.json").read_bytes())

    assert found == [3, 117]
    assert rows[20][1] == "S120"
    assert (tmp_path / "out" / rows[20][0]).is_file()
