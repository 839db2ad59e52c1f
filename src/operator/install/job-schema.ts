/** A schema as a CustomResourceDefinition holds it. */
export type Schema = Readonly<Record<string, unknown>>;

const TEXT: Schema = { type: 'string' };
const FLAG: Schema = { type: 'boolean' };
const COUNT: Schema = { type: 'integer', format: 'int32' };
const LONG: Schema = { type: 'integer', format: 'int64' };
const TIME: Schema = { type: 'string', format: 'date-time' };
/** What the operator passes on, and Kubernetes validates when it reads it. */
const PASSED_ON: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const QUANTITY: Schema = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  'x-kubernetes-int-or-string': true,
};

function object(properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  return { type: 'object', properties, ...more };
}

/** The field with a replica spec for each role. */
export function replicaSpecs(description: string): Schema {
  const replica = object({ replicas: COUNT, restartPolicy: TEXT, template: PASSED_ON });
  return { type: 'object', description, additionalProperties: replica };
}

/** What both kinds of jobs say about their run. */
export const RUN_POLICY: Schema = object({
  cleanPodPolicy: TEXT,
  ttlSecondsAfterFinished: COUNT,
  activeDeadlineSeconds: LONG,
  backoffLimit: COUNT,
  suspend: { ...FLAG, default: false },
  managedBy: TEXT,
  schedulingPolicy: object({
    minAvailable: COUNT,
    queue: { ...TEXT, 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'queue is immutable' }] },
    minResources: { type: 'object', additionalProperties: QUANTITY },
    priorityClass: TEXT,
    scheduleTimeoutSeconds: COUNT,
  }),
});

/** The elastic policy of a PyTorchJob. */
export const ELASTIC_POLICY: Schema = object({
  minReplicas: COUNT,
  maxReplicas: COUNT,
  rdzvBackend: TEXT,
  rdzvHost: TEXT,
  rdzvPort: COUNT,
  rdzvId: TEXT,
  rdzvConf: { type: 'array', items: object({ key: TEXT, value: TEXT }) },
  standalone: FLAG,
  nProcPerNode: COUNT,
  maxRestarts: COUNT,
  metrics: { type: 'array', items: PASSED_ON },
});

/** The status of both kinds of jobs. */
export const STATUS: Schema = object({
  conditions: {
    type: 'array',
    items: object(
      { type: TEXT, status: TEXT, reason: TEXT, message: TEXT, lastUpdateTime: TIME, lastTransitionTime: TIME },
      { required: ['type', 'status'] },
    ),
  },
  replicaStatuses: {
    type: 'object',
    additionalProperties: object({ active: COUNT, succeeded: COUNT, failed: COUNT, selector: TEXT, labelSelector: PASSED_ON }),
  },
  startTime: TIME,
  completionTime: TIME,
  lastReconcileTime: TIME,
});
