"""The page that goes client by client says of each what its contract says, and leaves none out."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, Contract, read_contract
from mcp_agent_mail.clients.setup.status import persons_part

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "client-by-client.md"
ROWS = ["writes", "left to you", "reaches the model", "refused", "idle", "not guaranteed", "back"]
_MOMENTS = {"after_tool": "after a tool", "turn_end": "at the end of a turn", "turn": "before a turn"}


def sections() -> dict[str, str]:
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {part.split("\n", 1)[0]: part for part in parts[1:]}


def rows(contract: Contract) -> dict[str, str]:
    lines = sections()[contract["title"]].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ", 1)] for line in lines if line.startswith("| ")]
    return {name: said for name, said in cells if name}


def test_every_client_has_a_section_in_the_order_of_the_contracts() -> None:
    assert list(sections()) == [read_contract(client)["title"] for client in CLIENTS]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_section_answers_what_a_reader_asks(client: str) -> None:
    contract = read_contract(client)
    said = rows(contract)

    assert list(said) == ROWS
    files = [row["path"] for part in contract["files"].values() for row in part.values() if row is not None]
    assert [path for path in files if path not in said["writes"]] == []
    assert said["back"] == f"`am setup --client {client} --undo`"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_section_says_what_the_contract_says_of_waking(client: str) -> None:
    contract = read_contract(client)
    wake, said = contract["wake"], rows(contract)["idle"]

    if wake["way"] is None:
        assert said.startswith("woken by nothing")
    elif wake["event"] is None:
        assert said.startswith("woken when ")
    else:
        assert said.startswith("woken by all mail: ")
        assert f"`am hook {client} {wake['event']} --wake`" in said


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_left_to_a_person_is_printed_in_the_pages_words(client: str) -> None:
    contract = read_contract(client)
    said = rows(contract)["left to you"]

    printed = [plain(step) for step in persons_part(contract, has_token=True)]

    assert printed == ([] if said == "nothing" else [plain(said)])


def plain(text: str) -> str:
    """A sentence without its marks and its full stop, and without its first letter, which may be a capital."""
    return text.replace("`", "").rstrip(".")[1:]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_section_names_the_slots_that_the_client_has_and_no_others(client: str) -> None:
    contract = read_contract(client)
    # Copilot's notification stands where a turn would, and tells a session that is idle.
    events = [event for name, event in contract["events"].items() if name != "notification"]
    told = {event["moment"] for event in events if event["tells"] is not None}
    said = rows(contract)["reaches the model"].replace("Before a turn it takes no text", "")

    assert {moment for moment, words in _MOMENTS.items() if words in said} == told


def test_what_is_inferred_of_edits_and_tools_is_said() -> None:
    (line,) = [
        part for part in PAGE.read_text(encoding="utf-8").split("\n- ") if part.startswith("Where an edit's path")
    ]
    named, tools = line.split("(the tools for ", 1)

    for contract in map(read_contract, CLIENTS):
        is_named = contract["title"] in named
        assert is_named == (contract["edits"]["mark"] == "inferred"), contract["title"]
        is_said = is_named or contract["title"] in tools
        assert is_said == (contract["mcp_tool"]["mark"] == "inferred"), contract["title"]
