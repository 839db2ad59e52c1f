import type { Clock } from '../../../core/clock.ts';
import type { Rng } from '../../../core/rng.ts';
import type { NodeKind } from '../../../domain/grace/effective-grace.ts';
import { CAUSES, makeNotice } from '../../../domain/grace/notice.ts';
import type { Notices } from '../notices.ts';
import { openAws } from './aws.ts';
import { openAzure } from './azure.ts';
import { isCloudMachine } from './cloud-machine.ts';
import { MetadataClient } from './metadata-client.ts';
import { openGcp } from './gcp.ts';
import type { Ask, Channel, MetadataService, Told } from './service.ts';
import { MetadataTrouble, type TroubleKind } from './trouble.ts';
import { type MetadataWish, type ServiceId, SERVICES } from '../../settings/metadata-wish.ts';

/** What the watch of a metadata service works with. */
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

/**
 * The longest pause between two looks: some clouds announce a reclaim 30 seconds ahead. A service
 * in trouble is asked as often, because it may have news when it answers again.
 */
const POLL_MS = 5000;
/**
 * Each look comes up to this share earlier, so that the machines of a fleet, all started together,
 * do not ask in step.
 */
const JITTER = 0.3;
/**
 * The least pause after a service that holds its answers back: one that only pretends to must not
 * keep the supervisor busy.
 */
const LEAST_PAUSE_MS = 500;
/**
 * After this many tries the supervisor warns. A machine that has just booted may reach its service
 * only after a while.
 */
const TRIES = 4;
/**
 * After these tries, a machine without any sign of a cloud looks for the service less often, but
 * never stops.
 */
const SELDOM_MS = 60_000;

/**
 * Finds the metadata service and reports its announcements until the signal is aborted. It never
 * throws: the worst result of a broken service is one line in the log.
 */
export async function watchMetadata(wish: NonNullable<MetadataWish>, world: MetadataWorld): Promise<void> {
  const client = new MetadataClient(wish.origin, world.clock);
  try {
    const found = await find(wish, client, world);
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

/** Asks all services at once, until one of them identifies itself. */
async function find({ services, isNamed }: NonNullable<MetadataWish>, client: MetadataClient, world: MetadataWorld): Promise<Found> {
  const { clock, signal } = world;
  const isCloud = isNamed || isCloudMachine();
  const complain = makeComplaints(services[0] ?? 'gcp', world.warn);
  for (let tries = 1; ; tries++) {
    const startedMs = clock.monotonic();
    const found = new AbortController();
    const stop = AbortSignal.any([signal, found.signal]);
    try {
      return await Promise.any(services.map((id) => recognised(id, { client, clock, stop })));
    } catch (thrown) {
      signal.throwIfAborted();
      const [first] = thrown instanceof AggregateError ? (thrown.errors as unknown[]) : [thrown];
      if (isNamed) complain(first);
      else if (tries === TRIES) world.say(unheard(isCloud));
    } finally {
      found.abort();
    }
    await pause(isCloud || tries < TRIES ? POLL_MS : SELDOM_MS, startedMs, world);
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

/** Looks again and again. A new event becomes a notice; an event that is gone is withdrawn. */
async function follow(channel: Channel, world: MetadataWorld, complain: Complain): Promise<void> {
  const { clock, signal } = world;
  let before: readonly Told[] = [];
  for (;;) {
    const startedMs = clock.monotonic();
    let isHeldBack = false;
    try {
      const look = await channel(signal);
      isHeldBack = look.isHeldBack;
      pass(before, look.told, world);
      before = look.told;
    } catch (thrown) {
      signal.throwIfAborted();
      complain(thrown);
    }
    if (isHeldBack) await clock.sleep(LEAST_PAUSE_MS, { signal });
    else await pause(POLL_MS, startedMs, world);
  }
}

function pass(before: readonly Told[], now: readonly Told[], { notices, clock }: MetadataWorld): void {
  for (const { cause, deadlineMs, detail } of now) {
    const known = before.find((told) => told.cause === cause);
    // Skips a known event. An advice is worth one save, whatever its end; a notice that ends the
    // attempt counts again when its deadline is new.
    if (known !== undefined && known.detail === detail && (known.deadlineMs === deadlineMs || !CAUSES[cause].terminating)) continue;
    const when = deadlineMs === null ? {} : { deadlineMs };
    notices.add(makeNotice({ cause, atMs: clock.now(), source: 'metadata', detail, ...when }));
  }
  for (const { cause } of before) if (!now.some((told) => told.cause === cause)) notices.withdraw({ cause, source: 'metadata' });
}

type Complain = (thrown: unknown) => void;

/**
 * Logs each kind of trouble once: a service that is out of order for a week does not fill the log.
 */
function makeComplaints(id: ServiceId, warn: (text: string) => void): Complain {
  const told = new Set<TroubleKind>();
  return (thrown) => {
    if (!(thrown instanceof MetadataTrouble)) throw thrown;
    if (told.has(thrown.kind)) return;
    told.add(thrown.kind);
    warn(`the metadata service of ${SERVICES[id]} ${thrown.message}; training continues, and Holdfast asks again`);
  };
}

/** Sleeps until the next look. The pause counts from the start of the last one. */
async function pause(ms: number, startedMs: number, { clock, rng, signal }: MetadataWorld): Promise<void> {
  const untilMs = startedMs + ms * (1 - JITTER * rng.next());
  await clock.sleep(Math.max(LEAST_PAUSE_MS, untilMs - clock.monotonic()), { signal });
}

function unheard(isCloud: boolean): string {
  if (isCloud) return `this seems to be a cloud machine, but no metadata service answers; Holdfast asks again every ${POLL_MS / 1000}s`;
  return 'no metadata service answers here, so only signals announce a reclaim; Holdfast asks again every minute (--metadata=off stops that)';
}
