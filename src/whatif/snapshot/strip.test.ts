import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { stripped } from './strip.ts';

const SECRET = 'hunter2';

/** A pod with the secret wherever people put secrets. */
const POD = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    name: 'p',
    namespace: 'ml',
    labels: { env: 'prod' },
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': SECRET,
      'team.example/token': SECRET,
      'holdfast.dev/last-sealed': '2026-11-18T09:00:00Z',
    },
    managedFields: [{ manager: SECRET }],
  },
  spec: {
    priority: 5,
    imagePullSecrets: [{ name: SECRET }],
    containers: [
      {
        name: 'c',
        image: 'i',
        command: [SECRET],
        args: [SECRET],
        env: [{ name: 'A', value: SECRET }],
        envFrom: [{ secretRef: { name: SECRET } }],
        livenessProbe: { exec: { command: [SECRET] } },
        lifecycle: { preStop: { exec: { command: [SECRET] } } },
        resources: { requests: { cpu: '1' } },
      },
    ],
    volumes: [
      { name: 'v', secret: { secretName: SECRET } },
      { name: 'e', emptyDir: { sizeLimit: '1Gi' } },
    ],
  },
  status: { phase: 'Running', containerStatuses: [{ name: 'c', state: { terminated: { message: SECRET } } }] },
};

describe('stripped', () => {
  it('keeps what scheduling needs of a pod, and nothing in which people keep secrets', () => {
    const [pod] = objects(POD).map(stripped);
    expect(JSON.stringify(pod?.fields)).not.toContain(SECRET);
    expect(pod?.fields).toMatchObject({
      metadata: { labels: { env: 'prod' }, annotations: { 'holdfast.dev/last-sealed': '2026-11-18T09:00:00Z' } },
      spec: {
        priority: 5,
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
        volumes: [{ name: 'v' }, { name: 'e', emptyDir: { sizeLimit: '1Gi' } }],
      },
      status: { phase: 'Running' },
    });
  });

  it('strips the pod templates of every kind that has some', () => {
    const template = { metadata: POD.metadata, spec: POD.spec };
    const all = objects(
      { kind: 'Job', metadata: { name: 'a' }, spec: { completions: 2, template } },
      { kind: 'PyTorchJob', metadata: { name: 'b' }, spec: { pytorchReplicaSpecs: { Worker: { replicas: 2, template } } } },
      { kind: 'JobSet', metadata: { name: 'c' }, spec: { replicatedJobs: [{ name: 'w', template: { spec: { template } } }] } },
      {
        kind: 'RayJob',
        metadata: { name: 'd' },
        spec: { entrypoint: SECRET, runtimeEnvYAML: SECRET, rayClusterSpec: { headGroupSpec: { template } } },
      },
      { kind: 'LeaderWorkerSet', metadata: { name: 'e' }, spec: { leaderWorkerTemplate: { size: 2, workerTemplate: template } } },
    ).map(stripped);
    expect(JSON.stringify(all.map(({ fields }) => fields))).not.toContain(SECRET);
    expect(all.map(({ fields }) => JSON.stringify(fields).includes('"cpu":"1"'))).toEqual([true, true, true, true, true]);
  });

  it('is the same a second time, for any object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('spec', 'status', 'metadata', 'env', 'template', 'containers', 'labels', 'x'), fc.jsonValue()),
        (fields) => {
          const [object] = objects({ ...fields, kind: 'Pod', metadata: { name: 'p' } });
          if (object === undefined) return;
          const once = stripped(object);
          expect(stripped(once).fields).toEqual(once.fields);
        },
      ),
    );
  });
});
