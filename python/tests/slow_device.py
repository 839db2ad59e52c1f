"""A device for tests on machines without one. Its memory is the host's, its copies are real, and
the thread that makes them can be held up."""

import math
import queue
import threading

import torch


class SlowDevice:
    """Every tensor with more than one element lies on it. ``room`` is how much of its memory is
    free, ``locks`` how many bytes may be locked."""

    def __init__(self, room=1 << 40, locks=1 << 40):
        self.room = room
        self.locks = locks
        self.locked_ranges = {}
        self.was_held = []
        self.captures = False
        self._turn = threading.Condition()
        self._turns = math.inf
        self._work = queue.Queue()
        threading.Thread(target=self._copy, daemon=True).start()

    def pause(self):
        """Holds up all copies beside the training from now on."""
        with self._turn:
            self._turns = 0

    def let(self, count):
        """Lets this many of the waiting copies run; one of them is everything that was queued at
        once."""
        with self._turn:
            self._turns += count
            self._turn.notify()

    def resume(self):
        self.let(math.inf)

    def work_beside(self):
        """Its threads exclude each other."""

    def is_capturing(self):
        return self.captures

    def holds(self, storage):
        return storage.nbytes() > 8

    def take(self, size):
        return torch.empty(size, dtype=torch.uint8) if size <= self.room else None

    def copy_now(self, copies):
        for to, source in copies:
            to.copy_(source)

    def let_go(self, memory):
        """Copies that are over as soon as they are made."""

    def fork(self):
        event = threading.Event()
        event.set()
        return event

    def copy_beside(self, after, copies):
        event = threading.Event()
        self._work.put((list(copies), event))
        return event

    def hold(self, event):
        self.was_held.append(event)
        self.wait(event)

    def wait(self, event):
        assert event.wait(60), "the copy was never made"

    def lock(self, address, size):
        if size > self.locks:
            raise RuntimeError("the memory could not be locked: CUDA error 2")
        self.locks -= size
        self.locked_ranges[address] = size

    def unlock(self, address):
        self.locks += self.locked_ranges.pop(address)

    def locked(self, size):
        return torch.empty(size, dtype=torch.uint8)

    def _copy(self):
        while True:
            copies, event = self._work.get()
            with self._turn:
                self._turn.wait_for(lambda: self._turns > 0)
                self._turns -= 1
            for to, source in copies:
                to.copy_(source)
            event.set()
