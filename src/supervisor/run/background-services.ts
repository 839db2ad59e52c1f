import type { OpenStore } from '../../store/folder/store.ts';
import { storageConcerns } from '../../store/folder/suitability.ts';
import { shrinkMemory } from '../../core/memory.ts';
import type { Rng } from '../../core/rng.ts';
import { NODE_KINDS } from '../../domain/grace/effective-grace.ts';
import type { RunLog } from '../base/run-log.ts';
import type { CurrentSession } from '../attempt/attempt-options.ts';
import type { Notices } from '../notices/notices.ts';
import type { RunOptions } from '../settings/run-options.ts';
import type { Rehearsal } from './rehearsal.ts';
import { preparePressure } from '../notices/pressure.ts';
import { socketCandidates, sweepSocketFolders } from '../sdk/socket-folder.ts';
import type { NodeFacts } from '../notices/node-facts.ts';

/** What the background services of a run work with. */
export interface BackgroundWorld {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly log: RunLog;
  readonly notices: Notices;
  readonly surroundings: NodeFacts;
  readonly current: CurrentSession;
  readonly rehearsal: Rehearsal;
  readonly rng: Rng;
  readonly signal: AbortSignal;
}

/**
 * When to shrink the memory. At the first time the trainer loads its own libraries; by the second
 * the search for a metadata service is over.
 */
const SETTLED_MS = [2000, 20_000];

/**
 * Starts the services that run beside the trainer: the metadata service, the live status, the
 * warnings about storage. They start with the first trainer and load their modules only then, so
 * that they do not delay it. An error in one of them is logged, and training goes on.
 */
export function startBackgroundServices(world: BackgroundWorld): void {
  const { options, store, log, surroundings } = world;
  try {
    warnOfStorage(world);
    surroundings.notePressure(preparePressure(store.path, options.env));
    sweepSocketFolders(socketCandidates(options.env), store.owner);
  } catch (thrown) {
    log.complain(thrown);
  }
  const parts = [watchMetadataService(world), serveLiveStatus(world), shrinkLater(world)];
  for (const part of parts) part.catch((thrown: unknown) => log.complain(thrown));
}

/**
 * Warns about a folder whose content will be lost, while there is nothing to lose yet. Only the
 * first of several nodes warns.
 */
function warnOfStorage({ options: { gang, ship }, store, log }: BackgroundWorld): void {
  if ((gang?.nodeRank ?? 0) > 0) return;
  for (const concern of storageConcerns(store.path, { isCopied: ship !== null })) log.warn(`${store.path}: ${concern}`);
}

/**
 * Gives back the memory that only the start needed, because the supervisor may be idle for weeks.
 * The rehearsal then loads again what a notice needs.
 */
async function shrinkLater({ store, surroundings, rehearsal, signal }: BackgroundWorld): Promise<void> {
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

async function watchMetadataService({ options, store, log, notices, surroundings, rng, signal }: BackgroundWorld): Promise<void> {
  if (options.metadata === null) return;
  const { watchMetadata } = await import('../notices/metadata/watch.ts');
  await watchMetadata(options.metadata, {
    notices,
    clock: store.clock,
    rng: rng.fork('metadata'),
    signal,
    say: (text) => log.say(text),
    warn: (text) => log.warn(text),
    onNodeKind: (kind) => {
      surroundings.noteNode('metadata', kind);
      log.say(NODE_KINDS[kind].reason);
    },
  });
}

async function serveLiveStatus(world: BackgroundWorld): Promise<void> {
  const { options, signal, log } = world;
  if (options.status === null) return;
  const [{ serveStatus }, { LiveStatus }, { formatAddress }] = await Promise.all([
    import('../status/status-server.ts'),
    import('../status/live-status.ts'),
    import('../settings/status-address.ts'),
  ]);
  const live = new LiveStatus(world);
  const server = await serveStatus(options.status, () => live.now(), world.store.clock);
  log.say(`status on http://${formatAddress(server.address)}/status, metrics on /metrics`);
  if (signal.aborted) server.close();
  else signal.addEventListener('abort', () => server.close(), { once: true });
}
