import os
import shutil
import signal
import threading
import unittest
from unittest import mock

import holdfast
from fake_supervisor import FakeSupervisor, attach, await_loss, hear
from holdfast import _supervisor


class Troubles(unittest.TestCase):
    def test_training_continues_when_the_supervisor_is_gone(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with self.assertLogs("holdfast", "WARNING"):
            supervisor.vanish()
            with run.save(1) as folder:
                (folder / "state").write_text("x")
            step = 2
            while run.is_attached:
                run.step(step)
                step += 1
            await_loss(run)
        self.assertFalse(run.step(step))
        run.finish()

    def test_training_continues_when_the_folder_is_taken_away_during_a_save(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with self.assertLogs("holdfast", "WARNING") as logs:
            with run.save(1) as folder:
                # As when another rank has failed, and the save with it.
                supervisor.say({"type": "lost", "save": "1", "reason": "rank 1 could not write it"})
                shutil.rmtree(folder)
                (folder / "state").write_text("x")
        self.assertRegex("\n".join(logs.output), "step 1 is not saved: its folder was removed while it was written .FileNotFoundError")
        supervisor.expect("failed")
        self.assertTrue(run.step(2))

    def test_an_error_in_a_save_block_is_raised_and_so_is_an_exit_without_a_folder(self):
        for error, is_taken_away in ((OSError("no space"), False), (KeyboardInterrupt(), True), (SystemExit(3), True)):
            supervisor = FakeSupervisor(every_steps=1)
            run = attach(supervisor)
            with self.assertRaises(type(error)), run.save(1) as folder:
                if is_taken_away:
                    shutil.rmtree(folder)
                raise error

    def test_an_error_in_a_save_block_is_raised_however_fast_its_folder_is_taken_away(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        with self.assertRaisesRegex(OSError, "no space"), run.save(1) as folder:
            run._supervisor.connection.send = lambda _: shutil.rmtree(folder)
            raise OSError("no space")

    def test_a_wait_for_an_answer_ends_when_the_supervisor_dies(self):
        supervisor = FakeSupervisor()
        supervisor.answers.pop("finish")
        run = attach(supervisor)
        supervisor.answers["finish"] = lambda _: supervisor.vanish()
        with self.assertLogs("holdfast", "WARNING"):
            run.finish()

    def test_nonsense_from_the_supervisor_is_ignored(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say_bytes(b"\xff\xfe not json\n[1, 2]\n{\"type\": \"tomorrow\"}\n")
        supervisor.say({"type": "save", "why": "asked", "at": None})
        hear(run, supervisor)
        self.assertTrue(run.step(1))

    def test_a_supervisor_that_does_not_answer_does_not_count_this_process(self):
        supervisor = FakeSupervisor()
        supervisor.answers.pop("hello")
        with mock.patch.object(_supervisor, "_HELLO_SECONDS", 0.05), self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach(supervisor.env())
        self.assertFalse(run.is_attached)
        supervisor.expect("closed")

    def test_an_abandoned_folder_is_given_back_and_not_mistaken_for_another(self):
        for comes_with_the_next in (False, True):
            supervisor = FakeSupervisor(every_steps=1)
            run = attach(supervisor)
            give = supervisor.answers["begin"]
            self.interrupt_begin(supervisor, run)
            late = give({"step": 1})

            def answer(message):
                supervisor.say(late)
                return give(message)

            if comes_with_the_next:
                supervisor.answers["begin"] = answer
            else:
                supervisor.answers["begin"] = give
                supervisor.say(late)
                self.assertEqual(supervisor.expect("failed")["save"], "1")
            self.assertTrue(run.step(2))
            with run.save(2) as folder:
                self.assertEqual(folder.name, "save-2")
            if comes_with_the_next:
                self.assertEqual(supervisor.expect("failed")["save"], "1")
            self.assertEqual(supervisor.expect("saved")["save"], "2")

    def test_an_abandoned_refusal_is_not_mistaken_for_another(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        give = supervisor.answers["begin"]
        self.interrupt_begin(supervisor, run)
        supervisor.say({"type": "refused", "step": 1, "code": "SAVE_MIXED", "reason": "late"})
        hear(run, supervisor)
        supervisor.answers["begin"] = give
        self.assertTrue(run.step(2))

    def interrupt_begin(self, supervisor, run):
        """A signal handler interrupts the wait for the answer to step 1."""

        class Interrupted(Exception):
            pass

        def interrupt(*_):
            raise Interrupted

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        supervisor.answers["begin"] = lambda _: signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
        with self.assertRaises(Interrupted):
            run.step(1)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_worker_that_attaches_leaves_the_other_ranks_to_its_parent(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor, RANK="0", WORLD_SIZE="2")
        run._together._has_looked = True
        pid = os.fork()
        if pid == 0:
            is_same = True
            try:
                with mock.patch.object(_supervisor, "_HELLO_SECONDS", 0.05):
                    is_same = holdfast.attach(supervisor.env(RANK="0", WORLD_SIZE="2")) is run or run._together.has_looked
            finally:
                os._exit(1 if is_same else 0)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertIs(holdfast.attach(supervisor.env(RANK="0", WORLD_SIZE="2")), run)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_worker_sends_nothing(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        pid = os.fork()
        if pid == 0:
            spoke = run.is_attached or run.step(77)
            run.finish()
            os._exit(1 if spoke else 0)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertTrue(run.is_attached)
        self.assertTrue(run.step(78))
        self.assertEqual(supervisor.expect("step")["step"], 78)


if __name__ == "__main__":
    unittest.main()
