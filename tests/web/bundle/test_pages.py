from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from mcp_agent_mail.features.sharing.results import SharedPreset
from mcp_agent_mail.features.sharing.verify import verify_bundle
from mcp_agent_mail.web.bundle.pages import thread_key
from mcp_agent_mail.web.bundle.text import text_of
from tests.features.sharing.planted_secrets import EVERY_PLACE, FORMS, PlantedSecret, planted, split_by_markdown
from tests.given_mail import GivenMail, all_text

_LEFT_OF_IT = 9
_PUT_BETWEEN = re.compile(r"[*_~`\\\s\u200b\u2060]|\\u200b|\\u2060")


def _plant(given: GivenMail, secrets: list[PlantedSecret]) -> None:
    """Each in one of the places that peers fill."""
    for number, secret in enumerate(secrets):
        place = number // len(FORMS)
        line = secret.told.replace("\n", "\\n")
        if place == 0:
            given.send([given.red], subject=f"see {line[:400]}", body=f"All of it:\n\n{secret.told}\n\nDone.")
        elif place == 1:
            body = f"It is {split_by_markdown(secret, number)} there.\n\n> {split_by_markdown(secret, number + 1)}"
            given.send([given.red], body=body)
        elif place == 2:
            name = f"{line.replace('/', ' ')[:190]}"
            carried = given.attachment(f"notes\n{secret.told}\n".encode(), name if "//" not in line else "a.txt")
            given.send([given.red], body=f"| it | is |\n|---|---|\n| here | {line} |\n", attachments=[carried])
        else:
            agent = given.harness.add_agent(given.app, f"Agent{number}")
            given.harness.describe(given.app, agent, f"Works with {secret.told}")
            given.send([agent], body=f"```sh\n{secret.told}\n```\n[a]({line})", thread=f"T-{number}")


def _left(secret: PlantedSecret, text: str) -> bool:
    """Whether nine characters in a row of its core are anywhere."""
    core = secret.core
    return any(core[at : at + _LEFT_OF_IT] in text for at in range(len(core) - _LEFT_OF_IT + 1))


def test_of_planted_secrets_of_every_form_none_is_in_the_bundle(given: GivenMail, tmp_path: Path) -> None:
    secrets = list(planted(EVERY_PLACE * len(FORMS)))
    _plant(given, secrets)

    given.export(tmp_path / "out")

    text = all_text(tmp_path / "out")
    seen = "\n".join(text_of(path.read_text()) for path in (tmp_path / "out").rglob("*.html"))
    looked = [text, seen, _PUT_BETWEEN.sub("", seen), _PUT_BETWEEN.sub("", text)]
    assert len({secret.form for secret in secrets}) == len(FORMS)
    assert text.count("REDACTED") > len(secrets)
    assert [(one.form, one.told) for one in secrets if any(_left(one, text) for text in looked)] == []


def test_under_strict_neither_bodies_nor_attachments_are_there_nor_in_the_search(
    given: GivenMail, tmp_path: Path
) -> None:
    carried = given.attachment(b"zebra inside", "quagga.txt")
    given.send([given.red], subject="Okapi", body="a giraffe", attachments=[carried])

    given.export(tmp_path / "whole")
    given.export(tmp_path / "strict", preset=SharedPreset.STRICT)

    whole, strict = all_text(tmp_path / "whole"), all_text(tmp_path / "strict")
    for word in ("giraffe", "zebra", "quagga"):
        assert word in whole
        assert word not in strict
    assert "Okapi" in strict


_HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "</title><script>alert(1)</script>",
    "\u202eevil",
    "../../../etc/passwd",
    "<!--<meta http-equiv=refresh>",
]


