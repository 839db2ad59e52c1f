import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/**
 * Runs in mounts of its own: a small disk, filled this far, on which the kubelet keeps its pods,
 * and an /etc/hosts as a pod has it.
 */
const POD = [
  'unshare',
  '--mount',
  '--propagation=private',
  'sh',
  '-ec',
  `mount -t tmpfs -o size=8m none "$1"; mkdir -p "$1/pods/u"; cp /etc/hosts "$1/pods/u/etc-hosts"
   head -c "$2" /dev/zero > "$1/fill"; mount --bind "$1/pods/u/etc-hosts" /etc/hosts; shift 2; exec "$@"`,
  'sh',
];
const canMount =
  process.platform === 'linux' &&
  spawnSync('unshare', ['--mount', '--propagation=private', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

const deadlineOf = (run: string): { readonly graceMs: number; readonly reasons: string } | undefined =>
  readLedger(run).events.flatMap(({ event }) =>
    event.kind === 'deadline' ? [{ graceMs: event.graceMs, reasons: event.reasons.map(({ reason }) => reason).join('; ') }] : [],
  )[0];

describe.skipIf(!canMount)('a SIGTERM in a pod (mounting needs root)', () => {
  it.each([
    [
      'whose node is nearly out of disk may be an eviction, which leaves two seconds',
      '7700000',
      2000,
      /short of disk \([\d.]+ % of the disk under/,
    ],
    ['whose node has room leaves what was promised', '1000', 60_000, /^SIGTERM leaves 1m \(--grace\)$/],
  ])('%s', async (_, fill, graceMs, reasons) => {
    using folder = tempFolder();
    const [dir, node] = [join(folder.path, 'run'), join(folder.path, 'node')];
    mkdirSync(node);
    const run = new Supervised({
      args: ['--dir', dir, '--grace', '1m', '--every', '10steps'],
      command: trainerCommand('dies', 'sdk'),
      within: [...POD, node, fill],
    });
    await run.line(/sealed step 10 /);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(deadlineOf(dir)).toEqual({ graceMs, reasons: expect.stringMatching(reasons) as string });
    expect(readdirSync(node)).toEqual([]);
  });
});
