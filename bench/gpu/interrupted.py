"""Interrupts a trainer on the GPU under `holdfast run`, again and again, and compares its end with that of a twin that nobody interrupted.

    interrupted.py HOLDFAST FOLDER STEPS WIDTH

Every second life ends by SIGTERM, the others by SIGKILL of the trainer; each somewhere after its first saves.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

HOLDFAST, FOLDER, STEPS, WIDTH = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
TRAINER = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py"), STEPS, WIDTH]


def life(folder, steps):
    """One life of the run; it is interrupted after so many steps of its own. Its exit code, and what it printed."""
    command = [HOLDFAST, "run", f"--dir={folder}", "--every=60steps", "--keep=2", "--grace=2m", "--", *TRAINER]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines, seen, kind = [], 0, None
    for line in child.stdout:
        lines.append(line.rstrip())
        if line.startswith("step "):
            seen += 10
            if kind is None and steps is not None and seen >= steps[0]:
                kind = steps[1]
                target = child.pid if kind == "SIGTERM" else trainer_of(child.pid)
                os.kill(target, getattr(signal, kind))
    return child.wait(), lines


def trainer_of(pid):
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{entry}/environ", "rb") as file:
                    is_ours = b"HOLDFAST_SOCKET=" in file.read()
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if is_ours and b"train.py" in words[1] and parent == pid:
                return int(entry)
    raise RuntimeError("there is no trainer")


def main():
    rng = random.Random(5)
    twin = os.path.join(FOLDER, "twin")
    code, lines = life(twin, None)
    print("twin", code, lines[-1], [line for line in lines if "sealed step" in line][-1:], flush=True)
    expected = re.search(r"finished (\w+)", "\n".join(lines)).group(1)
    shutil.rmtree(twin)
    folder = os.path.join(FOLDER, "interrupted")
    ends = []
    for number in range(12):
        kind = "SIGTERM" if number % 2 == 0 else "SIGKILL"
        code, lines = life(folder, (rng.randrange(70, 200), kind) if number < 6 else None)
        text = "\n".join(lines)
        start = re.search(r"from (\d+)", text)
        found = re.search(r"finished (\w+)", text)
        ends.append((kind if number < 6 else "none", code, start and int(start.group(1))))
        told = [line for line in lines if re.search("flush|not kept|warning|lost|could not", line)]
        print("life", ends[-1], told[:6], flush=True)
        if found:
            verdict = subprocess.run([HOLDFAST, "verify", "--deep", "--json", folder], capture_output=True, text=True).stdout
            print("verify", re.findall(r'"verdict": ?"(\w+)"', verdict), flush=True)
            print(json.dumps({"equal": found.group(1) == expected, "weights": found.group(1), "lives": ends}), flush=True)
            return 0 if found.group(1) == expected else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
