"""The queue server's protocol over HTTP: one connection per use, bounded waits, errors by their code."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
from typing import Any, Dict, Iterator, Mapping, Optional
from urllib.parse import urlsplit

DEFAULT_URL = "http://127.0.0.1:9500"
_LONGEST_ANSWER = 64 * 1024 * 1024


class QueueError(Exception):
    """The server refused a request; ``code`` is stable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Unreachable(Exception):
    """The server is unreachable or busy: the same request may succeed in a moment."""


class Client:
    """A connection that opens on demand, and again after a failure. For one thread at a time."""

    def __init__(self, url: Optional[str], token_file: Optional[str]) -> None:
        self.url = (url or os.environ.get("HOLDFAST_QUEUE_URL") or DEFAULT_URL).rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"{self.url!r} is not the address of a queue server, such as http://queue:9500")
        self._parts = parts
        self._token_file = token_file or os.environ.get("HOLDFAST_QUEUE_TOKEN_FILE") or None
        self._connection: Optional[http.client.HTTPConnection] = None

    def ask(self, path: str, body: Mapping[str, Any], timeout: float) -> Dict[str, Any]:
        """Sends a JSON document and reads one. Raises Unreachable when it may be tried again."""
        data = json.dumps(body).encode()
        try:
            connection = self._open(timeout)
            connection.request("POST", self._parts.path + path, data, {"content-type": "application/json", **self._headers()})
            response = connection.getresponse()
            text = response.read(_LONGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(f"the queue server at {self.url} cannot be reached: {error}") from None
        return _answer(response.status, text)

    def lines(self, path: str, timeout: float) -> Iterator[Dict[str, Any]]:
        """Reads a streamed answer line by line, until it ends or breaks."""
        try:
            connection = self._open(timeout)
            connection.request("GET", self._parts.path + path, headers=self._headers())
            response = connection.getresponse()
            if response.status >= 300:
                _answer(response.status, response.read(_LONGEST_ANSWER))
            for line in response:
                yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(str(error)) from None
        finally:
            self.close()

    def interrupt(self) -> None:
        """Aborts the request that another thread waits for."""
        connection = self._connection
        sock = None if connection is None else connection.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self, timeout: float) -> http.client.HTTPConnection:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(self._parts.hostname or "", self._parts.port, timeout=timeout)
            self._connection.connect()
            # Small requests are answered at once, and must not wait to be gathered.
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.sock.settimeout(timeout)
        return self._connection

    def _headers(self) -> Dict[str, str]:
        if self._token_file is None:
            return {}
        # Read each time: a mounted secret may be renewed while the worker runs.
        return {"authorization": f"Bearer {_first_line(self._token_file)}"}


def _first_line(path: str) -> str:
    # A pipe in the place of the file would block the worker for ever, also after SIGTERM.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, encoding="ascii") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise QueueError("PATH_NOT_SUPPORTED", f"the token file {path} is not a regular file")
        return file.readline().strip()


def _answer(status: int, text: bytes) -> Dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        raise Unreachable(f"the answer {status} did not come from a queue server") from None
    if status < 300:
        return document
    error = document.get("error") or {}
    message = str(error.get("message", f"the server answered {status}"))
    if status >= 500:
        raise Unreachable(message)
    raise QueueError(str(error.get("code", "QUEUE_REQUEST_REFUSED")), message)
