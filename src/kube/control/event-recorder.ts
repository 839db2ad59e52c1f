import type { Clock } from '../../core/clock.ts';
import type { ApiObject, NewObject, ObjectKey } from '../api/api-object.ts';
import type { KubeApi } from '../api/kube-api.ts';
import type { Failure } from '../api/outcome.ts';
import { EVENTS } from '../api/resources.ts';
import { timestamp } from '../api/timestamp.ts';

/** An event about an object, as `kubectl describe` shows it. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** What records events. */
export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  /** The name of the reporting controller. */
  readonly component: string;
  /** The name of the reporting process. */
  readonly instance: string;
  readonly onTrouble: (failure: Failure) => void;
}

/** An event that is written, or to be written. */
interface Entry {
  readonly about: ApiObject;
  note: EventNote;
  /** Null: not yet created. */
  key: ObjectKey | null;
  count: number;
  firstMs: number;
  lastMs: number;
  isPending: boolean;
}

/** What tells the events of one object and reason that differ in their message alone. */
interface Group {
  messages: number;
  sinceMs: number;
}

/** Beyond this number, messages of one object and reason within the window share one event. */
const MOST_MESSAGES = 50;
const WINDOW_MS = 10 * 60_000;
const MOST_ENTRIES = 4096;
const MOST_PENDING = 1000;
const LONGEST_MESSAGE = 1024;
const COMBINED = '(combined from similar events): ';

/**
 * Writes events in the background: a repeated event raises a count, and above fifty similar ones
 * are combined. What cannot be written is dropped, because an event must never hold up the work.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #groups = new Map<string, Group>();
  readonly #pending: Entry[] = [];
  #wake: () => void = () => undefined;
  #names = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Records an event. Returns at once. */
  record(about: ApiObject, note: EventNote): void {
    const nowMs = this.#options.clock.now();
    const short = { ...note, message: note.message.slice(0, LONGEST_MESSAGE) };
    const message = this.#isCombined(about, note, nowMs) ? COMBINED : short.message;
    const id = [about.metadata.uid, note.type, note.reason, message].join('\n');
    const known = this.#entries.get(id);
    const entry =
      known !== undefined && nowMs - known.lastMs < WINDOW_MS
        ? known
        : { about, note: short, key: null, count: 0, firstMs: nowMs, lastMs: nowMs, isPending: false };
    entry.count += 1;
    entry.lastMs = nowMs;
    if (message === COMBINED) entry.note = { ...short, message: `${COMBINED}${short.message}`.slice(0, LONGEST_MESSAGE) };
    remember(this.#entries, id, entry);
    if (entry.isPending || this.#pending.length >= MOST_PENDING) return;
    entry.isPending = true;
    this.#pending.push(entry);
    this.#wake();
  }

  /** Writes what is recorded until the signal ends it. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<never> {
    for (;;) {
      await this.flush({ signal });
      await this.#next(signal);
    }
  }

  /** Writes what is recorded by now. */
  async flush({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    for (let entry = this.#pending.shift(); entry !== undefined; entry = this.#pending.shift()) {
      entry.isPending = false;
      await this.#write(entry, signal);
    }
  }

  async #write(entry: Entry, signal: AbortSignal): Promise<void> {
    const { api, onTrouble } = this.#options;
    if (entry.key !== null) {
      const fields = { count: entry.count, lastTimestamp: timestamp(entry.lastMs), message: entry.note.message };
      const patched = await api.patch(EVENTS, entry.key, fields, { signal });
      if (patched.ok) return;
      // The API server forgets events after an hour.
      if (patched.kind !== 'notFound') return onTrouble(patched);
    }
    const key = this.#keyFor(entry);
    const created = await api.create(EVENTS, this.#eventOf(entry, key), { signal });
    if (created.ok) entry.key = key;
    else onTrouble(created);
  }

  #keyFor({ about, firstMs }: Entry): ObjectKey {
    this.#names += 1;
    const suffix = `${firstMs.toString(16)}${this.#names.toString(16).padStart(4, '0')}`;
    return { namespace: about.metadata.namespace ?? 'default', name: `${about.metadata.name}.${suffix}` };
  }

  #eventOf({ about, note, count, firstMs, lastMs }: Entry, { namespace, name }: ObjectKey): NewObject {
    const { component, instance } = this.#options;
    const { uid, resourceVersion } = about.metadata;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: namespace ?? 'default' },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name: about.metadata.name,
        ...(about.metadata.namespace === undefined ? {} : { namespace: about.metadata.namespace }),
        uid,
        resourceVersion,
      },
      ...note,
      count,
      firstTimestamp: timestamp(firstMs),
      lastTimestamp: timestamp(lastMs),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }

  /** Whether the object had too many different messages of that reason lately. */
  #isCombined(about: ApiObject, { type, reason }: EventNote, nowMs: number): boolean {
    const id = [about.metadata.uid, type, reason].join('\n');
    const known = this.#groups.get(id);
    const group = known !== undefined && nowMs - known.sinceMs < WINDOW_MS ? known : { messages: 0, sinceMs: nowMs };
    group.messages += 1;
    remember(this.#groups, id, group);
    return group.messages > MOST_MESSAGES;
  }

  #next(signal: AbortSignal): Promise<void> {
    if (this.#pending.length > 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      this.#wake = () => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      if (signal.aborted) abort();
    });
  }
}

/** Sets an entry as the newest, and forgets the oldest beyond the limit. */
function remember<T>(map: Map<string, T>, id: string, value: T): void {
  map.delete(id);
  map.set(id, value);
  if (map.size > MOST_ENTRIES) map.delete(map.keys().next().value ?? '');
}
