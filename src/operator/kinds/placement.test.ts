import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { type Cloud, CLOUDS, cloudOf, withPlacement } from './clouds.ts';
import { choiceProblems, choicesOf } from './choices.ts';
import { ANNOTATIONS } from './annotations.ts';
import { withAvoided } from './placement.ts';

const node = (providerID: string | undefined, labels: Readonly<Record<string, string>> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '', labels },
  spec: { providerID },
});

describe('the cloud of a cluster', () => {
  it.each<[string, readonly ApiObject[], Cloud | null]>([
    ['of Google', [node('gce://p/z/n')], 'gke'],
    ['of AWS', [node('aws:///z/i-1'), node('aws:///z/i-2')], 'eks'],
    ['of AWS with Karpenter', [node('aws:///z/i-1'), node('aws:///z/i-2', { 'karpenter.sh/nodepool': 'p' })], 'karpenter'],
    ['of Azure', [node('azure:///x')], 'aks'],
    ['of none that is known', [node('kind://docker/k/n'), node(undefined)], null],
    ['without nodes', [], null],
  ])('%s is read from its nodes, Spot or not', (_, nodes, cloud) => {
    expect(cloudOf(nodes)).toBe(cloud);
  });
});

describe('a pod that is placed', () => {
  it.each(CLOUDS)('on Spot machines of %s selects and tolerates them, and keeps what its user wrote', (cloud) => {
    const spec = withPlacement({ nodeSelector: { disk: 'fast' }, tolerations: [{ key: 'gpu' }] }, cloud, 'spot');
    const [key, value] = Object.entries(spec['nodeSelector'] as Record<string, string>).find(([name]) => name !== 'disk') ?? ['', ''];
    expect(spec).toEqual({
      nodeSelector: { disk: 'fast', [key]: value },
      tolerations: [{ key: 'gpu' }, { key, operator: 'Equal', value, effect: 'NoSchedule' }],
    });
  });

  it('on demand keeps off Spot machines in each alternative of its affinity', () => {
    const off = { key: 'cloud.google.com/gke-spot', operator: 'NotIn', values: ['true'] };
    const required = (...terms: readonly unknown[]) => ({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
    });
    expect(withPlacement({}, 'gke', 'on-demand')).toEqual(required({ matchExpressions: [off] }));
    const [a, b] = [
      { key: 'a', operator: 'Exists' },
      { key: 'metadata.name', operator: 'In', values: ['n'] },
    ];
    expect(withPlacement(required({ matchExpressions: [a] }, { matchFields: [b] }), 'gke', 'on-demand')).toEqual(
      required({ matchExpressions: [a, off] }, { matchFields: [b], matchExpressions: [off] }),
    );
  });

  it('elsewhere than before keeps the preferences of its user', () => {
    const own = { weight: 7, preference: {} };
    const preferred = (...terms: readonly unknown[]) => ({
      affinity: { podAffinity: {}, nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } },
    });
    expect(withAvoided(preferred(own), { nodes: ['n'], zones: [] })).toEqual(
      preferred(own, { weight: 100, preference: { matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n'] }] } }),
    );
    expect(withAvoided(preferred(own), { nodes: [], zones: [] })).toEqual(preferred(own));
  });
});

describe('the annotations of a job', () => {
  it('choose nothing where there are none', () => {
    expect(choicesOf({})).toEqual({
      minRuntimeMs: 0,
      usesNativeGang: true,
      maySuspend: false,
      restart: null,
      isRunningLikeV1: false,
      trustsExitZero: false,
      forcesLostNodes: false,
      startDeadlineMs: null,
      prefersSpot: false,
      spotPatienceMs: 900_000,
      supervise: null,
      dir: null,
      watch: null,
      ship: null,
      trainsAgain: false,
    });
  });

  it.each(Object.entries(ANNOTATIONS).filter(([name]) => !['dir', 'watch', 'ship'].includes(name)))(
    'are ignored with a sentence where the value of %s means nothing',
    (_, annotation) => {
      const annotations = { [annotation]: 'maybe' };
      expect(choicesOf(annotations)).toEqual(choicesOf({}));
      expect(choiceProblems(annotations)).toEqual([expect.stringContaining(annotation)]);
    },
  );
});
