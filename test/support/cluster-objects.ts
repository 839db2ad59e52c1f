import { objectOf, type KubeObject } from '../../src/kube/objects/object.ts';

/** The creation time of the pods; they start two seconds later. */
const MADE_AT = '2026-11-18T08:00:00Z';

/**
 * The objects from these values. Values that are not objects are left out, as when a dump is read.
 */
export function objects(...values: readonly unknown[]): readonly KubeObject[] {
  return values.flatMap((value) => objectOf(value) ?? []);
}

/** A container's status after its end. */
export function ended(exitCode: number, more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const terminated = { exitCode, reason, startedAt: '2026-11-18T08:00:02Z', finishedAt: '2026-11-18T09:00:02Z', ...more };
  return { name: 'trainer', restartCount: 0, state: { terminated } };
}

/** A pod of node-1 that has ended, with all its conditions. */
export function pod(
  status: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const { metadata, spec } = more as { readonly metadata?: object; readonly spec?: object };
  return {
    kind: 'Pod',
    metadata: { name: 'train-0', namespace: 'ml', uid: 'u1', creationTimestamp: MADE_AT, ...metadata },
    spec: { nodeName: 'node-1', containers: [{ name: 'trainer' }], ...spec },
    status: {
      startTime: '2026-11-18T08:00:01Z',
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: MADE_AT },
        { type: 'Ready', status: 'False', lastTransitionTime: '2026-11-18T09:00:02Z' },
      ],
      ...status,
    },
  };
}

/** The node, ready since the given time. */
export function node(readySince: string, more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: readySince }];
  return { kind: 'Node', metadata: { name: 'node-1' }, spec: more, status: { conditions } };
}

/** The condition on a pod that was disrupted. */
export function disruption(reason: string, message = ''): Readonly<Record<string, unknown>> {
  return { type: 'DisruptionTarget', status: 'True', reason, message, lastTransitionTime: '2026-11-18T09:00:00Z' };
}
