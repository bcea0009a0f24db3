"""Serves a bundle on loopback: the files of its manifest and no others, to who asks for this very address.

Whoever made the bundle may be a stranger. Cookies of a host go to all its ports, and those of the pages of this program
are among them: so a page of a bundle gets an origin of its own (`sandbox`), which may set none. It must be let read its
own files then as one from elsewhere, and nothing but that the address cannot be guessed keeps others from them.
"""

from __future__ import annotations

import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.plain_files import UnfitFile, read_plain
from mcp_agent_mail.features.sharing.manifest import BundleManifest, digest_of, read_manifest

_LOOPBACK = "127.0.0.1"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
    "png": "image/png",
    "jpg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "txt": "text/plain; charset=utf-8",
}
_HEADERS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "sandbox allow-scripts allow-forms; form-action 'none'; frame-ancestors 'none'"),
    ("Access-Control-Allow-Origin", "null"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
)
_WITHIN_S = 30
_SECRET_BYTES = 16


class BundleServer(ThreadingHTTPServer):
    """Listens once it is made. Raises Unavailable where the port is taken, UnfitManifest for what is no bundle."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.manifest: BundleManifest = read_manifest(folder)[0]
        self.begin = f"/{secrets.token_urlsafe(_SECRET_BYTES)}/"
        try:
            super().__init__((_LOOPBACK, port), _BundleHandler)
        except OSError as taken:
            raise Unavailable(
                f"Port {port} cannot be used: {taken.strerror}.", hint="Leave --port out: any that is free is taken."
            ) from taken

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away is none of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on as it came

    @property
    def url(self) -> str:
        """Its first page; all others begin so too."""
        return f"http://{_LOOPBACK}:{self.server_address[1]}{self.begin}"


class _BundleHandler(BaseHTTPRequestHandler):
    server: BundleServer
    timeout = _WITHIN_S

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, *_: object) -> None:
        """A preview is quiet."""

    def _answer(self, *, with_body: bool) -> None:
        port = self.server.server_address[1]
        begin = self.server.begin
        is_begun = secrets.compare_digest(self.path[: len(begin)].encode(), begin.encode())
        # A page elsewhere whose name leads here would read the mail otherwise.
        if not is_begun or self.headers.get("Host") not in (f"{_LOOPBACK}:{port}", f"localhost:{port}"):
            self._send(HTTPStatus.FORBIDDEN, b"Open the address that am share preview printed.\n", "txt", with_body)
            return
        path = unquote(urlsplit(self.path).path[len(begin) :]) or "index.html"
        content = self._content(path)
        if content is None:
            self._send(HTTPStatus.NOT_FOUND, b"No such file in this bundle.\n", "txt", with_body)
        else:
            self._send(HTTPStatus.OK, content, path.rpartition(".")[2], with_body)

    def _content(self, path: str) -> bytes | None:
        """As the manifest has it; a file that was changed since is not shown."""
        digest = self.server.manifest.files.get(path)
        if digest is None:
            return None
        try:
            content = read_plain(str(self.server.folder / path), digest.bytes, follow=False)
        except UnfitFile:
            return None
        return content if content is not None and digest_of(content) == digest else None

    def _send(self, status: HTTPStatus, content: bytes, ending: str, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", _TYPES.get(ending, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        for name, value in _HEADERS:
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(content)


def serve_bundle(folder: Path, port: int) -> None:
    """Until interrupted. The address is printed once it answers."""
    with BundleServer(folder, port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stderr.write(visible(f"Showing {folder} to this machine alone; Ctrl-C ends it.\n"))
        server.serve_forever()
