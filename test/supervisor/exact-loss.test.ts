import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Saves step 3, waits for the seal, makes 54 quick steps and kills itself. */
const KILLED = `
import os, signal, time
import holdfast
run = holdfast.attach()
run.resume(lambda _: None)
for step in range(58):
    run.step(step)
    if step == 3:
        with run.save(step) as folder:
            (folder / "state").write_text("everything")
        while run.last_sealed != 3:
            time.sleep(0.005)
os.kill(os.getpid(), signal.SIGKILL)`;

it('the lost steps of a trainer that is killed between two of its reports are counted exactly', async () => {
  using folder = tempFolder();
  using words = new LastWords(folder.path);
  const dir = join(folder.path, 'run');
  const args = ['--dir', dir, '--every', '1h', '--termination-log', words.path];
  const { code, stderr } = await new Supervised({ args, command: ['python3', '-c', KILLED] }).ended;
  expect(code).toBe(137);
  expect(stderr).toContain('the last good step is 3, 54 later ones are not saved');
  const counted = { step: 57, lastGoodStep: 3, lostSteps: 54 };
  expect(words.take().at(-1)).toMatchObject(counted);
  expect(readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []))).toMatchObject([counted]);
});

/** Speaks the protocol itself and keeps no counter. */
const OWN_WORDS = `
import json, os, signal, socket
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["HOLDFAST_SOCKET"])
lines = peer.makefile("rw")
def say(**message):
    lines.write(json.dumps(message) + "\\n")
    lines.flush()
say(type="hello", protocol="holdfast.sdk/1", rank=0, world=1, pid=os.getpid())
lines.readline()
say(type="step", step=3, metrics={})
say(type="begin", step=3)
folder = json.loads(lines.readline())
open(folder["path"] + "/state", "w").write("everything")
say(type="saved", save=folder["save"])
lines.readline()
for step in range(4, 9):
    say(type="step", step=step, metrics={})
os.kill(os.getpid(), signal.SIGKILL)`;

it('the lost steps of a trainer without a counter are reported as “at least”', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const { stderr } = await new Supervised({ args: ['--dir', dir, '--every', '1h'], command: ['python3', '-c', OWN_WORDS] }).ended;
  expect(stderr).toContain('the last good step is 3, at least 5 later ones are not saved');
  const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
  expect(ends).toMatchObject([{ lostSteps: null }]);
});
