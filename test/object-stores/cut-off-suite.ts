import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import { newestTaken } from '../../src/remote/pointer/attempt-record.ts';
import { startAttempt } from '../../src/store/attempt/attempt.ts';
import { openRun, type OpenStore } from '../../src/store/folder/store.ts';
import { seal } from '../support/sealed-run.ts';
import { sliceOfCommit } from '../support/slice.ts';
import { openCopies, shipNewest, type StartingNode, startNode, startOver } from '../support/start-over.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { type Fault, startFaultProxy } from './fault-proxy.ts';
import type { Server } from './servers.ts';

/** What happens to the request at which a node is cut off; the store hears none after it. */
const ENDS: Readonly<Record<string, Fault>> = {
  'before the store hears it': { kind: 'answer', status: 403, body: '' },
  'after the store has done it': { kind: 'lose-response' },
};
const CUT_OFF: Fault = { kind: 'answer', status: 403, body: '' };
const ACTS = ['ship', 'start'] as const;
/** Of all requests, which take minutes; a few commits have them all. */
const REQUESTS_EACH = 3;

/**
 * A node is cut off from the store at each of its requests, as a node that dies is. The next start
 * must find the newest whole copy, take an attempt of its own, and never move the pointer back.
 */
export function cutOffSuite(server: () => Server): void {
  let counter = 0;

  it.each(Object.entries(ENDS))('a node that is cut off %s, at any request of a ship or a start, harms no later start', async (_, end) => {
    for (const act of ACTS) {
      const count = await cutOffAt(act, Infinity, end);
      const all = [...Array(count).keys()].map(String);
      expect(count).toBeGreaterThan(REQUESTS_EACH);
      for (const nth of sliceOfCommit(all, REQUESTS_EACH)) await cutOffAt(act, Number(nth), end);
    }
  });

  /** The number of requests that the node made. */
  async function cutOffAt(act: (typeof ACTS)[number], nth: number, end: Fault): Promise<number> {
    using folder = tempFolder(MEMORY);
    const [run, next, empty] = ['run', 'next', 'empty'].map((name) => join(folder.path, name)) as [string, string, string];
    for (const path of [run, next, empty]) mkdirSync(path);
    const plain = { url: `${server().scheme}://${server().bucket}/cut-off-${++counter}`, env: server().env };
    await using remote = openCopies(plain);
    const store = openRun(run);
    for (const step of [10, 20]) {
      await seal(store, await startAttempt(store, { gang: `gang ${step}` }), { step });
      if (act === 'start' || step === 10) await shipNewest(store, remote);
    }
    await using proxy = await startFaultProxy(server().port, ({ index }) => (index < nth ? null : index === nth ? end : CUT_OFF));
    const cut = { url: plain.url, env: { ...plain.env, [server().endpointVariable]: proxy.url } };
    const step = await unlessRefused(act === 'ship' ? ship(store, cut) : start({ ...cut, dir: next, tmp: folder.path }));
    const taken = await newestTaken(remote);
    // First the node itself, with what is in its folder; then a node that knows nothing.
    const again = await startOver({ ...plain, dir: act === 'ship' ? run : next, tmp: folder.path });
    const other = await startOver({ ...plain, dir: empty, tmp: folder.path });
    const what = `${act}, cut off at request ${nth}`;
    expect([what, step === null || step === 20, again.attempt > taken, other.attempt > again.attempt]).toEqual([what, true, true, true]);
    expect([what, again.step, again.pointer, other.step, other.pointer]).toEqual([what, 20, 21, 21, 22]);
    return proxy.requests.length;
  }
}

/** Ships the newest checkpoint; returns its step. */
async function ship(store: OpenStore, copies: Parameters<typeof openCopies>[0]): Promise<number> {
  await using remote = openCopies(copies);
  return await shipNewest(store, remote);
}

async function start(node: StartingNode): Promise<number> {
  return (await startNode(node)).step ?? 0;
}

async function unlessRefused(work: Promise<number>): Promise<number | null> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof HoldfastError) return null;
    throw thrown;
  }
}
