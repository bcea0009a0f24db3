from __future__ import annotations

import pytest

from mcp_agent_mail.features.sharing.redaction import Redactor, without_unseen
from tests.features.sharing.planted_secrets import FORMS, planted


@pytest.fixture
def redactor() -> Redactor:
    return Redactor({"/code/wares/app": "app", "/code/wares": "wares", "/": "root"})


def test_every_form_is_taken_out_and_counted_under_its_kind(redactor: Redactor) -> None:
    for secret in planted(len(FORMS)):
        shown = redactor.text(f"before {secret.told} behind")

        assert secret.core not in shown, secret.form
        assert shown.startswith("before "), secret.form
        assert not redactor.finds(shown), secret.form
    assert {"provider key", "jwt", "private key", "password in a URL", "key=value"} <= set(redactor.counts)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password: hunter2, then", "password: REDACTED, then"),
        ("**password:** hunter2", "**password:** REDACTED"),
        ("postgres://u:p@ss@host/db", "postgres://u:REDACTED@host/db"),
        ("[x](https://h/?token=abcdef)", "[x](https://h/?token=REDACTED)"),
        ('{"password":"a \\" b","x":1}', '{"password":"REDACTED","x":1}'),
        ("ghp_**abcdefghij**klmnopqrstuvwxyz0123", "REDACTED"),
        ("g\u200bhp_abcdefghijklmnopqrstuvwxyz", "REDACTED"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nno end", "REDACTED"),
    ],
)
def test_what_stands_around_a_secret_stays(redactor: Redactor, text: str, shown: str) -> None:
    assert redactor.text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a task-management-system-v2 is here",
        "it used 1,200 tokens: too many",
        "see https://example.com/@someone and mail to a@example.com",
        "def key(value): return value",
        "The secretary passed by.",
        "sha256 0ddc924c04591c2811ca024d62ecad4f7f6f08af8939c211438f48a16bd23602",
    ],
)
def test_plain_words_stay_as_they_are(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text
    assert not redactor.finds(text)


def test_directories_of_this_machine_become_names(redactor: Redactor) -> None:
    shown = redactor.text(
        "see /code/wares/app/src/x.py, /code/wares/lib, /home/joe/y, C:\\Users\\joe\\z and /code/waresX"
    )

    assert shown == "see app/src/x.py, wares/lib, ~/y, ~\\z and /code/waresX"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("file:///home/joe/x vscode://file/home/joe/x", "file://~/x vscode://file~/x"),
        ("cc -I/home/joe/inc -L/code/wares/app/lib", "cc -I~/inc -Lapp/lib"),
        ("/var/home/joe/x /mnt/c/Users/joe/x /c/Users/joe", "~/x ~/x ~"),
        ("%2Fhome%2Fjoe%2Fx file%3A%2F%2F%2Fcode%2Fwares%2Fapp", "~%2Fx file%3A%2F%2Fapp"),
        ("C:/Users/joe/x C%3A%5CUsers%5Cjoe%5Cx \\\\wsl$\\Ubuntu\\home\\joe\\x", "~/x ~%5Cx ~\\x"),
        ('"a\\n/home/joe" "\\/home\\/joe\\/x" "\\n/code/wares/app"', '"a\\n~" "~\\/x" "\\napp"'),
        ("https://h/home/joe ./home/x /srv/home/x a-b/home/x", "https://h/home/joe ./home/x /srv/home/x a-b/home/x"),
        ("https://h/code/wares/app a/code/wares/app", "https://h/code/wares/app a/code/wares/app"),
    ],
)
def test_directories_are_found_however_they_are_written(redactor: Redactor, text: str, shown: str) -> None:
    assert redactor.text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("QuietFox@code-lib, code-lib.", "QuietFox@another, another."),
        ("BlueLake@app and app", "BlueLake@mine and app"),
        ("code-lib-2 and x_code-lib, code-libs", "code-lib-2 and x_code-lib, code-libs"),
    ],
)
def test_slugs_become_names_where_they_stand_as_slugs(text: str, shown: str) -> None:
    assert Redactor({}, {"code-lib": "another", "app": "mine"}).text(text) == shown


def test_unseen_characters_go_between_ascii_alone() -> None:
    assert without_unseen("a\u200bb \U0001f468\u200d\U0001f469 नि\u200dक") == "ab \U0001f468\u200d\U0001f469 नि\u200dक"


@pytest.mark.parametrize(
    ("known", "text", "shown", "count"),
    [
        (("abc12",), "abc12 abc123 xabc12", "REDACTED abc123 xabc12", 1),
        (("abc123",), "abc123 abc1234 xabc123", "REDACTED REDACTED4 xREDACTED", 3),
        (("hunter2", "secret99"), "hunter2secret99", "REDACTEDREDACTED", 2),
        (("hunter2", "ter2secret"), "hunter2secret", "REDACTED", 1),
    ],
)
def test_what_is_known_for_a_secret_goes_wherever_it_stands_but_a_short_one_as_a_word(
    redactor: Redactor, known: tuple[str, ...], text: str, shown: str, count: int
) -> None:
    assert redactor.text(text, known=known) == shown
    assert redactor.counts == {"known": count}