def test_hostile_words_in_every_field_are_shown_and_do_nothing(given: GivenMail, tmp_path: Path) -> None:
    for number, hostile in enumerate(_HOSTILE):
        agent = given.harness.add_agent(given.app, f"Agent{number}")
        given.harness.describe(given.app, agent, hostile)
        page = given.attachment(f"<html>{hostile}</html>".encode(), hostile, "text/html")
        body = f"{hostile}\n\n[{hostile}](javascript:alert(1))\n\n<iframe src=//x></iframe>"
        given.send([agent], subject=hostile, body=body, thread=hostile, topic=f"t{number}", attachments=[page])

    given.export(tmp_path / "out")

    endings = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert endings == {".html", ".css", ".js", ".json", ".svg", ".woff2", ".txt"}
    for path in (tmp_path / "out").rglob("*.html"):
        html = path.read_text()
        assert "<script>" not in html
        assert not re.search(r"<(?:iframe|svg|img [^>]*onerror)", html)
        attributes = _attributes(html)
        assert [name for name, _ in attributes if name.startswith("on") or name == "style"] == []
        leads = [value or "" for name, value in attributes if name in ("href", "src")]
        assert [one for one in leads if not re.match(r"#main$|\.\./|assets/|[\w-]+(/[\w-]+)*\.html$", one)] == []
        assert "\u202e" not in html
        assert "49" not in re.findall(r"<h1>(.*?)</h1>", html)
        assert html.index("Content-Security-Policy") < html.index("<link")


class _Attributes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("iframe", "object", "embed", "base")
        self.found += attrs


def _attributes(html: str) -> list[tuple[str, str | None]]:
    reader = _Attributes()
    reader.feed(html)
    return reader.found


def test_every_link_of_the_bundle_leads_to_a_file_of_it(given: GivenMail, tmp_path: Path) -> None:
    for number in range(230):
        given.send([given.red], subject=f"S{number}", thread=f"T{number % 210}")
    given.send([given.red], attachments=[given.attachment(b"text", "a.txt")])

    given.export(tmp_path / "out", given.app.human_key, given.lib.human_key)

    for path in (tmp_path / "out").rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)"', path.read_text()):
            assert (path.parent / target).resolve().is_file(), (path, target)
    assert (tmp_path / "out" / "app" / "index-1.html").is_file()
    assert (tmp_path / "out" / "app" / "threads" / "index-1.html").is_file()


def test_pages_of_a_list_hold_each_message_once_newest_first(given: GivenMail, tmp_path: Path) -> None:
    for number in range(330):
        given.send([given.red], subject=f"Subject{number}")
    given.export(tmp_path / "out")

    page, pages, subjects = "index.html", [], []
    while page:
        html = (tmp_path / "out" / "app" / page).read_text()
        pages.append(page)
        subjects += re.findall(r">(Subject\d+)<", html)
        page = "".join(re.findall(r'rel="next" href="([^"]+)"', html))

    assert pages == ["index.html", "index-2.html", "index-1.html"]
    assert subjects == [f"Subject{number}" for number in reversed(range(330))]


def test_one_message_more_changes_few_pages(given: GivenMail, tmp_path: Path) -> None:
    for number in range(330):
        given.send([given.red], subject=f"S{number}", thread="T")
    given.export(tmp_path / "out")
    before = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["files"]

    given.send([given.red], subject="S330", thread="T")
    given.export(tmp_path / "out")

    after = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["files"]
    thread = f"app/threads/{thread_key('T')}-4.html"
    assert set(before) <= set(after)
    assert {path for path in after if after[path] != before.get(path)} == {
        "index.html",
        "app/index.html",
        "app/threads/index.html",
        thread,
        "app/messages/330.html",
        "app/messages/331.html",
        "search/messages-6.json",
        "search/words.json",
    }


def test_the_same_mail_gives_the_same_bytes(given: GivenMail, tmp_path: Path) -> None:
    given.send([given.red], thread="T", body="**bold** and `code`")

    given.export(tmp_path / "one")
    given.export(tmp_path / "two")

    one, two = ((tmp_path / name / "manifest.json").read_bytes() for name in ("one", "two"))
    assert json.loads(one)["files"]
    assert one == two


def test_what_is_exported_is_verified(given: GivenMail, tmp_path: Path) -> None:
    given.send([given.red])

    made = given.export(tmp_path / "out")

    assert verify_bundle(tmp_path / "out", None).files == made.files
