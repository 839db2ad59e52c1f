import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { supervisedRuns } from '../support/supervised-runs.ts';
import type { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const start = supervisedRuns();

/** Two nodes over one folder. What the first one's trainer ends with stands in a file, as soon as that is there; the second one's waits until it is told to end. */
function startNode(folder: string, node: number, args: readonly string[] = []): Supervised {
  const wait = 'until [ -e "$0/code" ]; do read -r -t 0.05 _ <> "$0/never"; done; exit "$(cat "$0/code")"';
  const command = ['bash', '-c', `[ -p "$0/never" ] || mkfifo "$0/never"; echo started; ${node === 0 ? wait : 'exec sleep 1000'}`, folder];
  const env = { HOLDFAST_NODE: `node-${node}` };
  return start({
    args: ['--dir', join(folder, 'run'), '--nodes=2', `--node-rank=${node}`, '--termination-log', join(folder, `word-${node}`), ...args],
    command,
    env,
  });
}

async function startBoth(folder: string, args: readonly string[] = []): Promise<readonly [Supervised, Supervised]> {
  const nodes = [startNode(folder, 0, args), startNode(folder, 1)] as const;
  await Promise.all(nodes.map((node) => node.line(/^started/)));
  return nodes;
}

async function tellSecond(second: Supervised): Promise<void> {
  second.signal('SIGTERM');
  expect((await second.ended).code).toBe(143);
}

const wordOf = (folder: string): unknown => JSON.parse(readFileSync(join(folder, 'word-0'), 'utf8'));

describe('a node whose other node was told to end', () => {
  it.each([1, 0])('is interrupted, too: its trainer, which then ends with %d, has neither failed nor finished', async (code) => {
    using folder = tempFolder();
    const [first, second] = await startBoth(folder.path);
    await tellSecond(second);
    writeFileSync(join(folder.path, 'code'), String(code));
    const sentence = `interrupted with node-1, resumable; the trainer’s own exit code was ${code}`;
    const { code: seen, stderr } = await first.ended;
    expect([seen, stderr]).toEqual([143, expect.stringContaining(sentence) as string]);
    expect(wordOf(folder.path)).toMatchObject({ exitCode: 143, end: 'interrupted', cause: 'sigterm', trainer: { code }, sentence });
  });

  it('starts again with its replacement where restarts are allowed, and spends none of them', async () => {
    using folder = tempFolder();
    const [first, second] = await startBoth(folder.path, ['--restarts=1']);
    await tellSecond(second);
    writeFileSync(join(folder.path, 'code'), '1');
    await first.line(/restarts from the beginning as soon as all nodes are there; an interruption spends no restart/);
    const replacement = startNode(folder.path, 1);
    await replacement.line(/^started/);
    // Nobody is interrupted this time.
    expect(await first.line(/1 of 1|0 of 1 restarts left/)).toContain('0 of 1 restarts left');
  });
});

describe('a node whose trainer fails while nobody was told to end', () => {
  it('has failed, with the trainer’s own code', async () => {
    using folder = tempFolder();
    const [first] = await startBoth(folder.path);
    writeFileSync(join(folder.path, 'code'), '7');
    expect((await first.ended).code).toBe(7);
  });
});
