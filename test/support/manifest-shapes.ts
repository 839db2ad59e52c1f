import fc from 'fast-check';
import { Document } from 'yaml';

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const container = fc.record({
  name: fc.constantFrom('trainer', 'pytorch'),
  command: fc.constantFrom(
    ['python', 'train.py'],
    ['torchrun', '--min-nodes=1', '--max-nodes=2', 'train.py'],
    ['sh', '-c', 'python train.py | tee x'],
    ['holdfast', 'run', '--grace=90s', '--', 'python', 'train.py'],
    ['python', 'train.py', '--ckpt-dir=/ckpt'],
  ),
  resources: maybe(
    fc.constantFrom(
      { limits: { memory: '8Gi' } },
      { requests: { memory: '8Gi' }, limits: { cpu: 1 } },
      { limits: { 'nvidia.com/gpu': 1 } },
    ),
  ),
  volumeMounts: maybe(fc.constantFrom([{ name: 'v', mountPath: '/ckpt' }], [{ name: 'v', mountPath: '/data', readOnly: true }])),
  livenessProbe: maybe(fc.constant({ exec: { command: ['true'] } })),
  env: maybe(fc.constantFrom([{ name: 'A', value: 'x' }], [{ name: 'HOLDFAST_STAGE', value: '/s' }])),
});

const pod = fc.record({
  restartPolicy: maybe(fc.constantFrom('Never', 'OnFailure', 'Always')),
  terminationGracePeriodSeconds: maybe(fc.constantFrom(5, 30, 300)),
  containers: container.map((one) => [one]),
  volumes: maybe(fc.constantFrom([{ name: 'v', emptyDir: {} }], [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }])),
});

const job = fc.record({
  backoffLimit: maybe(fc.integer({ min: 0, max: 6 })),
  ttlSecondsAfterFinished: maybe(fc.constantFrom(0, 86_400)),
  completionMode: maybe(fc.constant('Indexed')),
  completions: maybe(fc.constantFrom(1, 4)),
  activeDeadlineSeconds: maybe(fc.constant(3600)),
  template: fc.record({ spec: pod }),
});

const object = fc.oneof(
  job.map((spec) => ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'a' }, spec })),
  fc
    .record({
      schedule: fc.constant('@daily'),
      concurrencyPolicy: maybe(fc.constantFrom('Allow', 'Replace')),
      jobTemplate: job.map((spec) => ({ spec })),
    })
    .map((spec) => ({ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'a' }, spec })),
  fc
    .record({
      replicas: fc.constant(1),
      restartPolicy: maybe(fc.constantFrom('OnFailure', 'ExitCode')),
      template: fc.record({ spec: pod }),
    })
    .map((master) => ({
      apiVersion: 'kubeflow.org/v1',
      kind: 'PyTorchJob',
      metadata: { name: 'a' },
      spec: { pytorchReplicaSpecs: { Master: master } },
    })),
  pod.map((spec) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec })),
);

/** Training manifests of many shapes, in block and in flow style. */
export const simpleShape: fc.Arbitrary<string> = fc
  .tuple(fc.array(object, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([objects, isFlow]) =>
    objects
      .map((one) => {
        const document = new Document(JSON.parse(JSON.stringify(one)));
        if (isFlow && document.contents !== null) (document.contents as { flow?: boolean }).flow = true;
        return document.toString({ lineWidth: 0 });
      })
      .join('---\n'),
  );
