import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import type { NodeKind } from '../../domain/effective-grace.ts';
import { CAUSES, makeNotice } from '../../domain/notice.ts';
import type { Notices } from '../notices.ts';
import { openAws } from './aws.ts';
import { openAzure } from './azure.ts';
import { MetadataClient } from './client.ts';
import { openGcp } from './gcp.ts';
import type { Ask, Channel, MetadataService, Told } from './service.ts';
import { MetadataTrouble, type TroubleKind } from './trouble.ts';
import { type MetadataWish, type ServiceId, SERVICES } from './wish.ts';

export interface MetadataWorld {
  readonly notices: Notices;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly onNodeKind: (kind: NodeKind) => void;
}

const OPEN: Readonly<Record<ServiceId, (ask: Ask, clock: Clock) => MetadataService>> = { gcp: openGcp, aws: openAws, azure: openAzure };

/** Between two looks, more or less: everybody's machines were started by the same hand, and must not ask in step. */
const POLL_MS = 5000;
const JITTER = 0.2;
/** Trouble makes the looks rarer, down to one in this many. */
const MOST_PATIENCE = 16;
/** A service that holds its answers back is asked again at once; one that only pretends to must not keep us busy. */
const LEAST_PAUSE_MS = 500;
/** A machine that has just been started may reach its service only after a while; one that never does has none. */
const TRIES = 4;
const TRY_AGAIN_MS = 15_000;

/**
 * Finds the metadata service, says what it announces until the signal is aborted, and never throws: whatever the service does, the worst that
 * comes of it is one line in the log.
 */
export async function watchMetadata(wish: NonNullable<MetadataWish>, world: MetadataWorld): Promise<void> {
  const client = new MetadataClient(wish.origin, world.clock);
  try {
    const found = await find(wish, client, world);
    if (found === null) return;
    const { id, service } = found;
    world.say(`listens to the metadata service of ${SERVICES[id]}`);
    const complain = makeComplaints(id, world.warn);
    await Promise.all([noteKind(service, world, complain), ...service.channels.map((channel) => follow(channel, world, complain))]);
  } catch (thrown) {
    if (!world.signal.aborted) throw thrown;
  }
}

interface Found {
  readonly id: ServiceId;
  readonly service: MetadataService;
}

/** Asks for all services at once; the first that is surely one counts. Null when none is there, which is usual and not worth a word. */
async function find({ services, isNamed }: NonNullable<MetadataWish>, client: MetadataClient, world: MetadataWorld): Promise<Found | null> {
  const { clock, signal } = world;
  const complain = makeComplaints(services[0] ?? 'gcp', world.warn);
  for (let tries = 1; ; tries++) {
    const found = new AbortController();
    const stop = AbortSignal.any([signal, found.signal]);
    try {
      return await Promise.any(services.map((id) => recognised(id, { client, clock, stop })));
    } catch (thrown) {
      signal.throwIfAborted();
      const [first] = thrown instanceof AggregateError ? (thrown.errors as unknown[]) : [thrown];
      if (isNamed) complain(first);
      else if (tries === TRIES) return null;
    } finally {
      found.abort();
    }
    await clock.sleep(jittered(TRY_AGAIN_MS * Math.min(tries, MOST_PATIENCE), world.rng), { signal });
  }
}

async function recognised(
  id: ServiceId,
  { client, clock, stop }: { readonly client: MetadataClient; readonly clock: Clock; readonly stop: AbortSignal },
): Promise<Found> {
  const service = OPEN[id]((question, signal) => client.ask(question, signal), clock);
  await service.recognise(stop);
  return { id, service };
}

async function noteKind(service: MetadataService, { signal, onNodeKind }: MetadataWorld, complain: Complain): Promise<void> {
  try {
    const kind = await service.nodeKind(signal);
    if (kind !== null) onNodeKind(kind);
  } catch (thrown) {
    signal.throwIfAborted();
    complain(thrown);
  }
}

/** Looks again and again. What is new becomes a notice; what is not there any more is withdrawn. */
async function follow(channel: Channel, world: MetadataWorld, complain: Complain): Promise<void> {
  const { clock, rng, signal } = world;
  let before: readonly Told[] = [];
  for (let failures = 0; ; ) {
    let isHeldBack = false;
    try {
      const look = await channel(signal);
      isHeldBack = look.isHeldBack;
      failures = 0;
      pass(before, look.told, world);
      before = look.told;
    } catch (thrown) {
      signal.throwIfAborted();
      failures++;
      complain(thrown);
    }
    const pauseMs = isHeldBack ? LEAST_PAUSE_MS : jittered(POLL_MS * Math.min(MOST_PATIENCE, 2 ** failures), rng);
    await clock.sleep(pauseMs, { signal });
  }
}

function pass(before: readonly Told[], now: readonly Told[], { notices, clock }: MetadataWorld): void {
  for (const { cause, deadlineMs, detail } of now) {
    const known = before.find((told) => told.cause === cause);
    // An advice is worth one save, whenever it says to end; of what ends the attempt the deadline counts.
    if (known !== undefined && known.detail === detail && (known.deadlineMs === deadlineMs || !CAUSES[cause].terminating)) continue;
    const when = deadlineMs === null ? {} : { deadlineMs };
    notices.add(makeNotice({ cause, atMs: clock.now(), source: 'metadata', detail, ...when }));
  }
  for (const { cause } of before) if (!now.some((told) => told.cause === cause)) notices.withdraw({ cause, source: 'metadata' });
}

type Complain = (thrown: unknown) => void;

/** Each kind of trouble is told once: a service that is out of order for a week does not fill the log. */
function makeComplaints(id: ServiceId, warn: (text: string) => void): Complain {
  const told = new Set<TroubleKind>();
  return (thrown) => {
    if (!(thrown instanceof MetadataTrouble)) throw thrown;
    if (told.has(thrown.kind)) return;
    told.add(thrown.kind);
    warn(`the metadata service of ${SERVICES[id]} ${thrown.message}; training goes on, and it is asked again`);
  };
}

function jittered(ms: number, rng: Rng): number {
  return ms * (1 + JITTER * (2 * rng.next() - 1));
}
