import { isArray, isObject, type Json, type JsonObject, parseJson } from '../../../core/json.ts';
import type { Clock } from '../../../core/clock.ts';
import { excerpt } from '../../../core/printable.ts';
import type { Cause } from '../../../domain/grace/notice.ts';
import { type Ask, instantOf, type MetadataService, type Told } from './service.ts';
import { nonsense, unreachable } from './trouble.ts';

const INSTANCE = '/metadata/instance/compute?api-version=2021-02-01&format=json';
const EVENTS = '/metadata/scheduledevents?api-version=2020-07-01';
const ANSWER_MS = 3000;
/** The first question turns the events on for this machine, which may take two minutes. */
const FIRST_MS = 130_000;

const CAUSE_OF: Readonly<Record<string, Cause>> = {
  Preempt: 'azure-preempt',
  Terminate: 'azure-terminate',
  Freeze: 'azure-maintenance',
  Reboot: 'azure-maintenance',
  Redeploy: 'azure-maintenance',
};

/**
 * The scheduled events for this machine; the document also lists others of the same group. Of
 * several with one cause the first to come counts.
 */
export function readScheduledEvents(document: Json, machine: string, nowMs: number): readonly Told[] {
  const events = isObject(document) ? document['Events'] : undefined;
  if (!isArray(events)) throw nonsense('the scheduled events are not a list');
  const first = new Map<Cause, Told>();
  for (const event of events) {
    const told = isObject(event) && concerns(event, machine) ? readEvent(event, nowMs) : null;
    if (told === null) continue;
    const known = first.get(told.cause);
    if (known === undefined || (told.deadlineMs ?? Infinity) < (known.deadlineMs ?? Infinity)) first.set(told.cause, told);
  }
  return [...first.values()];
}

function concerns({ Resources: names, EventStatus: status }: JsonObject, machine: string): boolean {
  if (status !== 'Scheduled' && status !== 'Started') return false;
  return isArray(names) && names.some((name) => typeof name === 'string' && name.toLowerCase() === machine.toLowerCase());
}

function readEvent({ EventType: type, EventId: id, NotBefore: notBefore }: JsonObject, nowMs: number): Told | null {
  const cause = typeof type === 'string' && Object.hasOwn(CAUSE_OF, type) ? CAUSE_OF[type] : undefined;
  if (cause === undefined || typeof type !== 'string') return null;
  const detail = `${type}${typeof id === 'string' ? ` ${excerpt(id, 60)}` : ''}`;
  return { cause, deadlineMs: instantOf(notBefore, nowMs), detail };
}

/** The metadata service of Azure. */
export function openAzure(ask: Ask, clock: Clock): MetadataService {
  let compute: JsonObject | null = null;
  let hasAnswered = false;

  async function get(path: string, timeoutMs: number, signal: AbortSignal): Promise<Json> {
    const { status, body } = await ask({ path, headers: { Metadata: 'true' }, timeoutMs }, signal);
    if (status !== 200) throw unreachable(`status ${status}`);
    const json = parseJson(body);
    if (!json.ok) throw nonsense('no JSON');
    return json.value;
  }

  return {
    async recognise(signal) {
      const value = await get(INSTANCE, ANSWER_MS, signal);
      if (!isObject(value) || typeof value['name'] !== 'string' || typeof value['vmId'] !== 'string')
        throw nonsense('the machine has no name');
      compute = value;
    },
    // The machine's name is known since the service was recognised.
    nodeKind: () => Promise.resolve(compute?.['priority'] === 'Spot' ? 'azure-spot' : null),
    channels: [
      async (signal) => {
        const document = await get(EVENTS, hasAnswered ? ANSWER_MS : FIRST_MS, signal);
        hasAnswered = true;
        const machine = compute?.['name'];
        return { told: readScheduledEvents(document, typeof machine === 'string' ? machine : '', clock.now()), isHeldBack: false };
      },
    ],
  };
}
