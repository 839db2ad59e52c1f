import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Rank } from '../sdk/sdk-server.ts';
import { dumpStacks } from './dump-stacks.ts';

const SIGNAL = constants.signals.SIGUSR2;
const rankOf = (child: ChildProcess, dumpSignal: number | null): Rank => ({
  rank: 0,
  world: 1,
  pid: child.pid ?? 0,
  dumpSignal,
  send() {},
});
const kin = (...children: readonly ChildProcess[]) => ({ living: () => children.map(({ pid }) => pid ?? 0) });

describe.skipIf(process.platform !== 'linux')('the signal that asks for stacks', () => {
  it('reaches only a process that has a handler for it, because it would kill any other', async () => {
    const bare = spawn('sleep', ['60'], { stdio: 'ignore' });
    const ready = spawn('sh', ['-c', 'trap "echo stacks; exit 0" USR2; echo ready; while :; do sleep 0.05; done'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      await once(ready.stdout, 'data');
      expect(dumpStacks([rankOf(bare, SIGNAL)], kin(bare, ready))).toBe(0);
      expect(dumpStacks([rankOf(ready, null)], kin(bare, ready))).toBe(0);
      // An invented process id may belong to a stranger.
      expect(dumpStacks([rankOf(ready, SIGNAL)], kin(bare))).toBe(0);
      expect(dumpStacks([rankOf(bare, SIGNAL), rankOf(ready, SIGNAL)], kin(bare, ready))).toBe(1);
      await once(ready, 'exit');
      expect([bare.exitCode, bare.signalCode]).toEqual([null, null]);
    } finally {
      bare.kill('SIGKILL');
      ready.kill('SIGKILL');
    }
  });
});
