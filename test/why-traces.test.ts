import { describe, expect, it } from 'vitest';
import type { EndCause } from '../src/domain/causes/catalogue.ts';
import { ClusterState } from '../src/kube/objects/cluster-state.ts';
import type { KubeObject } from '../src/kube/objects/object.ts';
import { factsOfPod } from '../src/why/facts/facts.ts';
import { judge, type Judgement } from '../src/why/judge.ts';
import { objectsOf, podsOf, recordedTraces, type RecordedTrace, type Way, waysOf } from './support/trace-objects.ts';

/**
 * The actions in the scenarios of these names; other pods than the first may have another end. The
 * first match counts.
 */
const DONE: readonly (readonly [RegExp, EndCause, Readonly<Record<string, EndCause>>?])[] = [
  [/^cron-replace$/, 'OWNER_DELETED'],
  [/^cron-/, 'FINISHED'],
  [/^job-budget/, 'API_EVICTION'],
  [/^job-(crash|backoff-|policy-fail|policy-ignore)/, 'TRAINER_FAILED'],
  [/^job-on-failure$/, 'TRAINER_FAILED'],
  [/^job-created-suspended$|^job-ttl$/, 'FINISHED'],
  [/^job-deadline$/, 'JOB_DEADLINE'],
  [/^job-(delete|force)-/, 'POD_DELETED'],
  [/^job-empty-dir/, 'EMPTY_DIR_LIMIT'],
  [/^job-(evict-|policy-count)/, 'API_EVICTION'],
  [/^job-index-evict/, 'API_EVICTION', { 'pod 1.1': 'FINISHED' }],
  [/^job-index-too-many$/, 'JOB_ENDED', { 'pod 1.1': 'TRAINER_FAILED' }],
  [/^job-index-/, 'FINISHED', { 'pod 1.1': 'TRAINER_FAILED', 'pod 1.2': 'TRAINER_FAILED' }],
  [/^job-oom/, 'OUT_OF_MEMORY'],
  [/^job-success-policy$/, 'FINISHED', { 'pod 1.1': 'JOB_ENDED', 'pod 2.1': 'JOB_ENDED' }],
  [/^job-success-policy-count$/, 'FINISHED', { 'pod 1.1': 'JOB_ENDED' }],
  [/^(job|kubectl)-suspend/, 'JOB_SUSPENDED'],
  [/^kubectl-(apply-immutable|delete-background|delete-foreground)$|^owner-(background|foreground)$/, 'OWNER_DELETED'],
  [/^kubectl-drain/, 'API_EVICTION'],
  [/^kubectl-(describe|wait)$/, 'TRAINER_FAILED'],
  [/^kubectl-taint$/, 'NODE_TAINT'],
  [/^(kubectl-(create|cronjob|logs|configuration|run|priority|validation)|owner-orphan)/, 'FINISHED'],
  [/^kubectl-delete-|^pod-/, 'POD_DELETED'],
  [/^node-critical-pod/, 'CRITICAL_POD'],
  [/^node-deleted/, 'NODE_DELETED'],
  [/^node-disk-pressure/, 'DISK_PRESSURE'],
  [/^node-ephemeral-storage/, 'EPHEMERAL_STORAGE_LIMIT'],
  [/^node-kubelet-away$/, 'FINISHED'],
  [/^node-(kubelet-stopped|power-lost)/, 'NODE_LOST'],
  [/^node-memory-pressure/, 'MEMORY_PRESSURE'],
  [/^node-rejects/, 'POD_REJECTED'],
  [/^node-shutdown/, 'MACHINE_SHUTDOWN'],
  [/^node-taint|^taint-tolerated-for/, 'NODE_TAINT'],
  [/^preemption-never$|^taint-tolerated-later$/, 'FINISHED'],
  [/^preemption/, 'SCHEDULER_PREEMPTION'],
];
/**
 * Pods whose end is not the subject of the scenario: a replacement, or a pod that is cleaned up.
 */
const BESIDE = /^(kubectl-(apply-immutable|exec|rollout|delete-grace|configuration|validation)|cron-|node-kubelet-stopped-exit-0)/;

