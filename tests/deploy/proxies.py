"""Real proxies with the configuration of deploy/: other ports, a certificate of the test's own, all else as it is."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.deploy.programs import require_program
from tests.pages.blocks import ROOT
from tests.served import pause

HOST = "mail.example.org"
NGINX = ROOT / "deploy" / "nginx" / "agent-mail.conf"
CADDYFILE = ROOT / "deploy" / "caddy" / "Caddyfile"
_BEGINNING_BYTES = 64 * 1024
"""Caddy sends no head on before something of the body has come."""
_PRINTED = "127.0.0.1:8765"
_AROUND_NGINX = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/agent-mail.conf;
}}
"""
_OF_CADDY = "{\n\t# A stop"
_MORE_OF_CADDY = """\
{{
	admin off
	auto_https disable_redirects
	storage file_system {folder}/storage
	# A stop"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _replaced(text: str, changes: dict[str, str]) -> str:
    for before, after in changes.items():
        assert before in text, f"the file says it no more: {before}"
        text = text.replace(before, after)
    return text


def make_certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={HOST} -addext subjectAltName=DNS:{HOST}".split()
    subprocess.run(
        [require_program("openssl"), *words, "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return certificate, key


def nginx_command(folder: Path, port: int, upstream: int) -> list[str]:
    certificate, key = make_certificate(folder)
    changes = {
        _PRINTED: f"127.0.0.1:{upstream}",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "    listen [::]:80;\n": "",
        f"/etc/letsencrypt/live/{HOST}/fullchain.pem": str(certificate),
        f"/etc/letsencrypt/live/{HOST}/privkey.pem": str(key),
    }
    (folder / "agent-mail.conf").write_text(_replaced(NGINX.read_text(), changes))
    (folder / "nginx.conf").write_text(_AROUND_NGINX.format(folder=folder))
    options = {"-p": folder, "-c": folder / "nginx.conf", "-e": folder / "error.log"}
    return [require_program("nginx"), *(str(word) for option in options.items() for word in option)]


def caddy_command(folder: Path, port: int, upstream: int) -> list[str]:
    certificate, key = make_certificate(folder)
    changes = {
        f"reverse_proxy {_PRINTED}": f"reverse_proxy 127.0.0.1:{upstream}",
        _OF_CADDY: _MORE_OF_CADDY.format(folder=folder),
        f"\n{HOST} {{\n": f"\n{HOST}:{port} {{\n\ttls {certificate} {key}\n",
    }
    (folder / "Caddyfile").write_text(_replaced(CADDYFILE.read_text(), changes))
    return [require_program("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


COMMANDS = {"nginx": nginx_command, "caddy": caddy_command}


class Proxied:
    """A proxy that listens; `connect` gives a connection as a client elsewhere has it."""

    def __init__(self, folder: Path, port: int) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(folder / "certificate.pem"))

    def connect(self) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection(HOST, self._port, timeout=60, context=self._tls)
        plain = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        connection.sock = self._tls.wrap_socket(plain, server_hostname=HOST)
        return connection

    def announced(self, path: str, size_bytes: int, **headers: str) -> tuple[int, bytes]:
        """What comes back to a request whose body is said to be so large, before more than its beginning was sent."""
        connection = self.connect()
        connection.putrequest("POST", path, skip_host=True)
        for name, value in {"Host": HOST, "Content_Length": str(size_bytes), **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(b" " * _BEGINNING_BYTES)
        response = connection.getresponse()
        read = response.read()
        connection.close()
        return response.status, read

    def answer(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        connection = self.connect()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Host": HOST, **named})
        response = connection.getresponse()
        read = response.read()
        connection.close()
        return response.status, read


@contextmanager
def proxied(kind: str, folder: Path, upstream: int) -> Iterator[Proxied]:
    port = free_port()
    command = COMMANDS[kind](folder, port, upstream)
    log = folder / "proxy.log"
    with log.open("wb") as output:
        proxy = subprocess.Popen(
            command, stdout=output, stderr=output, cwd=folder, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        )
    try:
        while not _listens(port):
            assert proxy.poll() is None, log.read_text()
            pause()
        yield Proxied(folder, port)
    finally:
        proxy.terminate()
        proxy.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps([[name.lower(), value] for name, value in self.headers.items()]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Nothing."""


@contextmanager
def echoing() -> Iterator[int]:
    """The port of a server that answers with the headers that reached it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
