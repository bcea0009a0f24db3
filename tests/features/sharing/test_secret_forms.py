from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import product

import pytest

from mcp_agent_mail.features.sharing import redaction
from mcp_agent_mail.features.sharing.redaction import Redactor
from mcp_agent_mail.features.sharing.secret_forms import SECRET_FORMS, SecretForm

_CORE = "Zq8vGKxanaLHVAGtyjqG2cdL0123456789"
_PEM = ("x" * 64 + "\n") * 700
_JOINTS = ("", " ", "-", "_", ".", ":", "\n", "=", "a", '"', '="', ":\n", ": |\n  ", "://", "a@", "\\\n", ";", "=a,b=")
_SHORT, _LONG = 10_000, 40_000
_MOST_TIMES = 12
"""Four is in proportion, and sixteen its square."""
_UNTOLD_S = 0.05
"""Of a long text; what takes less says nothing of how it grows."""
_RUN, _LONGER_RUN = 16 * 1024, 64 * 1024
_CLASSES = "aAf0 -_\n\t\\\u200b"
"""One of each class that a pattern may mean without naming it."""
_EXPRESSIONS = {
    **{f"{number} {form.kind}": form.pattern_of_ascii for number, form in enumerate(SECRET_FORMS)},
    **{f"passed over {number}": one for number, one in enumerate(redaction._PASSED_OVER) if one is not None},
    "homes": redaction._HOMES,
    "unseen": redaction._BETWEEN,
    "slugs": redaction._SLUGS,
    "directory": redaction._path("/code/wares/app"),
}


@pytest.mark.parametrize(
    "text",
    [
        f"https://api.telegram.org/bot123456789:AAH{_CORE}/sendMessage",
        *(
            f'"line one{escape}{key}{_CORE}"'
            for escape in ("\\n", "\\t", "\\r", "%3D", "\\u003d", "\\x3d")
            for key in ("sk-proj-", "npm_", "hf_", "sk_live_", "xai-", "123456789:", "fm2_", "EAAB")
        ),
        f"EAAB{_CORE}",
        f"EAAJ{_CORE}",
        f"EAAAE{_CORE}{_CORE}",
        f"FlyV1 fm2_lJPE{_CORE}",
        f"key\\neyJhbGciOiJIUzI1NiJ9.{_CORE}.{_CORE}",
        f"eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..abcdefGHIJ.{_CORE}.abc",
        f"-----BEGIN RSA PRIVATE KEY-----\n{_PEM}{_CORE}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\nno end\n-----BEGIN PRIVATE KEY-----\n{_PEM}{_CORE}\n-----END PRIVATE KEY-----",
        f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{_CORE}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    ],
)
def test_keys_are_found_in_their_usual_surroundings(text: str) -> None:
    assert _CORE not in Redactor({}).text(text)