/** The kubelet's messages about an eviction, as in its source code. */
const EVICTION: Partial<Record<EndCause, string>> = {
  DISK_PRESSURE:
    'The node was low on resource: ephemeral-storage. Threshold quantity: 300Mi, available: 212Mi. Container trainer was using 96Mi, request is 0, has larger consumption of ephemeral-storage. ',
  MEMORY_PRESSURE:
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container trainer was using 900Mi, request is 64Mi, has larger consumption of memory. ',
  EMPTY_DIR_LIMIT: 'Usage of EmptyDir volume "scratch" exceeds the limit "4Mi". ',
  EPHEMERAL_STORAGE_LIMIT: 'Pod ephemeral local storage usage exceeds the total limit of containers 8Mi. ',
  POD_REJECTED: 'Pod was rejected: The node had condition: [DiskPressure]. ',
  MACHINE_SHUTDOWN: 'Pod was terminated in response to imminent node shutdown.',
  CRITICAL_POD: 'Pod was preempted by Kubelet to accommodate a critical pod.',
};

interface Case {
  readonly trace: RecordedTrace;
  readonly role: string;
  readonly way: Way;
  readonly expected: EndCause;
}

const CASES: readonly (readonly [string, Case])[] = recordedTraces().flatMap((trace) =>
  podsOf(trace)
    .filter((role) => /^pod (1|\d\.1)$/.test(role) || !BESIDE.test(trace.name))
    .flatMap((role) => {
      const done = DONE.find(([name]) => name.test(trace.name));
      if (done === undefined) return [];
      return waysOf(trace, role).map((way): readonly [string, Case] => {
        // A kubelet that is started again on a short node refuses the pod, or evicts it.
        const isRefused = trace.name === 'node-memory-pressure-refused' && way.disruption === null;
        const expected = isRefused ? 'POD_REJECTED' : (done[2]?.[role] ?? done[1]);
        const exit = way.exit === null ? 'nobody heard how' : `${way.exit.code} ${way.exit.reason}`;
        return [
          `${trace.name}, ${role}, ${exit}${way.disruption === null ? '' : ', marked'}${way.isFinal ? ', deleted for good' : ''}`,
          { trace, role, way, expected },
        ];
      });
    }),
);

const objectsIn = ({ trace, role, way, expected }: Case): readonly KubeObject[] =>
  objectsOf(trace, role, way, { eviction: EVICTION[expected] ?? '' });
/** A file may have lost a condition; the API server of the plays has lost none. */
const fromFile = (objects: readonly KubeObject[]): Judgement => verdictOf(new ClusterState(objects));
const fromCluster = (objects: readonly KubeObject[]): Judgement =>
  verdictOf(new ClusterState(objects, { unread: new Set(), marksDisruptions: true }));
const verdictOf = (state: ClusterState): Judgement => {
  const [pod] = state.pods;
  if (pod === undefined) throw new Error('there is no pod');
  return judge(factsOfPod(pod, state, { lanes: [], events: [], runs: new Map() }));
};
const without = (objects: readonly KubeObject[], kind: string): readonly KubeObject[] => objects.filter((object) => object.kind !== kind);

/** The pod with other fields in its status. */
function withStatus(
  objects: readonly KubeObject[],
  change: (status: Record<string, unknown>) => Record<string, unknown>,
): readonly KubeObject[] {
  return objects.map((object) => {
    if (object.kind !== 'Pod') return object;
    const status = object.fields['status'] as Record<string, unknown>;
    return { ...object, fields: { ...object.fields, status: change(status) } };
  });
}
const conditionsOf = (status: Record<string, unknown>) => status['conditions'] as readonly { readonly type: string }[];
const DELETED = new Set<EndCause>(['API_EVICTION', 'NODE_TAINT', 'NODE_LOST', 'SCHEDULER_PREEMPTION', 'NODE_DELETED']);

/** The cause, or for a plain deletion what a file cannot show. */
function expectFromFile({ expected }: Case, objects: readonly KubeObject[]): void {
  const judged = fromFile(objects);
  const isHidden = expected === 'POD_DELETED';
  expect(judged).toMatchObject(isHidden ? { cause: 'CANNOT_TELL', confidence: 'none' } : { cause: expected });
  if (!isHidden) return;
  expect(judged.candidates[0]).toBe('POD_DELETED');
  expect(judged.missing.join()).toContain('a condition DisruptionTarget on the pod,the answer of its API server');
}

