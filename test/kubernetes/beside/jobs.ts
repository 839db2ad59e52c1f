import type { FixName } from './fixes.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A manifest that both operators get, with only the namespace changed. */
export interface BesideJob {
  readonly kind: 'PyTorchJob' | 'TFJob';
  readonly metadata?: Fields;
  readonly spec: Fields;
  /** The fixes that its pods show. */
  readonly fixes?: readonly FixName[];
}

/** A job with a gang whose pods the kubelet does not restart in place. */
function inGang(job: BesideJob): BesideJob {
  return { ...job, fixes: ['in place'] };
}

/** No node has this label: no scheduler binds the pods, and the test writes their status. */
const NOWHERE = { 'holdfast.test/nowhere': 'true' };

function container(name: string, more: Fields = {}): Fields {
  return { name, image: 'registry.example.com/trainer:1', command: ['python', 'train.py'], ...more };
}

function template(containers: readonly Fields[], spec: Fields = {}, metadata: Fields = {}): Fields {
  return { metadata, spec: { containers, nodeSelector: NOWHERE, ...spec } };
}

/** The pods of one role, with one plain container. */
export function role(name: string, replicas: number | null, more: Fields = {}): Fields {
  return { ...(replicas === null ? {} : { replicas }), template: template([container(name)]), ...more };
}

const torch = (replicas: number | null, more: Fields = {}): Fields => role('pytorch', replicas, more);
const tensor = (replicas: number | null, more: Fields = {}): Fields => role('tensorflow', replicas, more);

/** A PyTorchJob. */
export function pytorch(roles: Fields, more: Fields = {}, metadata: Fields = {}): BesideJob {
  return { kind: 'PyTorchJob', metadata, spec: { pytorchReplicaSpecs: roles, ...more } };
}

/** A TFJob. */
export function tf(roles: Fields, more: Fields = {}, metadata: Fields = {}): BesideJob {
  return { kind: 'TFJob', metadata, spec: { tfReplicaSpecs: roles, ...more } };
}

/** One master and two workers. */
export function gang(runPolicy: Fields = {}, more: Fields = {}): BesideJob {
  return pytorch({ Master: torch(1, more), Worker: torch(2, more) }, { runPolicy });
}

/** A chief, a parameter server and two workers. */
export function servers(runPolicy: Fields = {}, more: Fields = {}): BesideJob {
  return tf({ Chief: tensor(1, more), PS: tensor(1, more), Worker: tensor(2, more) }, { runPolicy });
}

/** A pod template in which much is set, so that much could be lost on the way. */
function rich(name: string): Fields {
  const own = container(name, {
    args: ['--steps', '$(STEPS)', '--rank=$(RANK)'],
    workingDir: '/work',
    imagePullPolicy: 'Never',
    ports: [
      { name: 'metrics', containerPort: 9090 },
      { name: 'debug', containerPort: 5678, protocol: 'TCP' },
    ],
    env: [
      { name: 'STEPS', value: '100' },
      { name: 'RANK', value: 'of the user' },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'token', key: 'token', optional: true } } },
    ],
    envFrom: [{ prefix: 'CONFIG_', configMapRef: { name: 'config', optional: true } }],
    resources: { requests: { cpu: '500m', memory: '64Mi' }, limits: { memory: '128Mi', 'nvidia.com/gpu': 1 } },
    volumeMounts: [
      { name: 'data', mountPath: '/data', readOnly: true },
      { name: 'cache', mountPath: '/cache', subPath: 'models' },
    ],
    livenessProbe: { exec: { command: ['true'] }, periodSeconds: 30 },
    readinessProbe: { tcpSocket: { port: 9090 }, initialDelaySeconds: 1 },
    startupProbe: { httpGet: { path: '/healthz', port: 'metrics' }, failureThreshold: 30 },
    lifecycle: { preStop: { exec: { command: ['sync'] } } },
    terminationMessagePath: '/dev/end',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    stdin: true,
    tty: true,
  });
  const sidecar = { name: 'sidecar', image: 'registry.example.com/sidecar:1', env: [{ name: 'LEVEL', value: 'info' }] };
  const spec = {
    initContainers: [{ name: 'fetch', image: 'registry.example.com/fetch:1', command: ['fetch'] }],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: true } },
      { name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } },
    ],
    terminationGracePeriodSeconds: 120,
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
    hostAliases: [{ ip: '10.0.0.9', hostnames: ['store'] }],
    tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { team: 'a' } } } },
        ],
      },
    },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { team: 'a' } } },
    ],
    securityContext: { runAsNonRoot: true, fsGroup: 2000, seccompProfile: { type: 'RuntimeDefault' } },
    imagePullSecrets: [{ name: 'registry' }],
    schedulerName: 'another',
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    shareProcessNamespace: true,
    hostname: 'trainer',
    subdomain: 'gang',
    activeDeadlineSeconds: 86_400,
    readinessGates: [{ conditionType: 'example.com/ready' }],
  };
  const metadata = {
    labels: { team: 'a', 'training.kubeflow.org/job-name': 'of the user' },
    annotations: { 'example.com/note': 'kept' },
    finalizers: ['example.com/kept'],
  };
  return template([sidecar, own], spec, metadata);
}

