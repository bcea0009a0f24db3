from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.architecture.docs_coverage import Offer, offers, undocumented
from tests.architecture.trees import ROOT, add, copy_of_the_sources


def test_everything_on_offer_stands_in_the_reference() -> None:
    assert undocumented(ROOT) == []


def test_what_the_code_offers_is_found() -> None:
    found = set(offers(ROOT))

    surface = json.loads((ROOT / "tests" / "golden" / "surface.json").read_text(encoding="utf-8"))
    assert {offer.name for offer in found if offer.kind == "tool"} >= surface["tools"].keys()
    assert {
        Offer("resource", "resource://config/environment"),
        Offer("command", "am serve"),
        Offer("command", "am mail inbox"),
        Offer("command", "am token reissue"),
        Offer("command", "am demo"),
        Offer("setting", "HTTP_PORT"),
        Offer("error", "NOT_FOUND"),
        Offer("error", "INTERNAL"),
    } <= found


_UNSAID = [
    ("features/messaging/tools.py", "tool(whisper, cluster='messaging', title='t')", Offer("tool", "whisper")),
    (
        "features/messaging/resources.py",
        "resource(whisper, uri='resource://whispers/{agent}{?limit}')",
        Offer("resource", "resource://whispers/{agent}{?limit}"),
    ),
    (
        "cli/commands/mail.py",
        "@app.command('whisper')\ndef whisper() -> None: ...",
        Offer("command", "am mail whisper"),
    ),
    ("core/settings/rows.py", "Row(name='WHISPER_ENABLED', group='Mail')", Offer("setting", "WHISPER_ENABLED")),
    ("domain/threads.py", "class TooLoud(Exception):\n    code = 'TOO_LOUD'", Offer("error", "TOO_LOUD")),
]


def test_an_undocumented_offer_is_found(tmp_path: Path) -> None:
    root = copy_of_the_sources(tmp_path)
    shutil.copytree(ROOT / "docs" / "reference", root / "docs" / "reference")
    for module, text, _ in _UNSAID:
        add(root, module, text)

    assert set(undocumented(root)) - set(undocumented(ROOT)) == {offer for *_, offer in _UNSAID}
