import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { trueConditions } from './objects.ts';

const KINDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'pytorchjobs.kubeflow.org';
/** A field that an operator passes on unchanged. */
const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const REPLICAS = {
  type: 'object',
  required: ['template'],
  properties: {
    replicas: { type: 'integer', minimum: 0 },
    restartPolicy: { type: 'string', enum: ['Always', 'OnFailure', 'Never', 'ExitCode'] },
    template: ANYTHING,
  },
};
const SPEC = {
  type: 'object',
  required: ['pytorchReplicaSpecs'],
  properties: {
    nprocPerNode: { type: 'string' },
    pytorchReplicaSpecs: { type: 'object', properties: { Master: REPLICAS, Worker: REPLICAS } },
    runPolicy: ANYTHING,
    elasticPolicy: ANYTHING,
  },
};

/**
 * Registers the kind with the API server, from our own description of its fields. No controller
 * acts on its objects.
 */
export async function definePyTorchJobs(cluster: Cluster): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec: SPEC, status: ANYTHING } } };
  await cluster.api.create(KINDS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: NAME },
    spec: {
      group: 'kubeflow.org',
      scope: 'Namespaced',
      names: { kind: 'PyTorchJob', plural: 'pytorchjobs', singular: 'pytorchjob' },
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  });
  await eventually('the kind PyTorchJob', async () => {
    const isServed = trueConditions(await cluster.api.get(`${KINDS}/${NAME}`)).some(({ type }) => type === 'Established');
    return isServed ? true : null;
  });
  // The server serves the new kind a moment after it says so.
  await eventually('PyTorchJobs to be served', () => cluster.api.text('/apis/kubeflow.org/v1/namespaces/default/pytorchjobs'));
}