const METRICS = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }];
const SCHEDULING = {
  minAvailable: 2,
  queue: 'research',
  minResources: { cpu: '2', memory: '1Gi' },
  priorityClass: 'high',
  scheduleTimeoutSeconds: 60,
};
const RUN_POLICY = {
  cleanPodPolicy: 'Running',
  ttlSecondsAfterFinished: 3600,
  activeDeadlineSeconds: 7200,
  backoffLimit: 3,
  suspend: false,
  managedBy: 'kubeflow.org/training-operator',
};
const ELASTIC = {
  minReplicas: 1,
  maxReplicas: 3,
  rdzvBackend: 'etcd',
  rdzvHost: 'meeting',
  rdzvPort: 2379,
  rdzvId: 'run-7',
  rdzvConf: [
    { key: 'timeout', value: '900' },
    { key: 'is_host', value: 'false' },
  ],
  maxRestarts: 5,
  metrics: METRICS,
};

/** Manifests that together set every field of both contracts. */
export const BESIDE_JOBS: Readonly<Record<string, BesideJob>> = {
  'a PyTorchJob with a master and workers': inGang(gang()),
  'a PyTorchJob with a master alone': inGang(pytorch({ Master: torch(1) })),
  'a PyTorchJob with workers alone': inGang(pytorch({ Worker: torch(2) })),
  'a PyTorchJob that names no number of workers': inGang(pytorch({ Master: torch(1), Worker: torch(null) })),
  'a PyTorchJob with every field of a pod': inGang(
    pytorch({
      Master: { replicas: 1, template: rich('pytorch') },
      Worker: { replicas: 1, template: rich('pytorch') },
    }),
  ),
  'a PyTorchJob with every field of a run policy': inGang(
    pytorch({ Master: torch(1) }, { runPolicy: { ...RUN_POLICY, schedulingPolicy: SCHEDULING } }),
  ),
  'a PyTorchJob with eight processes in each pod': inGang(pytorch({ Master: torch(1), Worker: torch(1) }, { nprocPerNode: '8' })),
  'a PyTorchJob with a process for each GPU': inGang(pytorch({ Master: torch(1), Worker: torch(1) }, { nprocPerNode: 'gpu' })),
  'a PyTorchJob with a port of its own': inGang(
    pytorch({
      Master: { replicas: 1, template: template([container('pytorch', { ports: [{ name: 'pytorchjob-port', containerPort: 29500 }] })]) },
      Worker: torch(1),
    }),
  ),
  'a PyTorchJob with each restart policy': inGang(
    pytorch({
      Master: torch(1, { restartPolicy: 'Always' }),
      Worker: torch(1, { restartPolicy: 'ExitCode' }),
    }),
  ),
  'a PyTorchJob that never restarts': pytorch({
    Master: torch(1, { restartPolicy: 'Never' }),
    Worker: torch(1, { restartPolicy: 'Never' }),
  }),
  'an elastic PyTorchJob': pytorch({ Worker: torch(2) }, { elasticPolicy: {} }),
  'an elastic PyTorchJob with every field': pytorch({ Worker: torch(2) }, { elasticPolicy: ELASTIC }),
  'an elastic PyTorchJob with its own number of processes': pytorch(
    { Worker: torch(2) },
    { elasticPolicy: { minReplicas: 2, nProcPerNode: 4 } },
  ),
  'an elastic PyTorchJob with a master': pytorch({ Master: torch(1), Worker: torch(2) }, { elasticPolicy: { maxReplicas: 4 } }),
  'an elastic PyTorchJob that stands alone': {
    ...pytorch({ Worker: torch(1) }, { elasticPolicy: { standalone: true } }),
    fixes: ['standalone'],
  },
  'a suspended PyTorchJob': gang({ suspend: true }),
  'a PyTorchJob of MultiKueue': gang({ managedBy: 'kueue.x-k8s.io/multikueue' }),
  'a TFJob with a chief, a parameter server and workers': servers(),
  'a TFJob with all roles': tf({ Chief: tensor(1), PS: tensor(2), Worker: tensor(2), Evaluator: tensor(1) }),
  'a TFJob with a master': tf({ Master: tensor(1), Worker: tensor(1) }),
  'a TFJob with workers alone': tf({ Worker: tensor(2) }, { successPolicy: 'AllWorkers' }),
  'a TFJob of one pod': tf({ Worker: tensor(1) }),
  'a TFJob with dynamic workers': tf({ PS: tensor(1), Worker: tensor(2) }, { enableDynamicWorker: true }),
  'a TFJob with dynamic workers alone': tf({ Chief: tensor(1), Worker: tensor(2) }, { enableDynamicWorker: true }),
  'a TFJob with every field of a pod': tf({
    Chief: { replicas: 1, template: rich('tensorflow') },
    Worker: { replicas: 1, template: rich('tensorflow') },
  }),
  'a TFJob with every field of a run policy': tf({ Worker: tensor(2) }, { runPolicy: { ...RUN_POLICY, schedulingPolicy: SCHEDULING } }),
  'a TFJob with ports of its own': tf({
    PS: { replicas: 1, template: template([container('tensorflow', { ports: [{ name: 'tfjob-port', containerPort: 3333 }] })]) },
    Worker: tensor(1),
  }),
  'a TFJob with each restart policy': tf({
    Chief: tensor(1, { restartPolicy: 'Always' }),
    PS: tensor(1, { restartPolicy: 'OnFailure' }),
    Worker: tensor(1, { restartPolicy: 'ExitCode' }),
    Evaluator: tensor(1, { restartPolicy: 'Never' }),
  }),
  'a TFJob with roles in lower case': tf({ chief: tensor(1), worker: tensor(1) }),
  'a suspended TFJob': servers({ suspend: true }),
};
