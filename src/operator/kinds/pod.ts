import type { Avoided } from '../../domain/gang/avoidance.ts';
import type { Placement } from '../../domain/gang/placement.ts';
import type { NewObject } from '../../kube/api/api-object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import { at, type Fields, fieldsOf, listAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import { type Cloud, withPlacement } from './clouds.ts';
import type { EnvVar, JobKind, Place, PodSettings, TrainingJob } from './kind.ts';
import { ATTEMPT_LABEL, replicaLabels, replicaName, V1_LABELS } from './names.ts';
import { leaderOf } from './parse-job.ts';
import { withAvoided } from './placement.ts';

/** The machines of a cloud that a pod asks for. */
export interface Machines {
  readonly cloud: Cloud;
  readonly placement: Placement;
}

/** What a pod depends on, beside its job and place. */
export interface PodChoice {
  readonly attempt: number;
  /**
   * The pod belongs to a gang: no container is restarted in place, because its peers would hang.
   */
  readonly isInGang: boolean;
  readonly avoided: Avoided;
  /** The machines that it asks for; null: any. */
  readonly machines: Machines | null;
  /** The PodGroup of Kubernetes itself; null: none. */
  readonly group: string | null;
  readonly settings: PodSettings;
}

/** The owner reference of everything that a job owns. */
export function ownerOf({ kind, name, uid }: Pick<TrainingJob, 'kind' | 'name' | 'uid'>) {
  const { resource } = kind;
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The pod at a place of a job. */
export function podFor(job: TrainingJob, place: Place, choice: PodChoice): NewObject {
  const { replica, index } = place;
  const metadata = fieldsOf(replica.template['metadata']);
  const { gangScheduler } = choice.settings;
  const annotations = { ...textsOf(metadata['annotations']), ...(gangScheduler === 'volcano' ? volcanoAnnotations(job, place) : {}) };
  const finalizers = textsAt(metadata, 'finalizers');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: replicaName(job, replica.role, index),
      namespace: job.namespace,
      labels: {
        ...textsOf(metadata['labels']),
        ...replicaLabels(job, replica.role, index),
        ...(isLeader(job, place) ? { [V1_LABELS.jobRole]: 'master' } : {}),
        ...(gangScheduler !== null && gangScheduler !== 'volcano' ? { 'scheduling.x-k8s.io/pod-group': job.name } : {}),
        [ATTEMPT_LABEL]: String(choice.attempt),
      },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ownerReferences: [ownerOf(job)],
    },
    spec: placed(specFor(job, place, choice), choice),
  };
}

function placed(spec: Fields, { avoided, machines }: PodChoice): Fields {
  const rather = withAvoided(spec, avoided);
  return machines === null ? rather : withPlacement(rather, machines.cloud, machines.placement);
}

/** Whether v1 marks the pod as the master: the leading role, or worker 0 where there is none. */
function isLeader(job: TrainingJob, { replica, index }: Place): boolean {
  const leader = leaderOf(job);
  return leader === null ? replica.role === 'Worker' && index === 0 : job.kind.leaders.includes(replica.role);
}

function specFor(job: TrainingJob, place: Place, { isInGang, group, settings }: PodChoice): Fields {
  const { kind } = job;
  const { policy, template } = place.replica;
  const spec = fieldsOf(template['spec']);
  const environment = kind.environment(job, place, settings);
  const containers = withPort(kind, listAt(spec, 'containers'));
  const first = containers.findIndex((container) => textAt(container, 'name') === kind.container);
  const initContainers = [...listAt(spec, 'initContainers'), ...kind.initContainers(job, place, settings)];
  const { gangScheduler } = settings;
  return {
    ...spec,
    containers: containers.map((container, index) => {
      const isTarget = kind.environmentFor === 'all' || index === first;
      return isTarget ? withVariables(container, environment) : container;
    }),
    ...(initContainers.length === 0 ? {} : { initContainers }),
    ...(gangScheduler !== null && textAt(spec, 'schedulerName') === null ? { schedulerName: gangScheduler } : {}),
    ...(group === null ? {} : { schedulingGroup: { podGroupName: group } }),
    restartPolicy: isInGang || policy === 'ExitCode' ? 'Never' : policy,
  };
}

/** v1 adds its port to the training container when the container has none of that name. */
function withPort(kind: JobKind, containers: readonly unknown[]): readonly Fields[] {
  const named = containers.findIndex((container) => textAt(container, 'name') === kind.container);
  return containers.map((container, index) => {
    const ports = listAt(container, 'ports');
    if (index !== Math.max(0, named) || ports.some((port) => textAt(port, 'name') === kind.portName)) return fieldsOf(container);
    return { ...fieldsOf(container), ports: [...ports, { name: kind.portName, containerPort: kind.port }] };
  });
}

/** Behind the user's own variables, so that the operator's value wins. */
function withVariables(container: Fields, variables: readonly EnvVar[]): Fields {
  if (variables.length === 0) return container;
  return { ...container, env: [...listAt(container, 'env'), ...variables] };
}

function volcanoAnnotations(job: TrainingJob, { replica }: Place): Readonly<Record<string, string>> {
  return { 'scheduling.k8s.io/group-name': job.name, 'volcano.sh/task-spec': replica.role.toLowerCase() };
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(fieldsOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(entries);
}

/** The ports of the training container, its own and v1's, by name and in their order. */
export function trainingPorts(job: TrainingJob, { replica }: Place): readonly { readonly name: string; readonly port: number }[] {
  const containers = withPort(job.kind, listAt(replica.template, 'spec', 'containers'));
  const training = containers.find((container) => textAt(container, 'name') === job.kind.container);
  const ports = new Map<string, number>();
  for (const each of listAt(training, 'ports')) {
    const port = at(each, 'containerPort');
    if (typeof port === 'number') ports.set(textAt(each, 'name') ?? '', port);
  }
  return [...ports].map(([name, port]) => ({ name, port }));
}