@pytest.mark.parametrize(
    "text",
    [
        "password:            hunter2xyz",
        "password            = hunter2xyz",
        "| db_password                                        | hunter2xyz |",
        "password:\u00a0hunter2xyz",
        "password\u00a0=\u2003hunter2xyz",
        "password\uff1ahunter2xyz",
        "password: |\n  first line\n  hunter2xyz",
        "password: >-\r\n  hunter2xyz",
        "password: >-\n  first\n\n \n  hunter2xyz",
        "password: |\r\n\r\n  first\r\n\r\n  hunter2xyz",
        *(f"password: {mark}\n    first\n  hunter2xyz" for mark in ("|2", "|2-", ">+2", ">-2", "|  ")),
        "password: | # in two\n  first\n  hunter2xyz",
        "password: |\n" + "  line\n" * 2_000 + "  hunter2xyz",
        *(
            f"password: {said} {value}"
            for said in ("!!str", "!secret", "&a", "&a !!str", "!!str &a", "!<tag:yaml.org,2002:str>")
            for value in ("hunter2xyz", "'some hunter2xyz'", "|\n  hunter2xyz", ">-\n  first\n\n  hunter2xyz")
        ),
        "password: !!binary |\n  hunter2xyz",
        "password: &a\n  hunter2xyz",
        "password='aaa'\"some hunter2xyz\"",
        'password="aaa"\'some hunter2xyz\'"b"',
        "password='aaa'hunter2xyz",
        "password=''\"some hunter2xyz\"",
        'password = "aaa" "some hunter2xyz"',
        "password = 'aaa' + \"some hunter2xyz\"",
        "password = 'aaa' . 'some hunter2xyz'",
        "password = 'aaa' \\\n    'some hunter2xyz'",
        'password: str | None = "some hunter2xyz"',
        'const TOKEN: &\'static str = "some hunter2xyz";',
        "export PWD=hunter2xyz",
        "PWD=/code/app&hunter2xyz",
        "export DB_PASS=hunter2xyz",
        "SMTP_PASS: hunter2xyz",
        "PASS=hunterxyz",
        "connection_pass = hunterxyz",
        "MYSQL_ROOT_PASS_PROD='aaa'\"some hunter2xyz\"",
        "dbPass: 'some hunterxyz'",
        "jsonPass: hunterxyz",
        "| smtp-pass | hunterxyz |",
        "auth: {user: 'joe', pass: 'hunter2xyz'}",
        '{"user": "joe", "pass": "hunter2xyz"}',
        "https://h/?user=joe&pass=hunter2xyz",
        "mysqldump --pass hunterxyz",
        "import --connection-pass=hunterxyz",
        "openssl rsa -passin pass:hunterxyz",
        "Server=h;Uid=sa;Pwd=/code/hunter2xyz",
        "password:\n  hunterxyz",
        "password:\n  hunter2xyz\nuser: joe",
        "> password:\n> hunter2xyz",
        "The password:\n\n```text\nhunter2xyz\n```",
        '{"password":\n  "hunter2 xyz", "a": 1}',
        "mysql --password      hunter2xyz",
        "mysql --password \\\n  hunter2xyz",
        "Cookie: theme=dark; sid=hunter2xyz",
        "curl -H 'Cookie: theme=\"dark\"; sid=hunter2xyz' https://h/",
        'Authorization: Digest username="u", response="hunter2xyz"',
        '{"Authorization": "Digest username=\\"u\\", response=\\"hunter2xyz\\""}',
        "Authorization: AWS4-HMAC-SHA256 Credential=x/y, SignedHeaders=host;z, Signature=hunter2xyz",
        "sent AWS4-HMAC-SHA256 Credential=x/y, Signature=hunter2xyz",
        "Authorization: Api-Key hunter2xyz",
        'authorization => "Token hunter2xyz"',
        'password = f"some hunter2xyz"',
        "password = b'some hunter2xyz'",
        'password = """some\nhunter2xyz"""',
        "password = 'it''s hunter2xyz'",
        "password: ``some hunter2xyz``",
        "postgres://app:pa/hunter2xyz@db.test/x",
        "https://me@corp.test:hunter2xyz@git.test/x",
        f"password={'a' * 5000}hunter2xyz",
    ],
)
def test_values_are_found_however_they_are_put_to_their_names(text: str) -> None:
    shown = Redactor({}).text(f"See:\n{text}\nand on")

    assert "xyz" not in shown
    assert shown.startswith("See:\n")
    assert shown.endswith("\nand on")


