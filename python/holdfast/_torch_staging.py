"""Saves the state of a device in the background. Its bytes leave the device beside the training,
and the save is handed over when the last one has arrived.

Each save chooses one of two ways:

- With room for a copy on the device, it copies there first. Training continues as soon as the copy
  is made, and may change any tensor.

- Otherwise it copies straight out, beside the next forward and backward. Each optimizer that calls
  its hooks waits, on the device, for the tensors it is about to write. Tensors that no such
  optimizer writes (running statistics, averages) are copied before training continues, on the
  device or out of it.

The way, and the available memory, are known before the state is walked, so that the first bytes
leave at once. Only then is the folder of the save requested.

The bytes arrive in a file in memory that the device itself writes to and that is handed over as it
is. Without such a file, they go through a small buffer into a new file. Without that file and
without room for a copy, the state is written directly, and training waits.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

import torch

from ._device import Copy
from ._kept_file import KeptFile, Stopped
from ._run import Run
from ._torch_image import Kept, Layout, kept_in
from ._torch_taken import Content, Guard, Place, Taken
from ._torch_walk import Sources, Walk, padded, room_for

log = logging.getLogger("holdfast")


class Staging:
    """What a process keeps for saving the state of its device: the file, and the save that is under
    way."""

    def __init__(self, device: Any, optimizers: Iterable[Any]) -> None:
        self._device = device
        self._optimizers = [one for one in optimizers if hook(one, "register_step_pre_hook", self._before_step)]
        # Which optimizers have called their hooks since the last save, and which never will again,
        # because a graph does their work.
        self._asking: Set[int] = set()
        self._captured: Set[int] = set()
        self._is_trusting = True
        self._file: Optional[KeptFile] = None
        self._layout = Layout([])
        # The size of a copy on the device.
        self._room = 0
        self._run: Optional[Run] = None
        self._preparing: Optional[threading.Thread] = None
        self._taken: Optional[Taken] = None
        self._told: Set[str] = set()

    def prepare(self, run: Run, states: Dict[str, Any]) -> None:
        """Starts to prepare for saves of such states, in the background."""
        kept = kept_in(states).values()
        self._room = room_for(one.storage.nbytes() for one in kept if self._device.holds(one.storage))
        if not run._due_save.keep_for(self):
            self._tell("another state of this process uses the memory that is reserved for saves, so this one saves more slowly")
            return
        self._run = run
        self._prepare(Layout([one.storage.nbytes() for one in kept]), None)

    def walk(self) -> Walk:
        """Starts to take a state; the state taken before is delivered by now."""
        return Walk(self._device, self._room)

    def take(self, states: Dict[str, Any], walk: Walk, is_given: bool) -> Optional[Taken]:
        """The walked states as they are now, whatever training changes from here on.

        None means that they must be written before training continues. While no folder is given for
        the save, it can also mean that the previous save still has the memory.
        """
        if self._taken is not None and self._taken.is_torn:
            self._is_trusting = False
        sizes = tuple(one.storage.nbytes() for one in walk.found.values())
        here = [number for number, one in enumerate(walk.found.values()) if self._device.holds(one.storage)]
        sources = walk.sources()
        numbers = {key: number for number, key in enumerate(walk.found)}
        guards: List[Guard] = []
        place: Callable[[], Place] = partial(self._place, sizes)
        if not walk.is_copied and not (walk.had_room and self._snapshot(here, sources)):
            found = self._place(sizes)
            if found.file is None:
                if is_given:
                    self._tell("neither the device nor locked memory has room for the state now: training waits while it is written")
                return None
            self._tell("the device has no room for a copy of the state: it is copied during training, and the optimizer waits where it must")
            guards = self._guards(walk.found, numbers)
            guarded = {number for guard in guards for number in guard.numbers}
            self._expose([number for number in here if number not in guarded], sources, found)
            place = partial(_the, found)
        self._asking = set()
        self._room = room_for(sizes[number] for number in here)
        self._taken = Taken(self._device, place, Content(states, numbers, sources), guards)
        return self._taken

    def saw_step(self, optimizer: Any) -> None:
        """Notes that this optimizer calls its hooks."""
        self._asking.add(id(optimizer))

    def wait(self) -> None:
        """Returns when the preparation is over."""
        if self._preparing is not None:
            self._preparing.join()

    def close(self) -> None:
        """Gives the memory back; every state taken must be delivered."""
        self._taken = None
        self.wait()
        file, self._file = self._file, None
        if file is not None:
            file.close()
        if self._run is not None:
            self._run._due_save.keeper, self._run._due_save.links = None, False
            self._run._supervisor.reserve(0)

    def _place(self, sizes: Tuple[int, ...]) -> Place:
        """The file in memory, if it is ready and no save uses it any more, and the offsets in
        it."""
        # Read it once: another thread may set it at this moment.
        file = self._file
        if file is None:
            return Place(Layout(sizes), None)
        if self._layout.sizes != sizes or self._layout.end != file.size:
            self._layout = Layout(sizes, file.size)
        if self._layout.end > file.size:
            self._file = None
            self._prepare(Layout(sizes), file)
            return Place(Layout(sizes), None)
        return Place(self._layout, file) if file.is_free else Place(Layout(sizes), None)

    def _prepare(self, layout: Layout, before: Optional[KeptFile]) -> None:
        if self._run is not None:
            self._run._due_save.links = False
        self._preparing = threading.Thread(target=self._make_ready, args=(layout, before), name="holdfast-prepare")
        self._preparing.start()

    def _make_ready(self, layout: Layout, before: Optional[KeptFile]) -> None:
        try:
            self._device.work_beside()
            if before is not None:
                before.close()
            # Requested now, the memory is there at once when it is needed.
            self._device.take(self._room)
            folder = None if self._run is None else self._run._supervisor.reserve(layout.room)
            if folder is not None:
                self._file = KeptFile(folder, layout.end, self._device)
                # From the first save on: if there is memory for one save only, no save would ever
                # use it otherwise.
                self._run._due_save.links = True
        except Stopped:
            pass
        except Exception as error:
            self._tell(f"no memory is reserved for saves, so they are slower: {error}")
            if self._run is not None:
                self._run._supervisor.reserve(0)

    def _snapshot(self, numbers: Sequence[int], sources: Sources) -> bool:
        """Copies the numbered storages on the device, in the order of the training; false when
        there is no room."""
        originals = [(number, source) for number in numbers for source in [sources[number]] if source is not None]
        sizes = [padded(source.numel()) for _, source in originals]
        memory = self._device.take(sum(sizes))
        if memory is None:
            return False
        views = memory.split(sizes)

        def copies() -> Iterator[Copy]:
            # One at a time, so that the device works while the next one is found.
            for (number, source), view in zip(originals, views):
                sources[number] = copy = view[: source.numel()]
                yield copy, source

        self._device.copy_now(copies())
        return True

    def _expose(self, numbers: Sequence[int], sources: Sources, place: Place) -> None:
        """Copies the tensors that no optimizer waits for, on the device or out of it, before
        training continues."""
        if place.file is None or not numbers or self._snapshot(numbers, sources):
            return
        copies: List[Copy] = []
        for number in numbers:
            source, sources[number] = sources[number], None
            if source is not None:
                copies.extend(place.file.copies(place.layout.offsets[number], source))
        self._device.hold(self._device.copy_beside(self._device.fork(), copies))

    def _guards(self, found: Dict[int, Kept], places: Dict[int, int]) -> List[Guard]:
        """A guard for each optimizer that calls its hooks, over the tensors that it alone
        writes."""
        asking = self._asking.difference(self._captured) if self._is_trusting else set()
        kept = list(found.values())
        guards: List[Guard] = []
        seen: Set[int] = set()
        for optimizer in self._optimizers:
            numbers = [places[place] for place in _written_by(optimizer) if place in places and self._device.holds(found[place].storage)]
            fresh = [number for number in dict.fromkeys(numbers) if number not in seen]
            seen.update(fresh)
            # A step that is replayed from a graph calls no hook.
            if id(optimizer) in asking and not any(group.get("capturable") for group in optimizer.param_groups):
                guards.append(Guard(optimizer, fresh, [tensor for number in fresh for tensor in kept[number].tensors]))
        return guards

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        self._asking.add(id(optimizer))
        if self._device.is_capturing():
            self._captured.add(id(optimizer))
        if self._taken is not None:
            self._taken.before_step(optimizer)

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            log.warning("%s", sentence)


def hook(optimizer: Any, how: str, act: Any) -> bool:
    """Whether an optimizer has accepted the hook; objects that only look like one may not."""
    if not isinstance(optimizer, torch.optim.Optimizer) or not hasattr(optimizer, how):
        return False
    try:
        getattr(optimizer, how)(act)
    except Exception:
        log.debug("%s takes no hook", type(optimizer).__name__, exc_info=True)
        return False
    return True


def _written_by(optimizer: torch.optim.Optimizer) -> List[int]:
    tensors = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for values in optimizer.state.values():
        tensors.extend(value for value in values.values() if isinstance(value, torch.Tensor))
    return [tensor.untyped_storage()._cdata for tensor in tensors]


def _the(place: Place) -> Place:
    return place
