import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { gpuNode, world } from '../../../test/support/whatif-world.ts';
import { answerApply } from './answer.ts';

const OTHERS: readonly unknown[] = [
  { kind: 'Namespace', metadata: { name: 'ml' } },
  { kind: 'PriorityClass', metadata: { name: 'train' }, value: 5 },
  { kind: 'PersistentVolume', metadata: { name: 'disk' }, spec: { nodeAffinity: { required: { nodeSelectorTerms: [] } } } },
  { kind: 'PersistentVolumeClaim', metadata: { name: 'data', namespace: 'ml' }, spec: { volumeName: 'disk' } },
];

/** What the answer says about two pods of a Job. */
function notesOf(spec: object, namespace = 'ml'): readonly string[] {
  const template = { spec: { containers: [{ name: 'c' }], ...spec } };
  const job = { kind: 'Job', metadata: { name: 'j', namespace }, spec: { parallelism: 2, template } };
  const { notes } = answerApply(world(gpuNode('a', 4), ...OTHERS), objects(job), { namespace, replicas: null });
  return notes.filter(({ kind }) => kind !== 'assumed').map(({ kind, text }) => `${kind}: ${text}`);
}

const claim = (claimName: string): object => ({ volumes: [{ persistentVolumeClaim: { claimName } }] });

describe('the notes on the pods of a manifest', () => {
  it.each<readonly [title: string, note: string, spec: object, namespace: string]>([
    ['another scheduler', 'not-modelled: the scheduler volcano: ml/j-0, ml/j-1 counts as', { schedulerName: 'volcano' }, 'ml'],
    ['a DRA claim, once for all pods', 'not-modelled: ml/j-0, ml/j-1: it has DRA', { resourceClaims: [{ name: 'x' }] }, 'ml'],
    ['a class that is not there', 'bad-input: there is no PriorityClass trian in the input', { priorityClassName: 'trian' }, 'ml'],
    ['a namespace that is not there', 'bad-input: there is no namespace nope in the input', {}, 'nope'],
    ['a claim that is not there', 'bad-input: there is no claim ml/lost in the input', claim('lost'), 'ml'],
    ['a volume that only some nodes reach', 'not-modelled: volumes that only some nodes reach: ml/j-0, ml/j-1', claim('data'), 'ml'],
    [
      'a quantity that cannot be read',
      'bad-input: ml/j-0, ml/j-1: spec.containers[0].resources.requests.cpu is "four"',
      { containers: [{ name: 'c', resources: { requests: { cpu: 'four' } } }] },
      'ml',
    ],
  ])('name %s', (_, note, spec, namespace) => {
    const notes = notesOf(spec, namespace);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(note);
  });

  it('are none where all is there', () => {
    expect(notesOf({ priorityClassName: 'train' })).toEqual([]);
    expect(notesOf({ priorityClassName: 'system-node-critical' })).toEqual([]);
  });
});
