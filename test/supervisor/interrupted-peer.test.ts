import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { supervisedRuns } from '../support/supervised-runs.ts';
import type { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const start = supervisedRuns();

/**
 * Runs two nodes over one folder. The first trainer ends with the exit code in a file, as soon as
 * the file exists. The second trainer runs until its supervisor ends it.
 */
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

describe('a node whose peer is interrupted', () => {
  it.each([1, 0])('is interrupted, too: its trainer then exits with %d and has neither failed nor finished', async (code) => {
    using folder = tempFolder();
    const [first, second] = await startBoth(folder.path);
    await tellSecond(second);
    writeFileSync(join(folder.path, 'code'), String(code));
    const sentence = `interrupted with node-1, resumable; the trainer’s own exit code was ${code}`;
    const { code: seen, stderr } = await first.ended;
    expect([seen, stderr]).toEqual([143, expect.stringContaining(sentence) as string]);
    expect(wordOf(folder.path)).toMatchObject({ exitCode: 143, end: 'interrupted', cause: 'sigterm', trainer: { code } });
    expect(wordOf(folder.path)).toMatchObject({
      sentence: expect.stringMatching(/^interrupted with .*; (the last good step is|nothing is sealed)/) as string,
    });
  });

  it('restarts with the replacement of the peer if restarts are allowed, and uses up none of them', async () => {
    using folder = tempFolder();
    const [first, second] = await startBoth(folder.path, ['--restarts=1']);
    await tellSecond(second);
    writeFileSync(join(folder.path, 'code'), '1');
    await first.line(/restarts from the beginning as soon as all nodes are there; an interruption spends no restart/);
    const replacement = startNode(folder.path, 1);
    await replacement.line(/^started/);
    // This time no node gets a signal.
    expect(await first.line(/[01] of 1 restart left/)).toContain('0 of 1 restart left');
  });
});

/** Makes saves until the file `enough` exists, and stays after its end until `leave` exists. */
const TRAINER = `
import os, sys, time, holdfast
rank, folder = int(sys.argv[1]), sys.argv[2]
os.environ.update(RANK=str(rank), WORLD_SIZE='2')
def waits_for(name):
    return not os.path.exists(os.path.join(folder, name))
run = holdfast.attach()
step = run.resume(lambda folder: None)
while waits_for('enough'):
    time.sleep(0.002)
    if run.step(step):
        with run.save(step) as saved:
            print('writes', flush=True)
            while waits_for('written'):
                time.sleep(0.02)
            (saved / f'state-{rank}').write_text('state')
    step += 1
run.finish()
print('finished', flush=True)
while waits_for('leave'):
    time.sleep(0.02)
`;

function startRanks(folder: string, every: string): readonly [Supervised, Supervised] {
  const args = ['--dir', join(folder, 'run'), '--nodes=2', '--grace=30s', '--every', every];
  const startRank = (rank: number): Supervised =>
    start({
      args: [...args, `--node-rank=${rank}`],
      command: ['python3', '-c', TRAINER, String(rank), folder],
      env: { HOLDFAST_NODE: `node-${rank}` },
    });
  return [startRank(0), startRank(1)];
}

describe('two nodes whose ranks cannot agree', () => {
  it('that are both told to end after their trainers have finished do not wait for each other', async () => {
    using folder = tempFolder();
    const nodes = startRanks(folder.path, '1000000steps');
    await Promise.all(nodes.map((node) => node.line(/has attached/)));
    writeFileSync(join(folder.path, 'enough'), '');
    await Promise.all(nodes.map((node) => node.line(/^finished/)));
    for (const node of nodes) node.signal('SIGTERM');
    await Promise.all(nodes.map((node) => node.line(/notice: SIGTERM/)));
    writeFileSync(join(folder.path, 'leave'), '');
    expect(await Promise.all(nodes.map(async ({ ended }) => (await ended).code))).toEqual([0, 0]);
  });

  it('seal the save that both write when one of them is told to end', async () => {
    using folder = tempFolder();
    const nodes = startRanks(folder.path, '20steps');
    await Promise.all(nodes.map((node) => node.line(/^writes/)));
    nodes[1].signal('SIGTERM');
    await nodes[0].line(/node-1 was told to end/);
    writeFileSync(join(folder.path, 'written'), '');
    const ends = await Promise.all(nodes.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([143, 143]);
    for (const { stderr } of ends) expect(stderr).toMatch(/sealed step \d+ /);
  });
});

describe('a node whose trainer fails without an interruption', () => {
  it('has failed, with the trainer’s own code', async () => {
    using folder = tempFolder();
    const [first] = await startBoth(folder.path);
    writeFileSync(join(folder.path, 'code'), '7');
    expect((await first.ended).code).toBe(7);
  });
});
