import { type ApiObject, keyFromText, keyOf, keyText } from '../../kube/api/api-object.ts';
import type { Outcome } from '../../kube/api/outcome.ts';
import { PODS } from '../../kube/api/resources.ts';
import { numberAt, textAt } from '../../kube/objects/fields.ts';
import { ROOM_ANNOTATIONS } from '../kinds/annotations.ts';
import { kindNamed } from '../kinds/table.ts';
import { OWNER_INDEX, type OperatorWorld } from '../reconcile/world.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import { isMakingRoom, type RoomRecord, type RunRecord } from '../training-run/record.ts';
import { statusOf, subjectOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import type { RoomPlan } from '../kinds/room-plan.ts';

const STEP_MS = 1000;
/** A pod that does not get the room in this time has lost it. */
const BIND_MS = 60_000;

/**
 * Takes the next steps of a plan: reserves the node, asks the gangs, and drops the plan when it
 * came to nothing. The value is the time until the next look. Each step may be taken again.
 */
export async function followPlan(world: OperatorWorld, pod: ApiObject, plan: RoomPlan, signal: AbortSignal): Promise<Outcome<number>> {
  const victims = plan.runs.flatMap((run) => victimOf(world, run) ?? []);
  const rooms = victims.map(({ record }) => (record.room?.podUid === pod.metadata.uid ? record.room : null));
  if (isOver(plan, rooms, victims.length, world.clock.now())) return drop(world, pod, signal);
  if (textAt(pod, 'status', 'nominatedNodeName') !== plan.node) {
    // With this, the scheduler gives the room to no pod of equal or lower priority.
    const status = { nominatedNodeName: plan.node };
    const reserved = await world.api.patch(PODS, keyOf(pod), { status }, { subresource: 'status', signal });
    if (!reserved.ok) return reserved;
  }
  for (const victim of victims) {
    if (victim.record.room?.podUid === pod.metadata.uid && victim.record.room.askedAt === plan.askedAt) continue;
    if (isMakingRoom(victim.record)) return drop(world, pod, signal);
    const asked = await ask(world, victim, roomFor(world, pod, plan, victim), signal);
    if (!asked.ok) return asked;
  }
  return { ok: true, value: STEP_MS };
}

interface Victim {
  readonly run: ApiObject;
  readonly record: RunRecord;
}

function victimOf({ stores }: OperatorWorld, text: string): Victim | null {
  const run = stores.runs.get(keyFromText(text));
  const record = parseRecord(run?.['status']);
  return run === null || record === null || record.endedAt !== null ? null : { run, record };
}

/** The gangs are gone or stay, and the pod has no node all the same. */
function isOver(plan: RoomPlan, rooms: readonly (RoomRecord | null)[], found: number, nowMs: number): boolean {
  const asked = rooms.filter((room) => room !== null && room.askedAt === plan.askedAt);
  if (asked.some((room) => room?.stage === 'asked' || room?.stage === 'leaving')) return false;
  if (asked.some((room) => room?.stage === 'refused')) return true;
  if (found > 0 && asked.length < found) return false;
  const lastMs = Math.max(Date.parse(plan.askedAt), ...asked.map((room) => Date.parse(room?.leftAt ?? plan.askedAt)));
  return nowMs - lastMs > BIND_MS;
}

/** Takes back the plan and the promise of the node: the next look chooses anew. */
async function drop(world: OperatorWorld, pod: ApiObject, signal: AbortSignal): Promise<Outcome<number>> {
  const message = 'the room that was made is not enough, or was not made: choosing anew';
  const status = { nominatedNodeName: null };
  const released = await world.api.patch(PODS, keyOf(pod), { status }, { subresource: 'status', signal });
  if (!released.ok) return released;
  const annotations = { [ROOM_ANNOTATIONS.plan]: null };
  const dropped = await world.api.patch(PODS, keyOf(pod), { metadata: { annotations } }, { signal });
  if (!dropped.ok) return dropped;
  world.room.said.delete(pod.metadata.uid);
  world.voice.event(pod, { type: 'Warning', reason: 'RoomLost', message });
  return { ok: true, value: STEP_MS };
}

/** What the record of a gang says when it is asked. */
function roomFor({ stores }: OperatorWorld, pod: ApiObject, { askedAt, deadlineAt, node, parts }: RoomPlan, { run }: Victim): RoomRecord {
  const priorities = stores.pods.by(OWNER_INDEX, subjectOf(run)?.uid ?? '').map((each) => numberAt(each, 'spec', 'priority') ?? 0);
  return {
    stage: 'asked',
    pod: keyText(keyOf(pod)),
    podUid: pod.metadata.uid,
    node,
    priority: priorities.length === 0 ? 0 : Math.max(...priorities),
    pods: parts[keyText(keyOf(run))] ?? null,
    askedAt,
    deadlineAt,
    savedAt: null,
    savedStep: null,
    leftAt: null,
    backAt: null,
    reason: null,
  };
}

async function ask(world: OperatorWorld, { run, record }: Victim, room: RoomRecord, signal: AbortSignal): Promise<Outcome<null>> {
  const asked = { ...run, status: statusOf({ ...record, room }) };
  const written = await world.api.replace(TRAINING_RUNS, asked, { subresource: 'status', signal });
  if (!written.ok) return written;
  const what = room.pods === null ? `to leave ${room.node}` : `to give up ${room.pods.join(', ')} on ${room.node}`;
  const message = `asked to save and ${what} by ${room.deadlineAt}, to make room for ${room.pod}`;
  const job = jobOf(world, run);
  if (job !== null) world.voice.event(job, { type: 'Normal', reason: 'RoomAsked', message });
  return { ok: true, value: null };
}

function jobOf({ stores }: OperatorWorld, run: ApiObject): ApiObject | null {
  const subject = subjectOf(run);
  if (subject === null) return null;
  const kind = kindNamed(subject.kind);
  const store = kind === null ? stores.observed : stores.jobs.get(kind);
  return store?.get({ namespace: run.metadata.namespace ?? null, name: subject.name }) ?? null;
}