@pytest.mark.parametrize(
    "text",
    [
        "if not token:\n        return\n",
        "class Secret:\n    pass\n",
        'class Token:\n    """What proves who calls."""\n',
        "The token:\nthen we go on",
        "About the password:\n\n- it is long\n- it is new",
        "password:\n  valueFrom:\n    name: x",
        "the cookie:\n```python\nimport os\n```",
        "http://localhost:8080/@scope/package and http://[::1]:8080/@fs/x and http://localhost:${PORT}/@vite",
        "git@github.com:acme/app.git and ssh://git@github.com:22/acme/app@v1",
        "C:\\task-management-system-two and /new/risk-management-system-two",
        "EAABLE and XEAABcdefghijklmnopqrstuvwxyz",
        "-----------------------------------------------------",
        "--- a/secret.py\n+++ b/secret.py",
        "a monkeyJar.x and key.py",
        "cookies are eaten; so it is",
        "cd $PWD; PWD=/code/app/src OLDPWD=/code",
        "password: |\n\n\nuser: joe",
        "PASS=12 FAIL=3, PASS=12/15, PASS: test_one2, tests_pass: 12, TEST_PASS=1, pass=True",
        "first_pass = 3; FIRST_PASS=full; bypass: yes; a compass: north; multipass: x; a pass: the second",
        "renderPass: GPURenderPass = x; const shadowPass = encoder.begin(a); compute_pass = b; onPass: go",
        '{"pass": true, "last_pass": "dce", "pass": 12, "smtp_pass": null}',
        "clang --single-pass file.c --all-pass yes",
        "if db_pass:\n    pass\n",
        "user_pass = decoded(errors) and ROWS_PER_PASS = 2_000; steps_a_pass: int; core.askPass=x",
    ],
)
def test_plain_words_and_programs_stay(text: str) -> None:
    assert Redactor({}).text(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password: >-\n  first\n\n  second\n\nuser: joe", "password: >-\n  REDACTED\n\nuser: joe"),
        ('{"password":"x","user":"joe"}', '{"password":"REDACTED","user":"joe"}'),
        ("curl -d 'password=\"x\"' -H 'a: b'", "curl -d 'password=\"REDACTED\"' -H 'a: b'"),
        ('token = "x" + "; ".join(y)', 'token = "REDACTED" + "; ".join(y)'),
        ('"token: `x`", "- slug: `a_b`"', '"token: `REDACTED`", "- slug: `a_b`"'),
        ('\'token = "x"\\nslug = "a"\'', '\'token = "REDACTED"\\nslug = "a"\''),
        ("cookie: a='b' c='d'", "cookie: REDACTED c='d'"),
        ('the password is "x". "Good", he said', 'the password is "REDACTED". "Good", he said'),
        ('<i data-token="abc"/> <b class="c">', '<i data-token="REDACTED"/> <b class="c">'),
        ("password: &a\n  user: joe\n", "password: REDACTED\n  user: joe\n"),
    ],
)
def test_what_stands_behind_a_value_stays(text: str, shown: str) -> None:
    assert Redactor({}).text(text) == shown


@pytest.mark.parametrize("form", SECRET_FORMS, ids=lambda form: f"{form.kind} {form.needles[0].strip()}")
def test_a_form_takes_time_in_proportion_to_the_text(form: SecretForm) -> None:
    grown = {
        needle + joint: times
        for needle in form.needles
        for joint in _JOINTS
        if (times := _times(form.pattern_of_ascii.finditer, needle + joint)) >= _MOST_TIMES
    }

    assert grown == {}


@pytest.mark.parametrize("said", ["eyJ", "-", "_", "-----BEGIN PRIVATE KEY-----\n", "password=", "](", "a-", "/home/a"])
def test_redaction_takes_time_in_proportion_to_the_text(said: str) -> None:
    assert _times(Redactor({"/code/app": "app"}, {"a-a": "b"}).text, f"{said}") < _MOST_TIMES


@pytest.mark.parametrize("name", _EXPRESSIONS)
def test_a_run_of_whatever_an_expression_mentions_takes_time_in_proportion_to_its_length(name: str) -> None:
    expression = _EXPRESSIONS[name]

    grown = {
        said: times
        for said in map("".join, product(_mentioned(expression), repeat=2))
        if (times := _times(expression.finditer, said, _RUN, _LONGER_RUN)) >= _MOST_TIMES
    }

    assert grown == {}


def _mentioned(expression: re.Pattern[str]) -> list[str]:
    """The characters that its pattern holds, of letters and digits one for all."""
    return sorted({*_CLASSES, *(one for one in expression.pattern if not one.isalnum())})


def _times(work: Callable[[str], Iterable[object]], said: str, short: int = _SHORT, long: int = _LONG) -> float:
    """How much longer a text of `long` characters takes than one of `short`, a fourth of it; 0 where the square of what
    the short one takes would be too little to tell.
    """
    if _cost(work, said, short) * (long / short) ** 2 < _UNTOLD_S or _cost(work, said, long) < _UNTOLD_S:
        return 0
    longer, shorter = (min(_cost(work, said, length) for _ in range(3)) for length in (long, short))
    return longer / shorter


def _cost(work: Callable[[str], Iterable[object]], said: str, length: int) -> float:
    """Seconds of this process alone."""
    text = (said * (length // len(said) + 1))[:length]
    begin = time.process_time()
    deque(work(text), maxlen=0)
    return max(1e-6, time.process_time() - begin)
