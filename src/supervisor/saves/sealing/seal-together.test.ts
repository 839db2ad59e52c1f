import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { type Attempt, startAttempt } from '../../../store/attempt/attempt.ts';
import { realFs } from '../../../store/disk/durable-fs.ts';
import { lastGood } from '../../../store/resume/last-good.ts';
import { beginSave, type Save } from '../../../store/commit/save.ts';
import { openRun, type OpenStore, type World } from '../../../store/folder/store.ts';
import type { SealedSave } from './seal-messages.ts';
import { namesOf } from './one-writer.ts';
import { sealTogether } from './seal-together.ts';
import type { SharedWork } from './seal-messages.ts';

const WORLD = 4;
const NODES = 2;
const RANKS = [
  [0, 1],
  [2, 3],
] as const;

interface Node {
  readonly store: OpenStore;
  readonly save: Save;
  readonly stop: AbortController;
  seal(change?: Partial<SharedWork>): Promise<SealedSave>;
}

/** Two nodes that have begun one save. */
async function makeNodes(folder: string, partsOfSecond: Partial<World> = {}): Promise<readonly [Node, Node]> {
  const dir = join(folder, 'run');
  mkdirSync(dir);
  openRun(dir);
  const attempts: Attempt[] = [];
  const make = async (nodeRank: 0 | 1): Promise<Node> => {
    const store = openRun(dir, nodeRank === 1 ? partsOfSecond : {});
    const attempt = await startAttempt(store, { gang: 'g' });
    attempts.push(attempt);
    const save = beginSave(store, attempt, { step: 7, worldSize: WORLD, save: 'step-7-x' });
    const stop = new AbortController();
    const work = { kind: 'seal-together', save, nodes: NODES, nodeRank, ranks: RANKS[nodeRank], boundMs: 60_000 } as const;
    return {
      store,
      save,
      stop,
      seal: (change = {}) => sealTogether(store, { ...work, ...change }, { signal: stop.signal, onBytes: () => {} }),
    };
  };
  const nodes = [await make(0), await make(1)] as const;
  expect(attempts[0]).toEqual(attempts[1]);
  return nodes;
}

function write({ save }: Node, ranks: readonly number[]): void {
  for (const rank of ranks) writeFileSync(join(save.data, `rank-${rank}.json`), `state of ${rank}`);
}

describe('a save of several nodes', () => {
  it('is one checkpoint with the receipts of all ranks, and every node reports it', async () => {
    using folder = tempFolder();
    const [first, second] = await makeNodes(folder.path);
    write(first, RANKS[0]);
    writeFileSync(join(first.save.data, 'state.pt'), 'of all');
    const early = first.seal();
    write(second, RANKS[1]);
    const sealed = await Promise.all([early, second.seal()]);
    expect(sealed[0]).toMatchObject({ name: 'step-7', bytes: 4 * 10 + 6 });
    expect(sealed[1]).toMatchObject({ name: 'step-7', path: sealed[0].path, bytes: sealed[0].bytes });
    const { checkpoint } = await lastGood(first.store, { level: 'deep' });
    expect(checkpoint?.manifest).toMatchObject({ step: 7, worldSize: WORLD });
    expect(checkpoint?.manifest.receipts.map(({ rank }) => rank)).toEqual([0, 1, 2, 3]);
    expect(readFileSync(join(sealed[0].path, 'rank-3.json'), 'utf8')).toBe('state of 3');
  });

  it('is sealed by no node if ranks of two nodes wrote the same file', async () => {
    using folder = tempFolder();
    const [first, second] = await makeNodes(folder.path);
    writeFileSync(join(first.save.data, 'state.pt'), 'of whom?');
    for (const rank of [0, 2]) writeFileSync(namesOf(first.save.folder, rank), JSON.stringify(['state.pt']));
    const sealed = await Promise.allSettled([first.seal(), second.seal()]);
    expect(sealed).toMatchObject([
      { status: 'rejected', reason: { code: 'SAVE_MIXED' } },
      { status: 'rejected', reason: { code: 'SAVE_INCOMPLETE' } },
    ]);
    expect((await lastGood(first.store)).checkpoint).toBeNull();
  });

  it('is reported by another node only when its name is durable there too', async () => {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    let isSick = false;
    const fs = {
      ...realFs,
      fsyncFolder(path: string) {
        if (isSick && path === run && realFs.stat(join(run, 'step-7')) !== null) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        realFs.fsyncFolder(path);
      },
    };
    const [first, second] = await makeNodes(folder.path, { fs });
    write(first, RANKS[0]);
    write(second, RANKS[1]);
    isSick = true;
    const [one, other] = await Promise.allSettled([first.seal(), second.seal()]);
    expect(one).toMatchObject({ status: 'fulfilled', value: { name: 'step-7' } });
    expect(other).toMatchObject({
      status: 'rejected',
      reason: { code: 'STORE_FAILED', message: expect.stringContaining('durable') as string },
    });
    expect(await lastGood(first.store)).toMatchObject({ checkpoint: { name: 'step-7' }, because: 'io-error' });
  });

  it('is lost on all nodes if one of them does not write, and its staging is removed', async () => {
    using folder = tempFolder();
    const [first, second] = await makeNodes(folder.path);
    write(first, RANKS[0]);
    await expect(first.seal({ boundMs: 0 })).rejects.toMatchObject({
      code: 'SAVE_INCOMPLETE',
      message: expect.stringContaining('node 1') as string,
    });
    await expect(second.seal()).rejects.toMatchObject({ code: 'SAVE_INCOMPLETE' });
    expect((await lastGood(first.store)).checkpoint).toBeNull();
    expect(readdirSync(join(folder.path, 'run')).filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  it('is lost if one node abandons it after its receipts, however far the other is', async () => {
    using folder = tempFolder();
    const [first, second] = await makeNodes(folder.path);
    write(first, RANKS[0]);
    write(second, RANKS[1]);
    const other = second.seal();
    const given = expect(other).rejects.toThrow();
    second.stop.abort(new Error('no time left'));
    await given;
    await expect(first.seal()).rejects.toMatchObject({ code: 'SAVE_INCOMPLETE' });
    expect((await lastGood(first.store)).checkpoint).toBeNull();
  });

  it('is never committed by an older gang', async () => {
    using folder = tempFolder();
    const [first, second] = await makeNodes(folder.path);
    write(first, RANKS[0]);
    write(second, RANKS[1]);
    await startAttempt(openRun(join(folder.path, 'run')), { gang: 'newer' });
    const lost = await Promise.allSettled([first.seal(), second.seal()]);
    expect(lost).toMatchObject([
      { status: 'rejected', reason: { code: 'ATTEMPT_FENCED' } },
      { status: 'rejected', reason: { code: 'ATTEMPT_FENCED' } },
    ]);
  });
});
