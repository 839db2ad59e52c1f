import type { NewObject } from '../../kube/api/api-object.ts';
import { resourceName } from '../../kube/api/resource.ts';
import type { JobKind } from '../kinds/kind.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { TF_JOB } from '../kinds/tensorflow.ts';
import { TRAINING_RUN_DEFINITION } from '../training-run/definition.ts';
import { LABELS } from './options.ts';
import { ELASTIC_POLICY, replicaSpecs, RUN_POLICY, type Schema, STATUS } from './job-schema.ts';

/** Tells the record of runs from the kinds of jobs, which a cluster with v1 has already. */
const COMPONENT = 'app.kubernetes.io/component';
/** The selector of kubectl for the one custom resource that v1 does not bring. */
export const RECORD_SELECTOR = `${COMPONENT}=record`;

/** The custom resources: the kinds of jobs, and the TrainingRun. */
export function customResources(): readonly NewObject[] {
  return [jobDefinition(PYTORCH_JOB, pytorchSpec(), WORKER_SCALE), jobDefinition(TF_JOB, tensorflowSpec(), {}), trainingRuns()];
}

function trainingRuns(): NewObject {
  const { metadata } = TRAINING_RUN_DEFINITION;
  return { ...TRAINING_RUN_DEFINITION, metadata: { ...metadata, labels: { ...LABELS, [COMPONENT]: 'record' } } };
}

const WORKER_SCALE = {
  scale: {
    specReplicasPath: '.spec.pytorchReplicaSpecs.Worker.replicas',
    statusReplicasPath: '.status.replicaStatuses.Worker.active',
    labelSelectorPath: '.status.replicaStatuses.Worker.selector',
  },
};

/** The columns of v1: the last condition is the state. */
const COLUMNS = [
  { name: 'State', type: 'string', jsonPath: '.status.conditions[-1:].type' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

function pytorchSpec(): Schema {
  return {
    type: 'object',
    required: [PYTORCH_JOB.rolesField],
    properties: {
      [PYTORCH_JOB.rolesField]: replicaSpecs('The pods of each role: Master, Worker.'),
      runPolicy: RUN_POLICY,
      elasticPolicy: ELASTIC_POLICY,
      nprocPerNode: { type: 'string', description: 'Processes on each node: auto, cpu, gpu or a number.' },
    },
  };
}

function tensorflowSpec(): Schema {
  return {
    type: 'object',
    required: [TF_JOB.rolesField],
    properties: {
      [TF_JOB.rolesField]: replicaSpecs('The pods of each role: Chief, Master, PS, Worker, Evaluator.'),
      runPolicy: RUN_POLICY,
      successPolicy: { type: 'string', description: 'AllWorkers: the job succeeds when all workers have.' },
      enableDynamicWorker: { type: 'boolean', description: 'Workers may come and go while the job runs.' },
    },
  };
}

function jobDefinition({ resource }: JobKind, spec: Schema, scale: Readonly<Record<string, unknown>>): NewObject {
  const { group, version, plural, kind } = resource;
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: resourceName(resource), labels: { ...LABELS, [COMPONENT]: 'job' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {}, ...scale },
          additionalPrinterColumns: COLUMNS,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status: STATUS } } },
        },
      ],
    },
  };
}
