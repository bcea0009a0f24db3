from __future__ import annotations

import signal
import socket
import threading
from http import HTTPStatus
from types import FrameType

import pytest

from mcp_agent_mail.cli.exit_codes import NoServer, WireError, code_of
from mcp_agent_mail.cli.gateway.http import _MAX_ANSWER_BYTES, HttpGateway, Server, Unreachable
from tests.cli.scripted_server import SILENCE, Scripted, ScriptedServer, answer
from tests.cli.shell import Shell

TLS_HANDSHAKE = 22
"""The first byte of whoever speaks TLS."""


def test_a_tool_is_called_by_its_name_and_a_resource_read_by_its_uri() -> None:
    with ScriptedServer(answer({"id": 1}), answer([])) as server:
        gateway = HttpGateway(Server(url=server.url))

        called = gateway.call("whois", {"agent_name": "Blue"})
        read = gateway.read("resource://projects")

        gateway.close()
    assert (called, read) == ({"id": 1}, [])
    assert [(asked.path, asked.json()) for asked in server.asked] == [
        ("/rpc/whois", {"agent_name": "Blue"}),
        ("/rpc/read_resource", {"uri": "resource://projects"}),
    ]


def test_a_server_below_a_path_is_asked_there() -> None:
    with ScriptedServer(answer({})) as server:
        gateway = HttpGateway(Server(url=f"{server.url}/hub/"))
        gateway.call("whois", {})
        gateway.close()

    assert server.asked[0].path == "/hub/rpc/whois"


def test_tokens_are_shown_when_there_are_any_and_stay_out_of_repr() -> None:
    with ScriptedServer(answer({})) as server:
        known = Server(url=server.url, bearer_token="secret-b", agent_token="secret-a")
        for one in (Server(url=server.url), known):
            gateway = HttpGateway(one)
            gateway.call("whois", {})
            gateway.close()

    nobody, proven = (
        (asked.headers.get("authorization"), asked.headers.get("x-agent-token")) for asked in server.asked
    )
    assert (nobody, proven) == ((None, None), ("Bearer secret-b", "secret-a"))
    assert "secret" not in repr(known)


def test_where_nobody_listens_the_way_to_start_one_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    with pytest.raises(Unreachable) as nobody:
        HttpGateway(Server(url=url)).connect()

    assert nobody.value.message == f"No server answers at {url}: Connection refused."
    assert nobody.value.hint == "Start one with: am serve"


def test_where_nobody_listens_at_an_address_that_was_named_no_second_server_is_advised(shell: Shell) -> None:
    shell.set(AGENT_MAIL_URL="http://127.0.0.1:1/mcp", AGENT_NAME="BlueLake")

    told = [shell.am(*words) for words in (("mail",), ("top", "--once"), ("wait", "BlueLake"), ("projects", "list"))]
    robot = shell.am("robot", "inbox")

    for done in told:
        assert done.code == 69
        assert "Hint: Check AGENT_MAIL_URL, or ask whoever runs that server." in done.err
    assert robot.code == 69
    assert robot.json()["error"]["hint"].startswith("Check AGENT_MAIL_URL")
    assert "am serve" not in "".join(done.out + done.err for done in (*told, robot))


def test_a_server_that_keeps_silent_is_told_and_what_was_asked_may_have_been_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        gateway = HttpGateway(Server(url=url), answer_timeout_s=0.01)

        with pytest.raises(NoServer) as late:
            gateway.call("send_message", {})

    assert late.value.message == f"{url} did not answer in time."
    assert "before you repeat a write" in late.value.hint


def test_a_server_that_stops_before_its_answer_is_told_and_asked_anew_the_next_time() -> None:
    with ScriptedServer(SILENCE, answer("again")) as server:
        gateway = HttpGateway(Server(url=server.url))

        with pytest.raises(NoServer) as stopped:
            gateway.call("send_message", {})
        again = gateway.call("whois", {})

        gateway.close()
    assert stopped.value.message == "The server stopped before it answered."
    assert again == "again"


class Pressed(Exception):
    """What the handler of a signal raises here."""


def test_a_signal_that_does_not_break_the_wait_itself_is_seen_nevertheless() -> None:
    """As the one is that comes in the instant before the wait: here another thread takes it."""

    def press(_signal: int, _frame: FrameType | None) -> None:
        raise Pressed

    seen = threading.Event()
    before = signal.signal(signal.SIGUSR1, press)
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def take_and_hang_up() -> None:
            connection, _ = silent.accept()
            with connection:
                connection.recv(10)
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
                seen.wait(20)

        taker = threading.Thread(target=take_and_hang_up)
        taker.start()
        gateway = HttpGateway(Server(url=f"http://127.0.0.1:{silent.getsockname()[1]}"))
        try:
            with pytest.raises(Pressed):
                gateway.call("whois", {})
        finally:
            gateway.close()
            seen.set()
            taker.join()
            signal.signal(signal.SIGUSR1, before)


