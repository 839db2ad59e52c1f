import type { NewObject } from '../../kube/api/api-object.ts';
import { RUN_PHASES } from './record.ts';
import { TRAINING_RUNS } from './training-run.ts';

type Schema = Readonly<Record<string, unknown>>;

const TEXT: Schema = { type: 'string', nullable: true };
const TIME: Schema = { type: 'string', format: 'date-time', nullable: true };
const COUNT: Schema = { type: 'integer', nullable: true };
const NUMBER: Schema = { type: 'number', nullable: true };
const FLAG: Schema = { type: 'boolean' };

function object(properties: Readonly<Record<string, Schema>>, description?: string): Schema {
  return { type: 'object', nullable: true, properties, ...(description === undefined ? {} : { description }) };
}

function list(items: Schema): Schema {
  return { type: 'array', nullable: true, items };
}

const END = object({
  cause: TEXT,
  pod: TEXT,
  node: TEXT,
  nodePool: TEXT,
  zone: TEXT,
  machineType: TEXT,
  exitCode: COUNT,
  lostSteps: COUNT,
  lostSeconds: COUNT,
  accelerators: COUNT,
});

const ATTEMPT = object({
  number: COUNT,
  pod: TEXT,
  createdAt: TIME,
  scheduledAt: TIME,
  startedAt: TIME,
  resumedAt: TIME,
  detectedAt: TIME,
  tornDownAt: TIME,
  end: END,
  placement: TEXT,
  placementReason: TEXT,
});

const TRACE = object({ exitCode: COUNT, line: TEXT });
const BUDGETS = object({
  errors: COUNT,
  doubts: COUNT,
  inARow: COUNT,
  same: object({ times: COUNT, trace: TRACE }),
  furthestStep: COUNT,
  interruptions: COUNT,
});

const PROGRESS = object({
  step: COUNT,
  lastGoodStep: COUNT,
  sealedAt: TIME,
  steppedAt: TIME,
  accelerators: COUNT,
  loss: NUMBER,
  trial: TEXT,
  unsavedAcceleratorSeconds: NUMBER,
  saveSeconds: NUMBER,
  reportedAt: TIME,
});
const ROOM = object({
  stage: TEXT,
  pod: TEXT,
  podUid: TEXT,
  node: TEXT,
  priority: COUNT,
  pods: list({ type: 'string' }),
  askedAt: TIME,
  deadlineAt: TIME,
  savedAt: TIME,
  savedStep: COUNT,
  leftAt: TIME,
  backAt: TIME,
  reason: TEXT,
});

const STATUS = object({
  phase: { type: 'string', enum: RUN_PHASES },
  message: TEXT,
  attempt: COUNT,
  attempts: list(ATTEMPT),
  seen: { type: 'object', additionalProperties: { type: 'integer' } },
  replacing: list(object({ role: TEXT, index: COUNT, uid: TEXT, lostAt: TIME, notBefore: TIME })),
  scaledDown: list({ type: 'string' }),
  adopted: object({ attempt: COUNT, uids: list({ type: 'string' }) }),
  notBefore: TIME,
  budgets: BUDGETS,
  refund: BUDGETS,
  progress: PROGRESS,
  totals: object({ lostSteps: COUNT, lostAcceleratorSeconds: COUNT, trainedSeconds: COUNT, lostSeconds: COUNT, goodputPercent: COUNT }),
  lostWork: TEXT,
  room: ROOM,
  madeRoom: TEXT,
  failure: object({ attempt: COUNT, pod: TEXT, exitCode: COUNT, log: list({ type: 'string' }) }),
  isRepeating: FLAG,
  supervision: TEXT,
  firstCreatedAt: TIME,
  endedAt: TIME,
});

const SPEC: Schema = {
  type: 'object',
  required: ['job'],
  properties: {
    job: {
      type: 'object',
      required: ['apiVersion', 'kind', 'name', 'uid'],
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        name: { type: 'string' },
        uid: { type: 'string' },
        index: COUNT,
      },
    },
  },
};

/** The columns of `kubectl get trainingruns`. */
const COLUMNS = [
  { name: 'Kind', type: 'string', jsonPath: '.spec.job.kind' },
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Attempt', type: 'integer', jsonPath: '.status.attempt' },
  { name: 'Step', type: 'integer', jsonPath: '.status.progress.step' },
  { name: 'Last-Good', type: 'integer', jsonPath: '.status.progress.lastGoodStep' },
  { name: 'Sealed', type: 'date', jsonPath: '.status.progress.sealedAt' },
  { name: 'Interruptions', type: 'integer', jsonPath: '.status.budgets.interruptions' },
  { name: 'Lost', type: 'string', jsonPath: '.status.lostWork' },
  { name: 'Goodput-%', type: 'integer', jsonPath: '.status.totals.goodputPercent' },
  { name: 'Trial', type: 'string', jsonPath: '.status.progress.trial', priority: 1 },
  { name: 'Loss', type: 'number', jsonPath: '.status.progress.loss', priority: 1 },
  { name: 'Made-Room', type: 'string', jsonPath: '.status.madeRoom', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
] as const;

/** The CustomResourceDefinition of the TrainingRun. */
export const TRAINING_RUN_DEFINITION: NewObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${TRAINING_RUNS.plural}.${TRAINING_RUNS.group}` },
  spec: {
    group: TRAINING_RUNS.group,
    scope: 'Namespaced',
    names: { kind: TRAINING_RUNS.kind, plural: TRAINING_RUNS.plural, singular: 'trainingrun', shortNames: ['hfr'] },
    versions: [
      {
        name: TRAINING_RUNS.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: COLUMNS,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'The record of a training run, across all its attempts. It outlives its job.',
            required: ['spec'],
            properties: { spec: SPEC, status: STATUS },
          },
        },
      },
    ],
  },
};
