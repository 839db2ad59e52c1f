import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { BESIDE_JOBS, type BesideJob } from './jobs.ts';

/** A gang scheduler: the name by which both operators are told of it, and the API of its groups. */
export interface GangScheduler {
  readonly name: string;
  readonly api: string;
}

/** The two that v1 knows. Neither runs: the test admits the groups of Volcano. */
export const GANG_SCHEDULERS: readonly GangScheduler[] = [
  { name: 'volcano', api: 'scheduling.volcano.sh/v1beta1' },
  { name: 'scheduler-plugins-scheduler', api: 'scheduling.x-k8s.io/v1alpha1' },
];

/** Jobs whose groups hold every field: with and without resources, and by a scheduling policy. */
export const GROUPED_JOBS: readonly (readonly [string, BesideJob])[] = Object.entries(BESIDE_JOBS).filter(([title]) =>
  /^a (PyTorchJob|TFJob) with (a master and workers|every field of a (pod|run policy)|a chief, a parameter server and workers)$/.test(
    title,
  ),
);

/**
 * Registers the PodGroups of both. That of scheduler-plugins comes with v1's modules. That of
 * Volcano does not, so it is one that takes any spec.
 */
export async function applyPodGroups(cluster: Cluster, folder: string): Promise<void> {
  await cluster.run([...cluster.kubectlCommand, 'apply', '--server-side', '-f', join(folder, 'podgroups.yaml')]);
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } };
  await cluster.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'podgroups.scheduling.volcano.sh' },
    spec: {
      group: 'scheduling.volcano.sh',
      scope: 'Namespaced',
      names: { kind: 'PodGroup', plural: 'podgroups', singular: 'podgroup' },
      versions: [{ name: 'v1beta1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  });
  for (const { api } of GANG_SCHEDULERS) await eventually(`${api} to be served`, () => cluster.api.text(`/apis/${api}/podgroups`));
}