def test_an_answer_without_end_is_no_server_of_ours() -> None:
    with ScriptedServer(Scripted(body=b" " * (_MAX_ANSWER_BYTES + 2))) as server:
        gateway = HttpGateway(Server(url=server.url))

        with pytest.raises(WireError) as endless:
            gateway.call("whois", {})

    assert "no agent-mail server (more than a server of ours ever answers)" in endless.value.message


def refusal_of(given: Scripted) -> WireError:
    with ScriptedServer(given) as server:
        gateway = HttpGateway(Server(url=server.url))
        with pytest.raises(WireError) as refused:
            gateway.call("whois", {})
        gateway.close()
    return refused.value


def test_the_servers_own_refusal_keeps_its_code_and_words() -> None:
    refused = refusal_of(answer({"error": {"type": "NOT_FOUND", "message": "No.", "hint": "Look."}}, status=404))

    assert (code_of(refused), refused.message, refused.hint) == ("NOT_FOUND", "No.", "Look.")


@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        (HTTPStatus.UNAUTHORIZED, "AUTHENTICATION_REQUIRED", "AGENT_MAIL_TOKEN"),
        (HTTPStatus.FORBIDDEN, "PERMISSION_DENIED", ""),
        (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "INVALID_INPUT", "Send less"),
        (HTTPStatus.TOO_MANY_REQUESTS, "RATE_LIMITED", "Wait"),
        (HTTPStatus.IM_A_TEAPOT, "UNAVAILABLE", ""),
    ],
)
def test_a_refusal_below_the_tools_has_a_code_by_its_status(status: int, code: str, hint: str) -> None:
    refused = refusal_of(answer({"detail": "No."}, status=status))

    assert (code_of(refused), refused.message) == (code, "No.")
    assert hint in refused.hint


@pytest.mark.parametrize(
    "given",
    [
        Scripted(body=b"<html>"),
        Scripted(body=b"null"),
        Scripted(body=b"[" * 100_000),
        answer([], status=500),
        answer({"error": "words"}, status=500),
    ],
    ids=["no JSON", "nothing", "too deep", "no object", "no error of ours"],
)
def test_what_is_no_answer_of_ours_is_told_with_where_to_look(given: Scripted) -> None:
    refused = refusal_of(given)

    assert code_of(refused) == "UNAVAILABLE"
    assert refused.message == f"What answers there is no agent-mail server (HTTP {given.status})."
    assert "AGENT_MAIL_URL" in refused.hint


def test_an_address_over_tls_is_asked_over_tls() -> None:
    heard = bytearray()

    def hear() -> None:
        connection, _ = plain.accept()
        with connection:
            heard.extend(connection.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as plain:
        listener = threading.Thread(target=hear)
        listener.start()

        with pytest.raises(Unreachable):
            HttpGateway(Server(url=f"https://127.0.0.1:{plain.getsockname()[1]}")).connect()

        listener.join()
    assert heard == bytes([TLS_HANDSHAKE])


def test_an_attachment_is_downloaded_piece_by_piece_by_project_and_digest() -> None:
    content = bytes(range(256)) * 2_000
    with ScriptedServer(Scripted(body=content)) as server:
        gateway = HttpGateway(Server(url=f"{server.url}/hub", bearer_token="secret-b"))
        pieces = list(gateway.download("code-app", "0f" * 32))
        gateway.close()

    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", f"/hub/attachments/code-app/{'0f' * 32}")
    assert asked.headers["authorization"] == "Bearer secret-b"
    assert len(pieces) > 1
    assert b"".join(pieces) == content


def test_a_download_that_is_refused_says_why() -> None:
    refusal = {"error": {"type": "NOT_FOUND", "message": "No attachment.", "hint": "Copy it.", "data": {}}}
    with ScriptedServer(answer(refusal, status=404)) as server, pytest.raises(WireError) as refused:
        list(HttpGateway(Server(url=server.url)).download("code-app", "x/../y"))

    assert code_of(refused.value) == "NOT_FOUND"
    assert server.asked[0].path == "/attachments/code-app/x/../y"


def test_a_page_is_read_as_text_up_to_a_bound() -> None:
    page, refusal = Scripted(body=b"calls 7\n"), answer({"detail": "No."}, status=401)
    with ScriptedServer(page, page, refusal) as server:
        gateway = HttpGateway(Server(url=f"{server.url}/hub", bearer_token="secret-b"))
        text = gateway.page("/metrics", at_most=100)
        with pytest.raises(WireError, match="no agent-mail server"):
            gateway.page("/metrics", at_most=3)
        with pytest.raises(WireError, match="AGENT_MAIL_TOKEN is not valid at http"):
            gateway.page("/metrics", at_most=100)
        gateway.close()

    assert text == "calls 7\n"
    assert (server.asked[0].method, server.asked[0].path) == ("GET", "/hub/metrics")
    assert server.asked[0].headers["authorization"] == "Bearer secret-b"


def test_a_page_of_a_server_that_stops_is_told() -> None:
    with ScriptedServer(SILENCE) as server:
        gateway = HttpGateway(Server(url=server.url))
        with pytest.raises(NoServer):
            gateway.page("/metrics", at_most=100)
        gateway.close()
