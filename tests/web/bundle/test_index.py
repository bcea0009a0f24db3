from __future__ import annotations

import json
from pathlib import Path

from mcp_agent_mail.features.sharing.service import ShareRequest
from mcp_agent_mail.web.bundle.index import (
    ENDED,
    LONGEST_WORD,
    MESSAGES_OF_A_FILE,
    MOST_SHARD_BYTES,
    MOST_WORDS,
    SearchIndex,
    digits_of,
    words_of,
)
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


def test_two_digits_of_each_character_are_in_the_name_of_a_list() -> None:
    assert digits_of("cart") == "03010210" + ENDED
    assert digits_of("漢") == "02" + ENDED


def _shards(folder: Path) -> dict[str, dict[str, list[int]]]:
    """Lists of words by what stands behind `words` in their names."""
    found = (folder / "search").glob("words*.json")
    return {path.stem.removeprefix("words"): json.loads(path.read_bytes()) for path in found}


def test_a_search_leads_from_a_word_to_the_message(given: GivenMail, tmp_path: Path) -> None:
    for number in range(150):
        given.send([given.red], subject=f"S{number}", body="quagga" if number in (3, 120) else "zebra")
    given.export(tmp_path / "out")

    found = _shards(tmp_path / "out")[""]["quagga"]
    place, row = divmod(sum(found), MESSAGES_OF_A_FILE)
    rows = json.loads((tmp_path / "out" / "search" / f"messages-{place}.json").read_bytes())

    assert found == [3, 117]
    assert rows[row][1] == "S120"
    assert (tmp_path / "out" / rows[row][0]).is_file()


def _own_words(number: int) -> str:
    """Six hundred that no other number has."""
    return " ".join(f"{letter}{number * 150 + at:05d}" for letter in "qrst" for at in range(150))


def test_lists_of_words_stay_small_and_those_that_begin_alike_lie_together(given: GivenMail, tmp_path: Path) -> None:
    for number in range(40):
        given.send([given.red], body=f"common {_own_words(number)} ca漢{number}")
    given.export(tmp_path / "out")

    shards = _shards(tmp_path / "out")
    listed = (tmp_path / "out" / "index.html").read_text().partition('data-shards="')[2].partition('"')[0].split()

    words = {word: path for path, those in shards.items() for word in those}
    assert len(words) > 24_000
    assert sum(map(len, shards.values())) == len(words)
    assert sorted(listed) == sorted(f"words{path}" for path in shards)
    assert max(path.stat().st_size for path in (tmp_path / "out" / "search").iterdir()) <= MOST_SHARD_BYTES
    assert all(digits_of(word).startswith(path) for word, path in words.items())
    assert [one for one in shards for other in shards if one != other and other.startswith(one)] == []


def test_one_word_that_is_nearly_everywhere_has_a_list_of_its_own(given: GivenMail) -> None:
    given.send([given.red], subject="all")
    index = SearchIndex()
    with given.service() as service:
        message = service.collect(ShareRequest(project_keys=[given.app.human_key])).projects[0].messages[0]
    for _ in range(MOST_SHARD_BYTES // 2):
        index.add(message, "app", "")

    assert {path: len(json.loads(content)) for path, content in index.shards().items() if path.endswith(ENDED)} == {
        digits_of(word): 1 for word in ("all", "bluelake", "redstone")
    }
