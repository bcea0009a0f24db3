from __future__ import annotations

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from tests.clients.reference_page import PAGE, page


def test_the_page_says_what_the_contracts_say() -> None:
    """After a change: `python -m tests.clients.reference_page`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_client_and_event_stands_on_it() -> None:
    shown = page()

    for client in CLIENTS:
        contract = read_contract(client)
        section = shown.partition(f"\n## {contract['title']}\n")[2].partition("\n## ")[0]
        assert all(f"| `{event}`" in section for event in contract["events"]), client
        assert section.count("documented") + section.count("inferred") + section.count("measured") >= len(
            contract["events"]
        )
