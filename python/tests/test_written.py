import io
import json
import os
import shutil
import threading
import unittest
from pathlib import Path

from fake_supervisor import FakeSupervisor, attach

MISSING = {}
try:
    import torch
except ImportError as error:
    MISSING["torch"] = MISSING["safetensors"] = f"torch is not installed here: {error}"
try:
    import safetensors.torch
except ImportError as error:
    MISSING["safetensors"] = f"safetensors is not installed here: {error}"


def saved_names(write, **more):
    """The names that a rank leaves of the files that ``write`` makes in its folder; None when no
    names were requested and none are left."""
    supervisor = FakeSupervisor(every_steps=1)
    give = supervisor.answers["begin"]
    supervisor.answers["begin"] = lambda message: {**give(message), "names": os.path.join(supervisor.folder, "names.json"), **more}
    run = attach(supervisor)
    assert run.step(1)
    with run.save(1) as folder:
        write(folder)
    supervisor.expect("saved")
    names = Path(supervisor.folder, "names.json")
    return json.loads(names.read_text()) if names.exists() else None


class Written(unittest.TestCase):
    def test_a_rank_names_the_files_that_it_has_made(self):
        def write(folder):
            (folder / "text.json").write_text("{}")
            with open(os.path.join(str(folder), "bytes"), "wb") as out:
                out.write(b"x")
            os.close(os.open(f"{folder}/low", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
            (folder / "deep/er").mkdir(parents=True)
            (folder / "deep/er/new").touch(exist_ok=False)
            shutil.copy(folder / "bytes", folder / "copied")
            os.replace(folder / "copied", folder / "replaced")
            os.link(folder / "bytes", folder / "linked")

        made = {"text.json", "bytes", "low", "deep/er/new", "copied", "replaced", "linked"}
        self.assertEqual(set(saved_names(write)), made)

    def test_files_that_are_read_or_shared_on_purpose_or_elsewhere_are_not_named(self):
        def write(folder):
            (folder.parent / "elsewhere").write_text("x")
            (folder / "own").write_text("x")
            (folder / "own").read_text()
            with open(folder / "log", "a") as log:
                log.write("x")
            with open(folder / "log", "r+") as log:
                log.write("y")

        self.assertEqual(saved_names(write), ["own"])

    def test_files_written_by_other_threads_or_through_links_or_relative_paths_are_named(self):
        def write(folder):
            thread = threading.Thread(target=(folder / "threaded").write_text, args=["x"])
            thread.start()
            thread.join()
            (folder.resolve() / "resolved").write_text("x")
            Path(os.path.relpath(folder), "relative").write_text("x")

        self.assertEqual(saved_names(write), ["relative", "resolved", "threaded"])

    def test_no_file_is_named_after_the_block_or_without_a_request(self):
        kept = []
        self.assertEqual(saved_names(kept.append), [])
        (kept[0] / "late").write_text("x")
        self.assertIsNone(saved_names(lambda folder: (folder / "own").write_text("x"), names=None))

    def test_a_missing_place_for_the_names_costs_nothing(self):
        self.assertIsNone(saved_names(lambda folder: (folder / "own").write_text("x"), names="/nonexistent/names.json"))

    @unittest.skipIf("torch" in MISSING, MISSING.get("torch", ""))
    def test_files_that_torch_writes_past_python_are_named(self):
        def write(folder):
            torch.save({"a": 1}, folder / "path.pt")
            torch.save({"a": 1}, os.path.join(folder, "text.pt"))
            torch.save({"a": 1}, folder / "old.pt", _use_new_zipfile_serialization=False)
            torch.save({"a": 1}, io.BytesIO())
            # From a framework, this would be a file that all ranks hold; from any other code, that
            # is unknown.
            torch.save({"a": 1}, folder / "scaler.pt")

        self.assertEqual(saved_names(write), ["old.pt", "path.pt", "scaler.pt", "text.pt"])

    @unittest.skipIf("safetensors" in MISSING, MISSING.get("safetensors", ""))
    def test_files_that_safetensors_writes_past_python_are_named(self):
        def write(folder):
            safetensors.torch.save_file({"a": torch.zeros(2)}, folder / "model.safetensors")

        self.assertEqual(saved_names(write), ["model.safetensors"])


if __name__ == "__main__":
    unittest.main()
