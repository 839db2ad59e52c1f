"""Where the time of a save goes on the host: what the thread that trains spends in each part of it, and when the device gets its first work."""

import contextlib
import gc
import statistics
import threading
import time
from unittest import mock

import holdfast.torch
from holdfast._device import Cuda
from holdfast._due_save import DueSave
from holdfast._torch_image import Layout
from holdfast._torch_staging import Staging
from holdfast._torch_taken import Taken
from holdfast._torch_walk import Walk

PARTS = (
    (Cuda, "take", "device memory"),
    (holdfast.torch, "plain", "plain values"),
    (Walk, "add", "walk"),
    (Staging, "take", "take"),
    (Staging, "_guards", "guards"),
    (holdfast.torch, "_own_state", "random numbers"),
    (holdfast.torch.State, "_deliver", "begin delivery"),
    (Taken, "begin", "(other thread) queue what is waited for"),
    (DueSave, "ask", "(other thread) ask for the folder"),
    (Taken, "deliver", "(other thread) deliver"),
    (Layout, "tail", "(other thread) end of the file"),
)


class Spans:
    """Milliseconds of each part, of every save since the last look."""

    def __init__(self):
        self._saves = []
        self._began = None
        self._collecting = 0.0

    @contextlib.contextmanager
    def watched(self):
        with contextlib.ExitStack() as stack:
            for owner, name, label in PARTS:
                stack.enter_context(mock.patch.object(owner, name, self._timed(getattr(owner, name), label)))
            stack.enter_context(mock.patch.object(Cuda, "copy_now", self._first(Cuda.copy_now)))
            gc.callbacks.append(self._collected)
            stack.callback(gc.callbacks.remove, self._collected)
            yield self

    @contextlib.contextmanager
    def save(self):
        """One save, on the thread that trains."""
        self._began = time.perf_counter()
        self._saves.append({})
        try:
            yield
        finally:
            self._add("in all", self._began)
            self._began = None

    def look(self):
        """The median of each part over the saves since the last look, and the most."""
        saves, self._saves = self._saves, []
        labels = dict.fromkeys(label for save in saves for label in save)
        found = {}
        for label in labels:
            values = [save.get(label, 0.0) for save in saves]
            found[label] = [round(statistics.median(values), 2), round(max(values), 2)]
        return found

    def _add(self, label, since):
        if self._saves:
            save = self._saves[-1]
            save[label] = save.get(label, 0.0) + (time.perf_counter() - since) * 1000

    def _timed(self, act, label):
        is_elsewhere = label.startswith("(")

        def timed(*arguments, **options):
            if not is_elsewhere and (self._began is None or threading.current_thread() is not threading.main_thread()):
                return act(*arguments, **options)
            since = time.perf_counter()
            try:
                return act(*arguments, **options)
            finally:
                self._add(label, since)

        return timed

    def _first(self, act):
        def first(device, copies):
            def watched():
                for copy in copies:
                    yield copy
                    if self._began is not None and "until the first copy" not in self._saves[-1]:
                        self._add("until the first copy", self._began)

            return act(device, watched())

        return first

    def _collected(self, phase, _):
        if phase == "start":
            self._collecting = time.perf_counter()
        elif self._began is not None and threading.current_thread() is threading.main_thread():
            self._add("garbage collection", self._collecting)
