import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { freePort } from '../support/free-port.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Five saves, after some connections that stay open. */
const SAVES = `
for step in range(5):
    if run.step(step) or True:
        with run.save(step) as folder:
            (folder / 'state').write_text(str(step))
run.finish()
`;

/**
 * Opens connections to the supervisor until its own file descriptors are used up, closes none, and
 * continues training.
 */
const LEAKS = `
import holdfast, os, socket
run = holdfast.attach()
kept = []
try:
    while True:
        peer = socket.socket(socket.AF_UNIX)
        kept.append(peer)
        peer.connect(os.environ['HOLDFAST_SOCKET'])
except OSError:
    kept.pop().close()
# What the save needs itself.
for peer in kept[:20]:
    peer.close()
${SAVES}`;

const within = (files: number): string[] => ['sh', '-c', `ulimit -n ${files}; exec "$@"`, 'sh'];

it('a trainer that leaks SDK connections until its descriptors are used up loses no save', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = new Supervised({ args: ['--dir', dir], command: ['python3', '-c', LEAKS], within: within(400) });
  const { code, stderr } = await run.ended;
  const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-ended' ? [event.outcome] : []));
  expect([code, ends]).toEqual([0, ['sealed', 'sealed', 'sealed', 'sealed', 'sealed']]);
  expect(stderr).toContain('the trainer holds 200 connections to the socket of the SDK; more are refused');
});

/** Fills both the socket of the SDK and the status port, as far as they let it. */
const LEAKS_BOTH = `
import holdfast, os, socket, sys
run = holdfast.attach()
kept = []
def leak(family, address, count):
    for _ in range(count):
        peer = socket.socket(family)
        kept.append(peer)
        peer.connect(address)
leak(socket.AF_UNIX, os.environ['HOLDFAST_SOCKET'], 112)
leak(socket.AF_INET, ('127.0.0.1', int(sys.argv[1])), 126)
${SAVES}`;

it('a trainer that leaks connections to the SDK and to the status port loses no save under a low limit', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const port = String(await freePort());
  const args = ['--dir', dir, '--status', port];
  const { code } = await new Supervised({ args, command: ['python3', '-c', LEAKS_BOTH, port], within: within(256) }).ended;
  const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-ended' ? [event.outcome] : []));
  expect([code, ends]).toEqual([0, ['sealed', 'sealed', 'sealed', 'sealed', 'sealed']]);
});
