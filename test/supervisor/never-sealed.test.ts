import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Two ranks that write the same file name into each of four saves. */
const SAME_NAMES = `
import os, subprocess, sys, time
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(n), "WORLD_SIZE": "2"}) for n in range(2)]
    sys.exit(max(rank.wait() for rank in ranks))
import holdfast
run = holdfast.attach()
run.resume(lambda _: None)
# Saves are made by both only once both are here.
here = os.path.join(os.path.dirname(sys.argv[0]), "here-")
open(here + os.environ["RANK"], "w").close()
while not all(os.path.exists(here + rank) for rank in "01"):
    time.sleep(0.005)
for step in range(41):
    if run.step(step):
        with run.save(step) as folder:
            (folder / "state.pt").write_text("rank " + os.environ["RANK"])
run.finish()
`;

it('a run whose ranks all write one file name warns once that no checkpoint can be sealed, and repeats it in its end line', async () => {
  using folder = tempFolder();
  const script = join(folder.path, 'train.py');
  writeFileSync(script, SAME_NAMES);
  const args = ['--dir', join(folder.path, 'run'), '--every', '10steps'];
  const { code, stderr } = await new Supervised({ args, command: ['python3', script] }).ended;
  expect(code).toBe(0);
  const lines = stderr.split('\n').filter((line) => line.includes('state.pt was written by rank'));
  expect(lines.filter((line) => line.startsWith('holdfast: '))).toEqual([
    expect.stringMatching(/^holdfast: error SAVE_MIXED: /),
    expect.stringMatching(/^holdfast: warning: no save of this run could be sealed so far/),
    expect.stringMatching(/^holdfast: warning: finished; the save of step 40 was lost: .*; nothing is sealed$/),
  ]);
  // The SDK also warns once, not for each rank and each save.
  expect(lines).toHaveLength(4);
});
