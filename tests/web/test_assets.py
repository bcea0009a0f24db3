from __future__ import annotations

import gzip
import re
from importlib import resources
from pathlib import Path

import pytest

import mcp_agent_mail.web
from mcp_agent_mail.web.assets import PREFIX, asset_set

FOLDER = resources.files("mcp_agent_mail.web") / "assets"
FILES = {file.name: file.read_bytes() for file in FOLDER.iterdir() if file.is_file()}
SCRIPTS = sorted(name for name in FILES if name.endswith(".js"))
LOADED = re.compile(r"(?:url\(|from |import )[\"'](?:\./)?([\w.-]+)[\"']")
"""What a style or a script of ours names beside it."""
MOST_SCRIPT_BYTES = 20 * 1024


def test_an_asset_is_found_at_its_address_alone() -> None:
    assets = asset_set()

    found = assets.find(assets.url("people.css"))

    assert found is not None
    assert found.media_type == "text/css; charset=utf-8"
    assert found.content == FILES["people.css"]


def test_what_every_page_begins_with_is_one_sheet() -> None:
    rules = asset_set().assets["frame.css"].content.decode()

    at = [rules.find((FOLDER / name).read_text()) for name in ("tokens.css", "base.css", "pages.css", "acts.css")]

    assert at[0] == 0
    assert at == sorted(set(at))


def test_text_is_compressed_beforehand_and_fonts_are_that_already() -> None:
    assets = asset_set().assets

    packed = {name for name, one in assets.items() if one.gzip is not None}

    assert all(gzip.decompress(assets[name].gzip or b"") == assets[name].content for name in packed)
    assert all(len(assets[name].gzip or b"") < len(assets[name].content) for name in packed)
    assert {name for name in assets if name.endswith((".css", ".js"))} <= packed


@pytest.mark.parametrize(
    "path",
    [
        *("", "{}", "{}/", "{}/none.css", "{}/../assets.py", "{}/LICENCES.md", "{}/tokens.css", "{}/bundle.js"),
        *("0000000000000000/people.css", "/people.css"),
    ],
)
def test_nothing_is_at_any_other_address(path: str) -> None:
    assets = asset_set()

    assert assets.find(PREFIX + path.format(assets.digest)) is None


def test_an_asset_that_is_not_there_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="none"):
        asset_set().url("none.css")


def test_what_is_served_is_what_pages_load_and_what_that_loads() -> None:
    assets = asset_set().assets
    room = Path(mcp_agent_mail.web.__file__).parent / "templates"
    pages = [page.read_text(encoding="utf-8") for page in room.glob("*.html")]

    loaded = {name for page in pages for name in re.findall(r"asset\('([^']+)'\)", page)}
    new = loaded
    while new:
        texts = [assets[name].content.decode() for name in new if name.endswith((".css", ".js"))]
        new = {name for text in texts for name in LOADED.findall(text)} - loaded
        loaded |= new

    assert set(assets) == loaded


def test_every_file_is_for_pages_or_for_bundles_or_is_the_table_of_licences() -> None:
    frame = {"tokens.css", "base.css", "pages.css", "acts.css"}

    assert set(FILES) - set(asset_set().assets) == {*frame, "bundle.css", "bundle.js", "LICENCES.md"}


def test_what_others_made_is_in_the_table_of_licences() -> None:
    table = (FOLDER / "LICENCES.md").read_text(encoding="utf-8")

    assert [name for name in asset_set().assets if name.endswith(".woff2") and name not in table] == []


def test_every_icon_is_shown_somewhere() -> None:
    drawn = set(re.findall(r'<symbol id="([^"]+)"', (FOLDER / "icons.svg").read_text(encoding="utf-8")))
    room = Path(mcp_agent_mail.web.__file__).parent
    texts = [file.read_text(encoding="utf-8") for kind in ("*.html", "*.py") for file in room.rglob(kind)]
    used = {name for text in texts for name in re.findall(r'icon(?:\(|=)"([^"]+)"|icons\.svg\'\) }}#([\w-]+)', text)}

    assert drawn == {name for pair in used for name in pair if name}


def test_scripts_are_small_enough_to_be_read() -> None:
    assert sum(len(FILES[name]) for name in SCRIPTS if name != "bundle.js") <= MOST_SCRIPT_BYTES


@pytest.mark.parametrize("name", SCRIPTS)
def test_html_becomes_nodes_in_one_place(name: str) -> None:
    text = FILES[name].decode()

    makers = re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|parseFromString|document\.write|\beval\b|new Function|createPolicy",
        text,
    )

    assert not makers or name == "swap.js"


@pytest.mark.parametrize("name", sorted(name for name in FILES if name.endswith((".css", ".js", ".svg"))))
def test_no_asset_asks_another_host(name: str) -> None:
    text = FILES[name].decode()

    assert re.findall(r"(?:url\(|@import|from |src=|import\()\s*[\"']?(?:https?:)?//", text) == []


def test_what_a_style_loads_is_beside_it() -> None:
    for name, content in FILES.items():
        if name.endswith(".css"):
            loaded = re.findall(r"url\([\"']?([^\"')]+)", content.decode())
            assert [one for one in loaded if one.split("#")[0] not in asset_set().assets] == [], name


COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark)\(", re.IGNORECASE
)
NAMED = re.compile(
    r"(?:color|background|fill|stroke|border[a-z-]*|outline|shadow)\s*:[^;}]*"
    r"(?<![\w-])(?:black|white|gr[ae]y|silver|red|green|blue|yellow|orange|purple|navy|teal|pink|brown)\b"
)


def colours_in(sheet: str) -> list[str]:
    return COLOUR.findall(sheet) + NAMED.findall(sheet)


def test_every_colour_is_a_token() -> None:
    sheets = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir() if file.name.endswith(".css")}
    tokens = sheets.pop("tokens.css")

    assert {name: colours_in(sheet) for name, sheet in sheets.items() if colours_in(sheet)} == {}
    assert {found.lower() for found in colours_in(tokens)} == {"light-dark(", "oklch("}
    assert (
        len(colours_in("a { color: white; fill: #fff; border: 1px solid rgb(0 0 0) } .hue-red { --hue: var(--red) }"))
        == 3
    )
