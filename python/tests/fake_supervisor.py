"""The other end of the socket, for tests: answers as it is configured and keeps every message that
it received."""

import json
import os
import queue
import shutil
import socket
import tempfile
import threading
import time
import weakref

import holdfast


class FakeSupervisor:
    def __init__(self, resume=None, every_steps=None, protocol="holdfast.sdk/1"):
        self.folder = tempfile.mkdtemp(prefix="holdfast-sdk-")
        # Clean up when the process ends at the latest: a test may have handed out folders in it.
        weakref.finalize(self, shutil.rmtree, self.folder, True)
        self.path = os.path.join(self.folder, "sdk")
        self.heard = queue.Queue()
        self.answers = {
            "hello": lambda _: {
                "type": "welcome",
                "protocol": protocol,
                "run": "r",
                "attempt": 3,
                "resume": resume,
                "everySteps": every_steps,
            },
            "begin": self._give_folder,
            "finish": lambda _: {"type": "bye"},
        }
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(4)
        self._peer = None
        self._saves = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def env(self, **more):
        return {"HOLDFAST_SOCKET": self.path, **more}

    def say(self, message):
        self._peer.sendall(json.dumps(message).encode() + b"\n")

    def say_bytes(self, data):
        self._peer.sendall(data)

    def expect(self, kind):
        """The next message of this type; skips other messages before it."""
        while True:
            message = self.heard.get(timeout=60)
            if message["type"] == kind:
                return message

    def hang_up(self):
        self._peer.shutdown(socket.SHUT_RDWR)

    def vanish(self):
        # Shut down before the close: a close alone would let a pending accept take one more peer.
        self._listener.shutdown(socket.SHUT_RDWR)
        self.hang_up()
        self._peer.close()
        self._listener.close()

    def _give_folder(self, message):
        self._saves += 1
        path = os.path.join(self.folder, "save-%d" % self._saves)
        os.mkdir(path)
        return {"type": "folder", "step": message["step"], "save": str(self._saves), "path": path, "mark": path + ".mark"}

    def _serve(self):
        """Serves one peer after the other."""
        while True:
            try:
                self._peer, _ = self._listener.accept()
            except OSError:
                return
            self._hear()

    def _hear(self):
        held = b""
        try:
            while True:
                piece = self._peer.recv(65536)
                if not piece:
                    break
                *lines, held = (held + piece).split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    answer = self.answers.get(message["type"])
                    if answer is not None:
                        self.say(answer(message))
                    self.heard.put(message)
        except OSError:
            pass
        self.heard.put({"type": "closed"})


def attach(supervisor, **more):
    run = holdfast.attach(supervisor.env(**more))
    supervisor.expect("hello")
    return run


def await_loss(run):
    """Returns when the reading thread has logged that the supervisor is gone; the run is detached a
    moment earlier."""
    until = time.monotonic() + 60
    while not run._supervisor.connection._has_ended:
        assert time.monotonic() < until, "nobody has noticed"
        time.sleep(0.001)


def hear(run, supervisor):
    """Returns when the reading thread has handled everything that the supervisor has said so
    far."""
    mark = (run.last_sealed or 0) + 1_000_000
    supervisor.say({"type": "sealed", "save": "mark", "step": mark, "path": "/"})
    until = time.monotonic() + 60
    while run.last_sealed != mark:
        assert time.monotonic() < until, "nothing was heard"
        time.sleep(0.001)
