type Fields = Readonly<Record<string, unknown>>;

/** A job that breaks one rule of v1's validation. */
export interface InvalidJob {
  readonly title: string;
  readonly kind: 'PyTorchJob' | 'TFJob';
  readonly name?: string;
  readonly spec: Fields;
  /** The path of the field, and the rule, as v1 spells them. */
  readonly error: string;
}

const container = (name: string, more: Fields = { image: 'i' }): Fields => ({ name, ...more });
const pods = (replicas: number | undefined, ...containers: readonly Fields[]): Fields => ({
  ...(replicas === undefined ? {} : { replicas }),
  template: { spec: { containers } },
});
const [torch, flow] = [container('pytorch'), container('tensorflow')];
const [Master, Worker, Chief] = [pods(1, torch), pods(2, torch), pods(1, flow)];

function pytorch(title: string, error: string, roles: Fields, more: Fields = {}): InvalidJob {
  return { title, kind: 'PyTorchJob', spec: { pytorchReplicaSpecs: roles, ...more }, error };
}

/** One job for each rule, for both kinds where the rule differs. */
export const INVALID_JOBS: readonly InvalidJob[] = [
  { ...pytorch('a name that no Service can have', 'metadata.name: Invalid value', { Master }), name: '1st' },
  pytorch('an unknown role', 'spec.pytorchReplicaSpecs[Chief]: Unsupported value', { Master, Chief: Worker }),
  pytorch('two masters', 'spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1', { Master: pods(2, torch) }),
  pytorch('a master without a count', 'spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1', {
    Master: pods(undefined, torch),
  }),
  pytorch('no workers', 'spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1', { Master, Worker: pods(0, torch) }),
  pytorch('no containers', 'spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: must be specified', {
    Master: { replicas: 1, template: {} },
  }),
  pytorch('a container without an image', 'spec.pytorchReplicaSpecs[Master].template.spec.containers[1].image: Required value', {
    Master: pods(1, torch, container('sidecar', {})),
  }),
  pytorch(
    'no container of the right name',
    'spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: must have at least one container with name pytorch',
    { Master: pods(1, container('train')) },
  ),
  pytorch('an elastic job without workers', 'spec.pytorchReplicaSpecs[Worker]: Required value', { Master }, { elasticPolicy: {} }),
  pytorch(
    'two counts of processes',
    'spec.elasticPolicy.nProcPerNode: Forbidden',
    { Worker },
    { elasticPolicy: { nProcPerNode: 2 }, nprocPerNode: '2' },
  ),
  pytorch('an unknown manager', 'spec.runPolicy.managedBy: Unsupported value', { Master }, { runPolicy: { managedBy: 'me' } }),
  {
    title: 'a chief beside a master',
    kind: 'TFJob',
    spec: { tfReplicaSpecs: { Chief, Master: Chief } },
    error: 'spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role',
  },
  {
    title: 'a TFJob with a container of the wrong name',
    kind: 'TFJob',
    spec: { tfReplicaSpecs: { worker: pods(1, torch) } },
    error: 'spec.tfReplicaSpecs[worker].template.spec.containers: Required value',
  },
];

/** Jobs that v1 accepts, some of them surprisingly. */
export const VALID_JOBS: readonly Omit<InvalidJob, 'error'>[] = [
  { title: 'a master and workers', kind: 'PyTorchJob', spec: { pytorchReplicaSpecs: { Master, Worker } } },
  {
    title: 'an elastic job for another cluster',
    kind: 'PyTorchJob',
    spec: { pytorchReplicaSpecs: { Worker }, elasticPolicy: {}, runPolicy: { managedBy: 'kueue.x-k8s.io/multikueue' } },
  },
  { title: 'a TFJob with a role of its own', kind: 'TFJob', spec: { tfReplicaSpecs: { Chief, Helper: pods(0, flow) } } },
];
