import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { newestAttempt, startAttempt } from '../../store/attempt/attempt.ts';
import { openRun, type OpenStore } from '../../store/folder/store.ts';
import { type Begun, meet, type MeetOptions } from './meet.ts';
import { GangPlace } from './gang-folder.ts';

const NODES = 3;
const { signal } = new AbortController();

function makeStore(folder: string): OpenStore {
  const dir = join(folder, 'run');
  mkdirSync(dir, { recursive: true });
  return openRun(dir);
}

/** Starts the supervisor of one node, until it may start its trainer. */
function come(folder: string, nodeRank: number, options: Partial<MeetOptions> = {}): Promise<Begun> {
  const store = makeStore(folder);
  const begin = async (): Promise<Begun> => ({
    attempt: await startAttempt(store, { gang: store.makeId() }),
    resume: { path: join(store.path, 'step-7'), step: 7, save: 's', worldSize: 4 },
  });
  return meet(store, { gang: { id: 'job/1', nodes: NODES, nodeRank }, begin, signal, say: () => {}, ...options });
}

describe('the supervisors of the nodes of a gang', () => {
  it('start one attempt from one checkpoint, in any order of arrival', async () => {
    using folder = tempFolder();
    const begun = await Promise.all([2, 0, 1].map((node) => come(folder.path, node)));
    expect(begun[0]).toMatchObject({ attempt: { attempt: 1 }, resume: { path: join(folder.path, 'run/step-7'), step: 7 } });
    expect(begun).toEqual([begun[0], begun[0], begun[0]]);
  });

  it('start a newer attempt after a restart, which fences the one before', async () => {
    using folder = tempFolder();
    await Promise.all([0, 1, 2].map((node) => come(folder.path, node)));
    const again = await Promise.all([0, 1, 2].map((node) => come(folder.path, node)));
    expect(again.map(({ attempt }) => attempt.attempt)).toEqual([2, 2, 2]);
    expect(newestAttempt(makeStore(folder.path))).toEqual(again[0]?.attempt);
  });

  it('start again with the replacement of a supervisor that died before they called it', async () => {
    using folder = tempFolder();
    const died = new AbortController();
    const first = come(folder.path, 2, { signal: died.signal });
    died.abort(new Error('killed'));
    await expect(first).rejects.toThrow('killed');
    const others = [come(folder.path, 0), come(folder.path, 1)];
    // The announcement of the dead supervisor is still there, and calling it has no effect.
    const place = new GangPlace(makeStore(folder.path), 'job/1');
    while (place.read('call.json') === null) await new Promise((resolve) => setImmediate(resolve));
    const begun = await Promise.all([...others, come(folder.path, 2)]);
    expect(begun.map(({ attempt }) => attempt.attempt)).toEqual([1, 1, 1]);
  });

  it('refuse a second process for the same node', async () => {
    using folder = tempFolder();
    const over = new AbortController();
    const first = come(folder.path, 1, { signal: over.signal });
    const second = come(folder.path, 1, { signal: over.signal });
    await expect(first).rejects.toMatchObject({ code: 'GANG_INCOMPLETE', message: 'another process has joined as node 1' });
    over.abort(new Error('over'));
    await expect(second).rejects.toThrow('over');
  });
});
