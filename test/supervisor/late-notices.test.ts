import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/**
 * Leaves a process behind. This process waits for the SIGTERM after the end of the trainer, sends
 * SIGTERM to the supervisor, and stays until it is killed.
 */
const PASSES_ON = `
  supervisor=$PPID
  (trap 'kill -TERM "$supervisor"' TERM; : > "$1"; while :; do sleep 0.1; done) &
  until [ -e "$1" ]; do sleep 0.02; done`;

/** Reports twice that it is finished, and fails. From the third start on it waits for a signal. */
const SAYS_AND_FAILS = `
import signal, sys
from pathlib import Path
import holdfast
lives = Path(sys.argv[1])
before = len(lives.read_text()) if lives.exists() else 0
lives.write_text("x" * (before + 1))
run = holdfast.attach()
if before >= 2:
    signal.pause()
run.finish()
sys.exit(9)`;

/** Reports that it is finished, and then works until a file exists. */
const EXPORTS = `
import sys, time
from pathlib import Path
import holdfast
run = holdfast.attach()
for step in range(run.resume(lambda _: None), 3):
    run.step(step)
run.finish()
print("exports", flush=True)
while not Path(sys.argv[1]).exists():
    time.sleep(0.02)
print("exported", flush=True)`;

describe('a notice that comes when the trainer has finished and still runs', () => {
  it('asks for no save and sends the trainer no signal: the trainer has the grace to exit', async () => {
    using folder = tempFolder();
    const go = join(folder.path, 'go');
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run'), '--grace', '5m'], command: ['python3', '-c', EXPORTS, go] });
    await run.line(/^exports/);
    run.signal('SIGTERM');
    await run.line(/notice: SIGTERM/);
    run.letFinish(go);
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('exported') as string]);
    expect(stderr).not.toContain('flush');
  });
});

describe('a notice that leaves less time than the one before', () => {
  it('is recorded, logged and reported with its own deadline', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const dir = join(folder.path, 'run');
    const args = ['--dir', dir, '--grace', '5m', '--termination-log', words.path];
    const run = new Supervised({ args, command: trainerCommand('ignores', 'bare') });
    await run.line(/^ready/);
    run.signal('SIGTERM');
    await run.line(/notice: SIGTERM/);
    // A second Ctrl-C does not wait.
    run.signal('SIGINT');
    await run.line(/notice: Ctrl-C/);
    await run.pressAgain();
    const { code, stderr } = await run.ended;
    expect(code).toBe(143);
    const deadlines = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'deadline' ? [event.deadlineMs] : []));
    const [first = 0, second = 0] = deadlines;
    expect(deadlines).toHaveLength(2);
    expect(second).toBeLessThan(first);
    expect(words.take().map(({ provisional, deadlineMs }) => [provisional, deadlineMs])).toEqual([
      [true, first],
      [true, second],
      [false, second],
    ]);
    expect(stderr).toMatch(/ left: .*\n(.*\n)*.*(left|past the deadline): .*; shorter, because /);
  });
});

describe('a notice that comes when the trainer has ended', () => {
  it.each([0, 9])('does not change its exit code %i', async (code) => {
    using folder = tempFolder();
    const command = ['sh', '-c', `${PASSES_ON}\nexit ${code}`, 'sh', join(folder.path, 'ready')];
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run')], command });
    expect(await run.ended).toMatchObject({ code, stderr: expect.stringContaining('left behind') as string });
  });

  it('interrupts a run that waits for its restart, and the run does not count as finished, whatever the trainer reported', async () => {
    using folder = tempFolder();
    const command = ['python3', '-c', SAYS_AND_FAILS, join(folder.path, 'lives')];
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run'), '--restarts', '5'], command });
    await run.line(/restarts from the beginning in /);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });
});
