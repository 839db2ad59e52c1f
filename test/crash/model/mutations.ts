import type { DiskEvent, Entry, Recording } from './events.ts';

/** The protocol with one thing wrong: its requests to the disk. */
export interface Mutation {
  /** `drop sync-file a/b`, `swap sync-folder a with rename a -> b`. */
  readonly name: string;
  readonly events: readonly DiskEvent[];
}

/**
 * Leaves out each sync, and swaps each two neighbouring steps wherever the swapped order can run at
 * all.
 */
export function mutations(recording: Recording): Mutation[] {
  const steps = groupByStep(recording.events);
  return [...dropped(steps), ...swapped(recording, steps)];
}

function* dropped(steps: readonly (readonly DiskEvent[])[]): Generator<Mutation> {
  for (const [index, step] of steps.entries()) {
    const [event] = step;
    if (event?.kind !== 'sync-file' && event?.kind !== 'sync-folder') continue;
    yield { name: `drop ${event.step}`, events: steps.toSpliced(index, 1).flat() };
  }
}

function* swapped(recording: Recording, steps: readonly (readonly DiskEvent[])[]): Generator<Mutation> {
  for (const [index, first] of steps.entries()) {
    const second = steps[index + 1];
    if (second === undefined || commute(first, second)) continue;
    const events = steps.toSpliced(index, 2, second, first).flat();
    if (!canBeExecuted(recording, events)) continue;
    yield { name: `swap ${first[0]?.step} with ${second[0]?.step}`, events };
  }
}

/**
 * Two syncs in either order are the same protocol. So are two changes without anything between
 * them.
 */
function commute(first: readonly DiskEvent[], second: readonly DiskEvent[]): boolean {
  const isSync = ([event]: readonly DiskEvent[]): boolean => event?.kind === 'sync-file' || event?.kind === 'sync-folder';
  const isPromise = ([event]: readonly DiskEvent[]): boolean => event?.kind === 'promise';
  return isPromise(first) || isPromise(second) || isSync(first) === isSync(second);
}

function groupByStep(events: readonly DiskEvent[]): DiskEvent[][] {
  const groups: DiskEvent[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    // Making and filling a file is one step; no other step spans two events.
    if (last !== undefined && event.kind === 'data' && last[0]?.step === event.step) last.push(event);
    else groups.push([event]);
  }
  return groups;
}

/**
 * Whether every moved or removed name exists at that moment, every taken name is free, and every
 * file exists before its use.
 */
function canBeExecuted(recording: Recording, events: readonly DiskEvent[]): boolean {
  const names = new Map(recording.entries.map((entry) => [placeOf(entry), entry.inode]));
  const made = new Set([0, ...names.values()]);
  return events.every((event) => {
    if (event.kind === 'promise') return true;
    if (event.kind !== 'names') return made.has(event.inode);
    for (const entry of event.removes) if (names.get(placeOf(entry)) !== entry.inode) return false;
    for (const entry of event.removes) names.delete(placeOf(entry));
    for (const entry of event.adds) {
      if (names.has(placeOf(entry)) || !made.has(entry.folder)) return false;
      names.set(placeOf(entry), entry.inode);
      made.add(entry.inode);
    }
    return true;
  });
}

function placeOf({ folder, name }: Entry): string {
  return `${folder}/${name}`;
}
