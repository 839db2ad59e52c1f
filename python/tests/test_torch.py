import pickle
import queue
import random
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

try:
    import numpy
    import torch
    from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Sampler

    import holdfast.torch
    from fake_supervisor import FakeSupervisor, attach
    from holdfast import _torch_random
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None


class FinalSaves(unittest.TestCase):
    def test_finish_saves_the_state_that_resume_loads_if_the_last_save_is_older(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        state = holdfast.torch.State(model=torch.nn.Linear(2, 2))
        run.resume(state.load)
        run.step(5)
        run.finish()
        self.assertEqual(supervisor.expect("begin")["step"], 5)
        supervisor.expect("saved")
        self.assertTrue((Path(supervisor.folder) / "save-1" / "rank-0.pt").exists())
        supervisor.expect("finish")
        run.finish()
        with self.assertRaises(queue.Empty):
            while supervisor.heard.get(timeout=0.05)["type"] != "begin":
                pass


class Numbers(Dataset):
    """Each item is its index and a number from each of the three generators."""

    def __init__(self, length=23):
        self.length = length
        self.fetched = []

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        self.fetched.append(index)
        return torch.tensor([index, random.random(), float(numpy.random.rand()), torch.rand(()).item()], dtype=torch.float64)


class Stream(IterableDataset):
    def __iter__(self):
        for index in range(20):
            yield torch.tensor([index, torch.rand(()).item()])


class Drawing(Sampler):
    """Draws from the global generator while it iterates."""

    def __init__(self, length):
        super().__init__()
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        for _ in range(self.length):
            yield int(torch.randint(self.length, ()).item())


def seed():
    random.seed(1)
    numpy.random.seed(2)
    torch.manual_seed(3)


def train(make, steps, state=None, disturb=True):
    """The batches of some steps, with a trainer that draws random numbers in between, and the
    states after each step."""
    seed()
    batches = holdfast.torch.Batches(make())
    if state is not None:
        batches.load_state_dict(state[0])
        _torch_random.restore(state[1])
    endless = batches.forever()
    seen, states = [], []
    for _ in range(steps):
        batch = next(endless)
        drawn = [random.random(), float(numpy.random.rand()), torch.rand(()).item()] if disturb else []
        seen.append((batch.tolist(), drawn))
        states.append((batches.state_dict(), _torch_random.capture()))
    return seen, states


class TheData(unittest.TestCase):
    def same_after_every_interruption(self, make, steps=16):
        whole, states = train(make, steps)
        for at in (0, 3, 5, 6, 11):
            rest, _ = train(make, steps - at - 1, states[at])
            self.assertEqual(rest, whole[at + 1 :], f"interrupted after step {at}")
        return whole

    def test_a_shuffled_loader_resumes_at_its_place(self):
        whole = self.same_after_every_interruption(lambda: DataLoader(Numbers(), batch_size=4, shuffle=True))
        first = [item[0] for batch, _ in whole[:6] for item in batch]
        second = [item[0] for batch, _ in whole[6:12] for item in batch]
        self.assertEqual((sorted(first), sorted(second)), (list(range(23)), list(range(23))))
        self.assertNotEqual(first, second)

    def test_the_number_of_workers_does_not_change_the_batches(self):
        self.assertEqual(
            train(lambda: DataLoader(Numbers(), batch_size=4, shuffle=True), 8)[0],
            train(lambda: DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2, persistent_workers=True), 8)[0],
        )

    def test_a_loader_with_workers_resumes_at_its_place(self):
        whole, states = train(lambda: DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2), 9)
        rest, _ = train(lambda: DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2), 5, states[3])
        self.assertEqual(rest, whole[4:])

    def test_a_loaders_own_generator_is_restored(self):
        self.same_after_every_interruption(
            lambda: DataLoader(Numbers(), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(5))
        )

    def test_a_sampler_that_draws_while_it_iterates_draws_the_same(self):
        self.same_after_every_interruption(lambda: DataLoader(Numbers(), batch_size=4, sampler=Drawing(23)))

    def test_a_distributed_sampler_is_told_its_epoch(self):
        def make():
            data = Numbers()
            return DataLoader(data, batch_size=2, sampler=DistributedSampler(data, num_replicas=2, rank=1, seed=9))

        whole = self.same_after_every_interruption(make)
        self.assertNotEqual(whole[0][0], whole[6][0])

    def test_a_loader_without_automatic_batching_resumes_too(self):
        self.same_after_every_interruption(lambda: DataLoader(Numbers(9), batch_size=None, shuffle=True))

    def test_a_stream_is_read_again_up_to_its_place(self):
        self.same_after_every_interruption(lambda: DataLoader(Stream(), batch_size=4))

    def test_batches_accepts_any_iterable(self):
        self.same_after_every_interruption(lambda: [torch.tensor([number]) for number in range(5)])

    def test_trained_batches_are_not_read_again(self):
        _, states = train(lambda: DataLoader(Numbers(), batch_size=4), 4)
        data = Numbers()
        batches = holdfast.torch.Batches(DataLoader(data, batch_size=4))
        batches.load_state_dict(states[2][0])
        next(iter(batches))
        self.assertEqual(data.fetched, [12, 13, 14, 15])

    def test_the_loop_can_count_the_epochs(self):
        batches = holdfast.torch.Batches(DataLoader(Numbers(), batch_size=4))
        for epoch in range(2):
            self.assertEqual(len(list(batches)), 6)
            self.assertEqual(batches.epoch, epoch)
        again = holdfast.torch.Batches(DataLoader(Numbers(), batch_size=4))
        again.load_state_dict(batches.state_dict())
        counts = [len(list(again)) for _ in range(again.epoch, 4)]
        self.assertEqual((counts, again.epoch), ([0, 6, 6], 3))

    def test_an_unused_iterator_does_not_count_as_an_epoch(self):
        batches = holdfast.torch.Batches(DataLoader(Numbers(), batch_size=4))
        iter(batches)
        next(iter(batches))
        self.assertEqual((batches.epoch, batches.position), (0, 1))

    def test_a_restored_epoch_can_be_left_at_once(self):
        def make():
            return holdfast.torch.Batches(DataLoader(Numbers(), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(5)))

        batches, again = make(), make()
        list(batches)
        again.load_state_dict(batches.state_dict())
        again.leave()
        left = [batch.tolist() for batch in again]
        self.assertEqual((left, again.epoch), ([batch.tolist() for batch in batches], 1))

    def test_a_loader_without_batches_raises_an_error_instead_of_looping_for_ever(self):
        with self.assertRaises(ValueError):
            next(holdfast.torch.Batches([]).forever())

    def test_the_trainers_own_random_numbers_are_left_alone(self):
        seed()
        batches = holdfast.torch.Batches(DataLoader(Numbers(), batch_size=4, shuffle=True))
        batches.load_state_dict({"seed": 5, "epoch": 0, "position": 0, "generators": [], "generators_now": []})
        before = _torch_random.capture()
        list(batches)
        after = _torch_random.capture()
        self.assertTrue(torch.equal(before["torch"], after["torch"]))
        self.assertEqual(before["python"][1].tolist(), after["python"][1].tolist())
        self.assertEqual(before["numpy"]["pos"], after["numpy"]["pos"])


class TheFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-sdk-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def checksums(self, name):
        return [one.CRC for one in zipfile.ZipFile(self.folder / name).infolist()]

    def test_a_file_without_checksums_loads(self):
        holdfast.torch.save({"weights": torch.arange(5)}, self.folder / "a.pt")
        self.assertEqual(set(self.checksums("a.pt")), {0})
        self.assertEqual(torch.load(self.folder / "a.pt", weights_only=True)["weights"].tolist(), [0, 1, 2, 3, 4])

    def test_torch_save_computes_checksums_again_after_the_block_even_after_an_error(self):
        with self.assertRaises(OSError):
            with holdfast.torch.without_crc():
                raise OSError("disk full")
        torch.save({"weights": torch.arange(5)}, self.folder / "b.pt")
        self.assertIn(True, [crc != 0 for crc in self.checksums("b.pt")])

    def test_several_threads_at_once_leave_torchs_switch_as_it_was(self):
        inside, found = threading.Barrier(3), []

        def save():
            with holdfast.torch.without_crc():
                inside.wait(60)
                found.append(torch.serialization.get_crc32_options())
                inside.wait(60)
            inside.wait(60)
            found.append(torch.serialization.get_crc32_options())

        threads = [threading.Thread(target=save) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            inside.wait(60)
        for thread in threads:
            thread.join(60)
        self.assertEqual((found, torch.serialization.get_crc32_options()), ([False, False, True, True], True))

    def test_a_file_that_would_execute_code_is_refused(self):
        class Bomb:
            def __reduce__(self):
                return print, ("executed",)

        torch.save({"bomb": Bomb()}, self.folder / "c.pt")
        with self.assertRaises(pickle.UnpicklingError):
            holdfast.torch.load(self.folder / "c.pt")

    def test_a_state_is_restored(self):
        def make():
            torch.manual_seed(1)
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.AdamW(model.parameters())
            scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=50)
            loader = DataLoader(Numbers(), batch_size=4, shuffle=True)
            return model, optimizer, scheduler, holdfast.torch.State(model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)

        model, optimizer, scheduler, state = make()
        batches = state.batches()
        for _ in range(4):
            model(next(batches)[:, :3].float()).sum().backward()
            optimizer.step()
            scheduler.step()
        state.save(self.folder)
        expected = (next(batches).tolist(), torch.rand(()).item())
        other, other_optimizer, other_scheduler, restored = make()
        restored.load(self.folder)
        self.assertEqual((next(restored.batches()).tolist(), torch.rand(()).item()), expected)
        self.assertEqual(other.weight.tolist(), model.weight.tolist())
        self.assertEqual(other_scheduler.state_dict(), scheduler.state_dict())
        moments = [one["exp_avg"].tolist() for one in optimizer.state.values()]
        self.assertEqual([one["exp_avg"].tolist() for one in other_optimizer.state.values()], moments)

    def test_an_object_that_could_not_be_loaded_is_refused_at_the_save(self):
        class Part:
            def state_dict(self):
                return {"inner": [1, {"odd": object()}]}

            def load_state_dict(self, state):
                pass

        with self.assertRaisesRegex(TypeError, r"part\['inner'\]\[1\]\['odd'\] is a builtins.object"):
            holdfast.torch.State(part=Part()).save(self.folder)

    def test_numpy_numbers_become_plain_numbers(self):
        class Part:
            def __init__(self):
                self.state = {"best": numpy.float64(0.5), "ok": numpy.bool_(True)}

            def state_dict(self):
                return self.state

            def load_state_dict(self, state):
                self.state = state

        holdfast.torch.State(part=Part()).save(self.folder)
        part = Part()
        holdfast.torch.State(part=part).load(self.folder)
        self.assertEqual(part.state, {"best": 0.5, "ok": True})

    def test_a_schedule_that_counts_its_milestones_resumes(self):
        def make():
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
            kinds = torch.optim.lr_scheduler
            stairs = kinds.MultiStepLR(optimizer, milestones=[2, 2, 5], gamma=0.1)
            return optimizer, kinds.SequentialLR(optimizer, [kinds.ConstantLR(optimizer, 0.5), stairs], milestones=[3])

        def rates(optimizer, scheduler):
            seen = []
            for _ in range(8):
                optimizer.step()
                scheduler.step()
                seen.append(scheduler.get_last_lr())
            return seen

        optimizer, scheduler = make()
        holdfast.torch.State(optimizer=optimizer, scheduler=scheduler).save(self.folder)
        again, restored = make()
        holdfast.torch.State(optimizer=again, scheduler=restored).load(self.folder)
        self.assertEqual(rates(again, restored), rates(optimizer, scheduler))

    def test_a_part_without_a_state_is_refused_by_name(self):
        with self.assertRaisesRegex(TypeError, "criterion"):
            holdfast.torch.State(criterion=print)

    def test_loading_a_missing_part_names_the_parts_that_exist(self):
        model = torch.nn.Linear(1, 1)
        holdfast.torch.State(model=model).save(self.folder)
        with self.assertRaisesRegex(KeyError, "no ema: it holds model"):
            holdfast.torch.State(model=model, ema=model).load(self.folder)

    def test_another_number_of_ranks_is_warned_about_and_keeps_the_weights(self):
        model = torch.nn.Linear(1, 1)
        holdfast.torch.State(model=model).save(self.folder)
        own = holdfast.torch.load(self.folder / "rank-0.pt")
        holdfast.torch.save({**own, "world": 8}, self.folder / "rank-0.pt")
        with self.assertLogs("holdfast", "WARNING") as logged:
            holdfast.torch.State(model=torch.nn.Linear(1, 1)).load(self.folder)
        self.assertIn("saved by 8 ranks", logged.output[0])


if __name__ == "__main__":
    unittest.main()
