"""nginx and Caddy as deploy/ configures them, in front of a real server: streams, bodies, and who a caller is."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.facades.claude_mailbox.routes import MAX_WATCH_S
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES
from mcp_agent_mail.server.transport.web_server import KEEP_ALIVE_S
from tests.deploy.programs import require_program
from tests.deploy.proxies import CADDYFILE, COMMANDS, HOST, NGINX, echoing, nginx_command, proxied
from tests.served import Served

TOKEN = "a-token-of-more-than-sixteen"
FORGED = {
    "X_Forwarded_For": "127.0.0.1",
    "X_Forwarded_Proto": "gopher",
    "X_Forwarded_Host": "forged.example",
    "X_Real_IP": "127.0.0.1",
    "Forwarded": "for=127.0.0.1",
    "Forwarded_For": "127.0.0.1",
    "Via": "1.1 forged",
    "X_Client_IP": "127.0.0.1",
    "True_Client_IP": "127.0.0.1",
    "CF_Connecting_IP": "127.0.0.1",
}
SET = {"x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", "x-forwarded-proto": "https", "x-forwarded-host": HOST}


@pytest.mark.parametrize("page", [NGINX, CADDYFILE])
def test_both_name_the_settings_that_belong_to_them(page: Path) -> None:
    named = set(re.findall(r"^# +([A-Z_]+)=", page.read_text(), re.MULTILINE))

    assert named == {"HTTP_BEARER_TOKEN", "HTTP_ALLOWED_HOSTS", "HTTP_TRUSTED_PROXIES", "HTTP_PUBLIC_URL", "AGENT_AUTH"}


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (NGINX, "proxy_buffering off;"),
        (NGINX, "add_header X-Accel-Buffering no;"),
        (NGINX, "proxy_set_header X-Forwarded-For $remote_addr;"),
        (NGINX, "proxy_next_upstream off;"),
        (CADDYFILE, "flush_interval -1"),
        (CADDYFILE, "header_up X-Real-IP {http.request.remote.host}"),
    ],
)
def test_what_must_not_be_lost_is_there(page: Path, line: str) -> None:
    assert [text.strip() for text in page.read_text().splitlines()].count(line) == 1


@pytest.mark.parametrize(
    ("page", "waits", "body", "keeps"),
    [
        (NGINX, r"proxy_read_timeout (\d+)s", r"client_max_body_size (\d+)m", r"keepalive_timeout (\d+)s"),
        (CADDYFILE, r"response_header_timeout (\d+)s", r"max_size (\d+)MB", r"keepalive (\d+)s"),
    ],
)
def test_a_proxy_waits_longer_takes_more_and_keeps_connections_shorter_than_the_server(
    page: Path, waits: str, body: str, keeps: str
) -> None:
    text = page.read_text()
    (waited,), (taken,), (kept,) = (re.findall(pattern, text) for pattern in (waits, body, keeps))

    assert int(waited) > MAX_WATCH_S
    assert int(taken) * 1_000_000 > MAX_BODY_BYTES
    assert int(kept) < KEEP_ALIVE_S


@pytest.fixture(params=sorted(COMMANDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def mail(tmp_path: Path) -> Iterator[Served]:
    settings = {"HTTP_BEARER_TOKEN": TOKEN, "HTTP_ALLOWED_HOSTS": HOST, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "true"}
    with Served(tmp_path / "root", port=None, **settings) as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key="/code/app")
            for name in ("BlueLake", "GreenStone"):
                connection.call("register_agent", project_key="/code/app", name=name, program="test", model="test")
        yield server


def letter(subject: str) -> dict[str, object]:
    sent = {"sender_name": "BlueLake", "to": ["GreenStone"], "subject": subject, "body_md": "Hello."}
    return {"project_key": "/code/app", **sent}


def next_event(response: http.client.HTTPResponse) -> dict[str, object]:
    while not (line := response.readline()).startswith(b"data:"):
        assert line, "the stream has ended"
    event: dict[str, object] = json.loads(line[len(b"data:") :])
    return event


@pytest.mark.deploy
def test_events_come_through_one_by_one_while_the_stream_is_open(kind: str, mail: Served, tmp_path: Path) -> None:
    with proxied(kind, tmp_path, mail.port) as proxy, mail.connect() as sender:
        listener = proxy.connect()
        path = "/rest/v1/events?project_key=/code/app&agent_name=GreenStone&after=0"
        listener.request("GET", path, headers={"Host": HOST, "Authorization": f"Bearer {TOKEN}"})
        stream = listener.getresponse()
        events = []
        for subject in ("first", "second"):
            sender.call("send_message", **letter(subject))
            events.append(next_event(stream))
        stream.close()
        listener.close()

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert len({json.dumps(event) for event in events}) == 2


@pytest.mark.deploy
def test_a_caller_through_the_proxy_is_from_elsewhere_whatever_it_says(kind: str, mail: Served, tmp_path: Path) -> None:
    headers = {"Content_Type": "application/json"}
    with proxied(kind, tmp_path, mail.port) as proxy:
        bare, _ = proxy.answer("POST", "/rpc/health_check", b"{}", **headers)
        forged, _ = proxy.answer("POST", "/rpc/health_check", b"{}", **headers, **FORGED)
        known, _ = proxy.answer("POST", "/rpc/health_check", b"{}", **headers, Authorization=f"Bearer {TOKEN}")
        figures, _ = proxy.answer("GET", "/metrics", Authorization=f"Bearer {TOKEN}")

    assert (bare, forged, known, figures) == (401, 401, 200, 404)


@pytest.mark.deploy
def test_forwarded_headers_are_the_proxys_alone(kind: str, tmp_path: Path) -> None:
    with echoing() as upstream, proxied(kind, tmp_path, upstream) as proxy:
        status, body = proxy.answer("GET", "/", None, **FORGED)
    got = [(name, value) for name, value in json.loads(body) if name.replace("-", "_") in {n.lower() for n in FORGED}]

    assert status == 200
    assert dict(got) == SET
    assert len(got) == len(SET)


@pytest.mark.deploy
def test_the_largest_body_passes_and_one_that_is_larger_is_refused_by_the_server(
    kind: str, mail: Served, tmp_path: Path
) -> None:
    headers = {"Content_Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    with proxied(kind, tmp_path, mail.port) as proxy:
        largest = proxy.answer("POST", "/rpc/health_check", b"{}".ljust(MAX_BODY_BYTES), **headers)
        larger = proxy.announced("/rpc/health_check", MAX_BODY_BYTES + 1, **headers)

    assert largest[0] == 200, largest
    assert larger[0] == 413
    assert "detail" in json.loads(larger[1])


@pytest.mark.deploy
def test_nginx_finds_nothing_wrong(tmp_path: Path) -> None:
    done = subprocess.run(
        [*nginx_command(tmp_path, 1, 1), "-t"], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr


@pytest.mark.deploy
def test_caddy_finds_nothing_wrong_and_would_write_it_so(tmp_path: Path) -> None:
    caddy, environment = require_program("caddy"), {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    validated, written = (
        subprocess.run([caddy, *words], capture_output=True, text=True, check=False, timeout=60, env=environment)
        for words in (("validate", "--adapter", "caddyfile", "--config", str(CADDYFILE)), ("fmt", str(CADDYFILE)))
    )

    assert validated.returncode == 0, validated.stderr
    assert '"level":"warn"' not in validated.stderr
    assert written.stdout == CADDYFILE.read_text()
