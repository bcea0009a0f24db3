"""What a setting's text can be: a value, or a refusal that never holds a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import (
    BadValue,
    PathContext,
    Row,
    Secret,
    SettingKind,
    decimal,
    one_of,
    several_of,
    shown,
    size,
    whole,
)

TOKEN = "a-long-and-good-token"
FLAVOUR = one_of("warn", "block", synonyms={"advisory": "warn"})
CLUSTERS = several_of("cluster", ("messaging", "search"))


@pytest.fixture
def context(tmp_path: Path) -> PathContext:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "file").touch()
    return PathContext(folder=tmp_path / "home", home=tmp_path / "home")


def test_a_secret_is_compared_whole() -> None:
    secret = Secret(TOKEN)

    assert [secret.matches(TOKEN), secret.matches(TOKEN[:-1]), secret.matches("\udcff")] == [True, False, False]
    assert TOKEN not in f"{secret!r}{secret}"


def test_a_secret_is_a_value_like_any_other() -> None:
    assert Secret(TOKEN) == Secret(TOKEN) != Secret(TOKEN + "x")
    assert Secret(TOKEN) != TOKEN
    assert (len(Secret(TOKEN)), len({Secret(TOKEN), Secret(TOKEN)})) == (len(TOKEN), 1)
    assert Secret(TOKEN).reveal() == TOKEN


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.BOOL, "Yes", True),
        (kinds.BOOL, "off", False),
        (kinds.YES_NO_AUTO, "Auto", "auto"),
        (kinds.YES_NO_AUTO, "1", "true"),
        (kinds.YES_NO_AUTO, "Off", "false"),
        (whole(1, 10), "+7", 7),
        (whole(-5, 10), "-5", -5),
        (decimal(0, 2), "1.5", 1.5),
        (size("1KiB", "2MiB"), "2 mib", 2**21),
        (size("1KiB", "2MiB"), "1024", 1024),
        (FLAVOUR, "BLOCK", "block"),
        (FLAVOUR, "Advisory", "warn"),
        (one_of("INFO", "DEBUG", upper=True), "debug", "DEBUG"),
        (CLUSTERS, " Search, messaging ,search,", ("search", "messaging")),
        (kinds.GIT_IDENTITY, "Ann Lee", "Ann Lee"),
        (kinds.ADDRESS, "LocalHost", "localhost"),
        (kinds.ADDRESS, "[::1]", "::1"),
        (kinds.URL_PATH, "/mail/mcp/", "/mail/mcp"),
        (kinds.HOSTS, "A.example, [::1]:80,a.example", ("a.example", "[::1]:80")),
        (kinds.GLOBS, "a*, b?,a*,", ("a*", "b?")),
        (kinds.URL, "HTTPS://mail.example/mcp", "HTTPS://mail.example/mcp"),
        (kinds.SHARED_URL, "grpc://else", "grpc://else"),
        (kinds.SECRET, TOKEN, Secret(TOKEN)),
        (kinds.PATH_OR_SLUG, "code-app", "code-app"),
    ],
)
def test_a_text_of_its_kind_is_a_value(kind: SettingKind, text: str, value: object, context: PathContext) -> None:
    assert kind.parse(text, context) == value


@pytest.mark.parametrize(
    ("kind", "text", "hint"),
    [
        (kinds.BOOL, "maybe", ""),
        (whole(1, 10), "7.5", "Write digits only."),
        (whole(1, 10), "11", ""),
        (decimal(0, 2), "1e1", "Write digits, with a point"),
        (decimal(0, 2), "2.5", ""),
        (size("1KiB", "2MiB"), "1KB", "Units are KiB"),
        (size("1KiB", "2MiB"), "lots", "Units are KiB"),
        (size("1KiB", "2MiB"), "1", ""),
        (FLAVOUR, "stop", ""),
        (CLUSTERS, "serch", "'serch' is no cluster. Did you mean search?"),
        (CLUSTERS, "xyz", "'xyz' is no cluster."),
        (kinds.WORD, "two words", ""),
        (kinds.GIT_IDENTITY, "Ann <a@b>", "Git cannot store"),
        (kinds.GIT_IDENTITY, "Ann\x7f", "control character"),
        (kinds.FOLDER, "a\tb", "control character"),
        (kinds.FOLDER, "~ann/x", "Only your own home"),
        (kinds.FOLDER, "file", "There is a file"),
        (kinds.FILE, ".", "There is a folder"),
        (kinds.SQLITE, "postgresql://db", "other databases are not supported"),
        (kinds.SQLITE, "sqlite://mail", "Write three slashes"),
        (kinds.SQLITE, "sqlite:///", "name just the file"),
        (kinds.SQLITE, "mail.sqlite3?mode=ro", "name just the file"),
        (kinds.ADDRESS, "mail.example", "127.0.0.1 is this machine only"),
        (kinds.URL_PATH, "mcp", "Begin with `/`"),
        (kinds.URL_PATH, "/a..b", "Begin with `/`"),
        (kinds.URL_PATH, "/health/x", "These are taken: /rpc"),
        (kinds.HOSTS, "http://x", "is no host name"),
        (kinds.HOSTS, " , ", ""),
        (kinds.GLOBS, "a\nb", "control character"),
        (kinds.URL, "https://x/y?z", "Leave out what follows"),
        (kinds.SHARED_URL, "x\ny", "control character"),
        (kinds.SECRET, "with blank", "HTTP header"),
        (kinds.PATH_OR_SLUG, "a\nb", "control character"),
    ],
)
def test_any_other_text_is_refused_with_the_hint(kind: SettingKind, text: str, hint: str, context: PathContext) -> None:
    with pytest.raises(BadValue) as refused:
        kind.parse(text, context)

    assert hint in str(refused.value)
    assert bool(hint) is bool(str(refused.value))


def test_paths_start_at_the_folder_or_at_ones_home_and_links_stay(context: PathContext, tmp_path: Path) -> None:
    (tmp_path / "home" / "link").symlink_to(tmp_path)

    assert kinds.FOLDER.parse("a/../b", context) == tmp_path / "home" / "b"
    assert kinds.FOLDER.parse("~", context) == kinds.FOLDER.parse(".", context) == tmp_path / "home"
    assert kinds.FILE.parse("~/mail", context) == tmp_path / "home" / "mail"
    assert kinds.FILE.parse("link/x", context) == tmp_path / "home" / "link" / "x"
    assert kinds.PATH_OR_SLUG.parse("./app", context) == f"{tmp_path}/home/app"


@pytest.mark.parametrize("text", ["mail.sqlite3", "sqlite:///mail.sqlite3", "SQLite+aiosqlite:///mail.sqlite3"])
def test_a_store_is_named_by_its_path_or_its_url(text: str, context: PathContext, tmp_path: Path) -> None:
    assert kinds.SQLITE.parse(text, context) == f"sqlite:///{tmp_path}/home/mail.sqlite3"
    assert kinds.SQLITE.parse("sqlite:////var/x", context) == "sqlite:////var/x"


def test_keys_and_urls_with_passwords_are_secrets(context: PathContext) -> None:
    assert kinds.parse_key("any form", context) == Secret("any form")
    assert kinds.parse_redis_url("redis://me:pw@host", context) == Secret("redis://me:pw@host")
    for parse, text in ((kinds.parse_key, "a\nb"), (kinds.parse_redis_url, "http://hidden")):
        with pytest.raises(BadValue) as refused:
            parse(text, context)
        assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ((), "-"),
        (True, "true"),
        (("a", 1), "a,1"),
        (Secret(TOKEN), "***"),
        ("https://me:pw@x/y", "https://***@x/y"),
        (8765, "8765"),
    ],
)
def test_a_value_is_shown_without_what_is_secret(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_row_is_an_attribute_in_small_letters() -> None:
    row = Row(name="HTTP_PORT", kind=whole(1, 9), default="1", does="is the port", group="HTTP")

    assert row.attribute == "http_port"