describe('the cause of every end that was recorded on a real cluster', () => {
  it('is known for every scenario in which a pod ended', () => {
    const unknown = recordedTraces().filter((trace) => podsOf(trace).length > 0 && !DONE.some(([name]) => name.test(trace.name)));
    expect(unknown.map(({ name }) => name)).toEqual(
      ['kubectl-exec', 'kubectl-rollout'].filter((name) => recordedTraces().some((trace) => trace.name === name)),
    );
    expect(CASES.length).toBeGreaterThan(100);
  });

  it.each(CASES)('%s: follows from the recorded objects', (_, one) => {
    expect(fromCluster(objectsIn(one))).toMatchObject({ cause: one.expected });
  });

  it.each(CASES)('%s: follows from the same objects in a file, or what they lack is named', (_, one) => {
    expectFromFile(one, objectsIn(one));
  });

  it.each(CASES)('%s: is the same after the events have expired, or CANNOT_TELL', (_, one) => {
    const objects = without(objectsIn(one), 'Event');
    // A pod that exits with 0 at a limit of storage leaves only events.
    const isHidden = one.way.exit?.code === 0 && one.way.disruption === null && !one.way.hasReason;
    const isReason = one.expected === 'EMPTY_DIR_LIMIT' || one.expected === 'EPHEMERAL_STORAGE_LIMIT' || one.expected === 'POD_REJECTED';
    const isVague = (isHidden && isReason) || one.expected === 'FINISHED';
    const others = [...(one.expected === 'NODE_LOST' ? ['NODE_TAINT'] : []), ...(isVague ? ['CANNOT_TELL'] : [])];
    expect([one.expected, ...others]).toContain(fromCluster(objects).cause);
    if (!isVague && one.expected !== 'NODE_LOST') expectFromFile(one, objects);
  });

  const marked = CASES.filter(([, { way }]) => way.disruption !== null);
  it.each(marked)('%s: without conditions and events is CANNOT_TELL, and names no other cause', (_, one) => {
    const bare = withStatus(without(objectsIn(one), 'Event'), (status) => ({ ...status, conditions: [] }));
    for (const judged of [fromFile(bare), fromCluster(bare)]) {
      // The reason of a failed pod stays and shows the same.
      expect(['CANNOT_TELL', one.expected]).toContain(judged.cause);
      if (DELETED.has(one.expected))
        expect(judged).toMatchObject({ cause: 'CANNOT_TELL', candidates: expect.arrayContaining(['POD_DELETED']) as unknown });
    }
  });

  it.each(marked)('%s: in a file without its one condition is CANNOT_TELL, and names no other cause', (_, one) => {
    const stripped = withStatus(objectsIn(one), (status) => ({
      ...status,
      conditions: conditionsOf(status).filter(({ type }) => type !== 'DisruptionTarget'),
    }));
    for (const objects of [stripped, without(stripped, 'Event')]) {
      const { cause, missing, candidates } = fromFile(objects);
      expect(['CANNOT_TELL', one.expected]).toContain(cause);
      if (cause !== 'CANNOT_TELL') continue;
      expect(missing).toContain('a condition DisruptionTarget on the pod');
      expect(candidates.length).toBeGreaterThan(1);
    }
  });

  it.each(CASES.filter(([, { way, expected }]) => way.disruption === 'DeletionByTaintManager' && expected === 'NODE_LOST'))(
    '%s: is not certainly a taint if the node is back and the events have expired',
    (_, one) => {
      const back = without(objectsIn(one), 'Event').filter(({ kind }) => kind !== 'Node');
      expect(fromCluster(back)).not.toMatchObject({ cause: 'NODE_TAINT', confidence: 'certain' });
    },
  );

  it.each(CASES.filter(([, { expected }]) => expected !== 'OUT_OF_MEMORY'))('%s: is never called out of memory', (_, one) => {
    const objects = objectsIn(one);
    for (const some of [
      objects,
      without(objects, 'Event'),
      withStatus(objects, (status) => ({ ...status, conditions: [], reason: undefined, message: undefined })),
    ]) {
      expect(fromFile(some).cause).not.toMatch(/OUT_OF_MEMORY/);
    }
  });
});
