"""The step counter that outlives the trainer."""

import os
import struct

import holdfast
from fake_supervisor import FakeSupervisor


def attach(path):
    supervisor = FakeSupervisor()
    welcome = supervisor.answers["hello"]
    supervisor.answers["hello"] = lambda message: {**welcome(message), "counter": path}
    return holdfast.attach(supervisor.env()), supervisor


def read(path):
    return struct.unpack("=q", path.read_bytes())[0]


def make(path):
    path.write_bytes(struct.pack("=q", -1))
    return path


def test_every_step_is_in_the_file_at_once(tmp_path):
    path = make(tmp_path / "step-1")
    run, _supervisor = attach(str(path))
    assert read(path) == -1
    for step in range(1000):
        run.step(step)
        assert read(path) == step


def test_a_counter_that_cannot_be_mapped_costs_nothing(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    for path in [str(tmp_path / "empty"), str(tmp_path / "missing"), str(tmp_path), None]:
        run, _supervisor = attach(path)
        assert run.is_attached
        assert not run.step(7)
        assert not run.step(8)


def test_a_step_of_more_than_64_bits_stops_the_count(tmp_path):
    path = make(tmp_path / "step-1")
    run, _supervisor = attach(str(path))
    run.step(5)
    for more in (2**70, 2**70 + 1):
        assert not run.step(more)
    assert read(path) == 5


def test_a_forked_child_does_not_count(tmp_path):
    path = make(tmp_path / "step-1")
    run, _supervisor = attach(str(path))
    run.step(5)
    child = os.fork()
    if child == 0:
        run.step(99)
        os._exit(0)
    os.waitpid(child, 0)
    assert read(path) == 5
