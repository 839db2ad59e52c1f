import type { OpenStore } from '../checkpoint/store/store.ts';
import { storageConcerns } from '../checkpoint/store/suitability.ts';
import { shrinkMemory } from '../core/memory.ts';
import type { Rng } from '../core/rng.ts';
import { NODE_KINDS } from '../domain/effective-grace.ts';
import type { Book } from './book.ts';
import type { CurrentLife } from './live-once.ts';
import type { Notices } from './notices.ts';
import type { RunOptions } from './options.ts';
import type { Rehearsal } from './rehearsal.ts';
import { preparePressure } from './pressure.ts';
import { socketCandidates, sweepSocketFolders } from './sdk/socket-folder.ts';
import type { Surroundings } from './surroundings.ts';

export interface BystanderWorld {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly book: Book;
  readonly notices: Notices;
  readonly surroundings: Surroundings;
  readonly current: CurrentLife;
  readonly rehearsal: Rehearsal;
  readonly rng: Rng;
  readonly signal: AbortSignal;
}

/** By then the trainer is loading its own libraries, and waits for nobody here; later also the search for a metadata service is over. */
const SETTLED_MS = [2000, 20_000];

/**
 * What goes on beside the lives of the trainer, from the first on: the metadata service, the status, the look at what is short. It begins when the trainer
 * runs, so that nothing of it delays the start, and what it needs is loaded only then. Whatever fails here is told, and training goes on.
 */
export function startBystanders(world: BystanderWorld): void {
  const { options, store, book, surroundings } = world;
  try {
    warnOfStorage(world);
    surroundings.notePressure(preparePressure(store.path, options.env));
    sweepSocketFolders(socketCandidates(options.env), store.owner);
  } catch (thrown) {
    book.complain(thrown);
  }
  const parts = [watchMetadataService(world), serveLiveStatus(world), shrinkLater(world)];
  for (const part of parts) part.catch((thrown: unknown) => book.complain(thrown));
}

/** That a run is kept where it will be lost is told while there is nothing to lose yet; of several nodes over one folder one tells it. */
function warnOfStorage({ options: { gang, ship }, store, book }: BystanderWorld): void {
  if ((gang?.nodeRank ?? 0) > 0) return;
  for (const concern of storageConcerns(store.path, { isCopied: ship !== null })) book.warn(`${store.path}: ${concern}`);
}

/** For weeks there will be little to do, and what was needed to start is not needed then; what a notice needs is. */
async function shrinkLater({ store, surroundings, rehearsal, signal }: BystanderWorld): Promise<void> {
  for (const ms of SETTLED_MS) {
    try {
      await store.clock.sleep(ms, { signal });
    } catch {
      return;
    }
    shrinkMemory();
    surroundings.now();
    rehearsal.play();
  }
}

async function watchMetadataService({ options, store, book, notices, surroundings, rng, signal }: BystanderWorld): Promise<void> {
  if (options.metadata === null) return;
  const { watchMetadata } = await import('./metadata/watch.ts');
  await watchMetadata(options.metadata, {
    notices,
    clock: store.clock,
    rng: rng.fork('metadata'),
    signal,
    say: (text) => book.say(text),
    warn: (text) => book.warn(text),
    onNodeKind: (kind) => {
      surroundings.noteNode('metadata', kind);
      book.say(NODE_KINDS[kind].reason);
    },
  });
}

async function serveLiveStatus(world: BystanderWorld): Promise<void> {
  const { options, signal, book } = world;
  if (options.status === null) return;
  const [{ serveStatus }, { LiveStatus }, { formatAddress }] = await Promise.all([
    import('./status/server.ts'),
    import('./status/live-status.ts'),
    import('./status/address.ts'),
  ]);
  const live = new LiveStatus(world);
  const server = await serveStatus(options.status, () => live.now());
  book.say(`status on http://${formatAddress(server.address)}/status, metrics on /metrics`);
  if (signal.aborted) server.close();
  else signal.addEventListener('abort', () => server.close(), { once: true });
}
