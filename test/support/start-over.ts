import { join } from 'node:path';
import { realClock } from '../../src/core/clock.ts';
import { HoldfastError } from '../../src/core/errors.ts';
import { createRng } from '../../src/core/rng.ts';
import type { ObjectStore } from '../../src/remote/backends/backend.ts';
import { parseLocation } from '../../src/remote/backends/location.ts';
import { openStore } from '../../src/remote/backends/open-store.ts';
import { openJournal } from '../../src/remote/copy/journal.ts';
import { shipCheckpoint } from '../../src/remote/copy/ship.ts';
import { readPointer } from '../../src/remote/pointer/pointer.ts';
import { UNLIMITED } from '../../src/remote/transfer/rate-limit.ts';
import { scan } from '../../src/store/folder/scan.ts';
import { openRun, type OpenStore } from '../../src/store/folder/store.ts';
import { begin } from '../../src/supervisor/attempt/begin.ts';
import { RunLog } from '../../src/supervisor/base/run-log.ts';
import { Notices } from '../../src/supervisor/notices/notices.ts';
import { Sealer } from '../../src/supervisor/saves/sealing/sealer.ts';
import { Shipping } from '../../src/supervisor/shipping/shipping.ts';
import { makeRunOptions } from './run-options.ts';
import { seal } from './sealed-run.ts';

/** A node that starts over copies. */
export interface StartingNode {
  /** The folder of the run on this node. */
  readonly dir: string;
  /** Where the copies are. */
  readonly url: string;
  /** A folder for files beside the run. */
  readonly tmp: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gets every sentence that the start prints. */
  readonly onWord?: (sentence: string) => void;
}

/** What a start decided: the step that it resumes from (null: from the beginning). */
export interface Started {
  readonly step: number | null;
  readonly attempt: number;
}

/** Starts as `holdfast run --ship` does, up to where the trainer would start. */
export function startNode(node: StartingNode): Promise<Started> {
  return started(node, async () => {});
}

/** What a start decided, and the step of the pointer after the next save was shipped. */
export interface StartedOver extends Started {
  readonly pointer: number | null;
}

/**
 * Starts, seals the next step, and ships it if the copies allow that. A refusal of the start is
 * thrown.
 */
export async function startOver(node: StartingNode): Promise<StartedOver> {
  await using remote = openCopies(node);
  const decided = await started(node, async (store, { attempt, resume }) => {
    await seal(store, attempt, { step: (resume?.step ?? 0) + 1 });
    await shipNewest(store, remote).catch((thrown: unknown) => {
      if (!(thrown instanceof HoldfastError)) throw thrown;
    });
  });
  return { ...decided, pointer: (await readPointer(remote))?.pointer?.step ?? null };
}

export function openCopies({ url, env = {} }: Pick<StartingNode, 'url' | 'env'>): ObjectStore {
  const memory = { get: () => null, set() {}, delete() {} };
  return openStore(locationOf(url), { env, clock: realClock, rng: createRng(1), signal: new AbortController().signal, memory });
}

/** Ships the newest checkpoint of the folder, and returns its step. */
export async function shipNewest(store: OpenStore, remote: ObjectStore): Promise<number> {
  const [newest] = scan(store).sealed;
  if (newest === undefined) throw new Error('nothing is sealed');
  const journal = openJournal(store.path, remote.url);
  const stop = new AbortController();
  await shipCheckpoint(newest, { store, remote, stop, journal, limit: UNLIMITED, parallel: 1, clock: realClock });
  return newest.manifest.step;
}

function locationOf(url: string) {
  const location = parseLocation(url);
  if (!location.ok) throw new Error(location.reason);
  return location.value;
}

async function started(
  { dir, url, tmp, env = {}, onWord = () => {} }: StartingNode,
  next: (store: OpenStore, begun: Awaited<ReturnType<typeof begin>>) => Promise<void>,
): Promise<Started> {
  const quiet = (): void => {};
  const plain = makeRunOptions(dir, { command: ['true'], tmp });
  const options = { ...plain, env: { ...plain.env, ...env } };
  const heard = { onNotice: quiet, onWithdrawn: quiet };
  const notices = new Notices(realClock, options.grace, heard, () => ({ node: null, pressure: [], limits: [] }));
  const log = new RunLog({ dir, node: 'n', clock: realClock, terminationLog: join(tmp, 'words'), say: onWord, shout: onWord });
  const sealer = new Sealer({ dir, clock: realClock });
  try {
    const shipping = await Shipping.open({ location: locationOf(url), limit: null }, options, { clock: realClock, log, notices });
    const store = openRun(dir, shipping?.run == null ? {} : { run: shipping.run });
    const live = { options, store, log, notices, sealer, shipping, stage: null, restart: 0 };
    const begun = await begin(live, 'next', new AbortController().signal);
    await next(store, begun);
    return { step: begun.resume?.step ?? null, attempt: begun.attempt.attempt };
  } finally {
    await sealer.close();
    await log.close();
  }
}
