"""The trainer's end of the socket: JSON lines and one reading thread. Nothing here can hang the
trainer."""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import socket
import threading
from typing import Any, Callable, Dict, Optional

PROTOCOL = "holdfast.sdk/1"
_MAX_LINE_BYTES = 64 * 1024
_ANSWERS = {"hello": ("welcome",), "begin": ("folder", "refused"), "finish": ("bye",), "reserve": ("reserved",), "take": ("taken",)}

log = logging.getLogger("holdfast")

Message = Dict[str, Any]


class Gone(Exception):
    """The supervisor is gone."""


class _Question:
    """A question that waits for its answer."""

    def __init__(self, message: Message) -> None:
        self._answers = _ANSWERS[message["type"]]
        self._step = message.get("step")
        # The answer stays here, so an interrupt during the wait does not lose it.
        self.answer: Optional[Message] = None
        self.wake: "queue.SimpleQueue[None]" = queue.SimpleQueue()

    def is_awake(self, timeout: Optional[float]) -> bool:
        """Whether the wait for an answer ends within ``timeout`` seconds."""
        with contextlib.suppress(queue.Empty):
            self.wake.get(timeout=timeout)
            return True
        return False

    def is_answered_by(self, message: Message) -> bool:
        return self.answer is None and message.get("type") in self._answers and message.get("step", self._step) == self._step


class Connection:
    """A connection to the supervisor.

    A message that answers a pending question goes to the caller of :meth:`ask`. Every other message
    goes to ``on_push``. So does the answer to a question that its caller has abandoned.
    """

    def __init__(self, path: str, on_push: Callable[[Message], None]) -> None:
        self._on_push = on_push
        self._question: Optional[_Question] = None
        self._question_lock = threading.Lock()
        self._has_ended = False
        self._send_lock = threading.Lock()
        self._ask_lock = threading.Lock()
        self.is_open = True
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        # A daemon thread: it must not keep a finished trainer alive.
        threading.Thread(target=self._read, name="holdfast", daemon=True).start()

    def send(self, message: Message) -> None:
        """Sends a message; raises Gone when the supervisor is gone."""
        data = _encode(message)
        try:
            with self._send_lock:
                self._socket.sendall(data)
        except OSError as error:
            self._lose(error)
            raise Gone() from None

    def offer(self, message: Message) -> None:
        """Sends a message that may be lost: never waits, never raises."""
        self.offer_line(_encode(message))

    def offer_line(self, data: bytes) -> None:
        """Like :meth:`offer`, for a message that is already encoded."""
        try:
            with self._send_lock:
                sent = self._socket.send(data, socket.MSG_DONTWAIT)
                if sent < len(data):
                    # Half a line is sent: the rest must follow.
                    self._socket.sendall(data[sent:])
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._lose(error)

    def ask(
        self,
        message: Message,
        timeout: Optional[float] = None,
        meanwhile: Optional[Callable[[], None]] = None,
        beside: Optional[Callable[[], None]] = None,
    ) -> Message:
        """Sends a question and waits for its answer; raises Gone when none comes.

        With ``meanwhile``, the wait does not end at ``timeout``: it calls ``meanwhile`` each time
        and waits on. ``beside`` is called once, after the question is sent and before the wait.
        """
        with self._ask_lock:
            question = self._question = _Question(message)
            is_over = False
            try:
                if not self._has_ended:
                    self.send(message)
                    if beside is not None:
                        beside()
                    while not question.is_awake(timeout) and meanwhile is not None:
                        meanwhile()
                is_over = True
            finally:
                with self._question_lock:
                    self._question = None
                if not is_over and question.answer is not None:
                    self._on_push(question.answer)
            if question.answer is None:
                raise Gone()
            return question.answer

    def forget(self) -> None:
        """In a forked child: closes the socket silently, so that only the parent speaks."""
        self.is_open = False
        self._socket.close()
        # A thread that does not exist here may have held a lock.
        self._send_lock = threading.Lock()
        self._ask_lock = threading.Lock()
        self._question_lock = threading.Lock()

    def close(self) -> None:
        self.is_open = False
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _lose(self, error: Optional[OSError]) -> None:
        if not self.is_open:
            return
        self.is_open = False
        log.warning("the supervisor is gone (%s); training goes on without it", error or "it closed the connection")

    def _read(self) -> None:
        held = b""
        error: Optional[OSError] = None
        try:
            while True:
                piece = self._socket.recv(65536)
                if not piece:
                    break
                *lines, held = (held + piece).split(b"\n")
                for line in lines:
                    self._take(line)
                if len(held) > _MAX_LINE_BYTES:
                    break
        except OSError as raised:
            error = raised
        finally:
            self._lose(error)
            self._socket.close()
            self._has_ended = True
            question = self._question
            if question is not None:
                question.wake.put(None)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        with self._question_lock:
            question = self._question
            if question is not None and question.is_answered_by(message):
                question.answer = message
                question.wake.put(None)
                return
        self._on_push(message)


def _encode(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
