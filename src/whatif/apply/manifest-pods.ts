import { at, type Fields, fieldsOf, isFields, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { type KubeObject, objectOf, titleOf } from '../../kube/objects/object.ts';
import { podDefaultsOf } from '../../scheduler/objects/cluster-input.ts';
import { type PodGroup, podGroupOf } from '../../scheduler/objects/pod-group.ts';
import { type SchedulerPod, schedulerPodOf } from '../../scheduler/objects/pod.ts';
import type { Note } from '../world/note.ts';
import type { World } from '../world/world.ts';
import { type MadePod, manifestNotes } from './manifest-notes.ts';

/** The pods that manifests would create, in the order of the manifests. */
export interface ManifestPods {
  readonly pods: readonly SchedulerPod[];
  /** The objects that create pods, and how many of them each creates. */
  readonly makers: readonly { readonly object: KubeObject; readonly pods: number }[];
  /** PodGroups of Kubernetes itself that the manifests bring. */
  readonly groups: readonly PodGroup[];
  readonly notes: readonly Note[];
}

/** Which pods are asked for, beyond what the manifests say. */
export interface Wish {
  /** The namespace of objects that name none. */
  readonly namespace: string;
  /** Instead of the number in the manifests; null: as they say. */
  readonly replicas: number | null;
}

/** More pods than any cluster has room for are an error of the manifest. */
const MOST_PODS = 20_000;

/** Makes the pods of manifests as their controllers would. */
export function podsOfManifests(objects: readonly KubeObject[], world: World, { namespace, replicas }: Wish): ManifestPods {
  const notes: Note[] = [];
  const makers: { object: KubeObject; pods: number }[] = [];
  const all: MadePod[] = [];
  const classes = objects.filter(({ kind }) => kind === 'PriorityClass');
  const defaults = podDefaultsOf([...world.objects, ...classes], namespace);
  for (const object of objects) {
    const place = object.namespace ?? namespace;
    const sets = podSetsOf(object, replicas);
    if (object.kind === 'DaemonSet')
      notes.push({ kind: 'not-modelled', text: `${titleOf(object)}: a DaemonSet puts its pods on nodes itself` });
    if (sets.length === 0) continue;
    const there = world.running.get(`${object.kind}/${place}/${object.name}`) ?? 0;
    if (there > 0) notes.push(existing(object, there));
    const made = madePods(object, sets, place).slice(there, there + MOST_PODS - all.length);
    all.push(...made.map((each) => ({ object: each, pod: schedulerPodOf(each, defaults) })));
    makers.push({ object, pods: made.length });
  }
  if (all.length >= MOST_PODS)
    notes.push({ kind: 'bad-input', text: `the manifests ask for more than ${MOST_PODS} pods; the others are left out` });
  notes.push(...manifestNotes(all, [...world.objects, ...objects]));
  const groups = objects.flatMap((object) =>
    object.kind === 'PodGroup' ? (podGroupOf({ ...object, namespace: object.namespace ?? namespace }, defaults) ?? []) : [],
  );
  return { pods: all.map(({ pod }) => pod), makers, groups, notes };
}

interface PodSet {
  readonly role: string;
  readonly count: number;
  readonly template: Fields;
}

function podSetsOf(object: KubeObject, replicas: number | null): readonly PodSet[] {
  const { kind, fields } = object;
  const spec = at(fields, 'spec');
  const count = (value: number | null, fallback = 1): number => Math.max(0, replicas ?? value ?? fallback);
  const set = (holder: unknown, times: number, role = ''): readonly PodSet[] => {
    const template = fieldsOf(at(holder, 'template'));
    return listAt(template, 'spec', 'containers').length === 0 ? [] : [{ role, count: times, template }];
  };
  switch (kind) {
    case 'Pod':
      return [{ role: '', count: count(null), template: { metadata: fields['metadata'], spec: fields['spec'] } }];
    case 'Job':
      return set(spec, count(parallelismOf(spec)));
    case 'CronJob':
      return set(at(spec, 'jobTemplate', 'spec'), count(parallelismOf(at(spec, 'jobTemplate', 'spec'))));
    case 'DaemonSet':
      return [];
    case 'JobSet':
      return listAt(spec, 'replicatedJobs').flatMap((job) => {
        const jobSpec = at(job, 'template', 'spec');
        return set(jobSpec, count(numberAt(job, 'replicas')) * (parallelismOf(jobSpec) ?? 1), textAt(job, 'name') ?? 'job');
      });
    case 'LeaderWorkerSet':
      return lwsSets(spec, count(numberAt(spec, 'replicas')));
    case 'RayJob':
      return raySets(at(spec, 'rayClusterSpec'), replicas);
    case 'PyTorchJob':
    case 'TFJob':
      return Object.entries(fieldsOf(at(spec, kind === 'TFJob' ? 'tfReplicaSpecs' : 'pytorchReplicaSpecs'))).flatMap(([role, each]) =>
        set(each, role === 'Worker' ? count(numberAt(each, 'replicas')) : (numberAt(each, 'replicas') ?? 1), role.toLowerCase()),
      );
    default:
      return set(spec, count(numberAt(spec, 'replicas')));
  }
}

/** A Job never runs more pods than it has completions left. */
function parallelismOf(spec: unknown): number | null {
  const parallelism = numberAt(spec, 'parallelism');
  const completions = numberAt(spec, 'completions');
  return completions === null ? parallelism : Math.min(parallelism ?? 1, completions);
}

function lwsSets(spec: unknown, groups: number): readonly PodSet[] {
  const template = at(spec, 'leaderWorkerTemplate');
  const worker = fieldsOf(at(template, 'workerTemplate'));
  const leader = isFields(at(template, 'leaderTemplate')) ? fieldsOf(at(template, 'leaderTemplate')) : worker;
  const size = Math.max(1, numberAt(template, 'size') ?? 1);
  return Array.from({ length: Math.min(groups, MOST_PODS) }, (_, group) => [
    { role: `${group}`, count: 1, template: leader },
    { role: `${group}-worker`, count: size - 1, template: worker },
  ]).flat();
}

function raySets(cluster: unknown, replicas: number | null): readonly PodSet[] {
  const head = fieldsOf(at(cluster, 'headGroupSpec', 'template'));
  const workers = listAt(cluster, 'workerGroupSpecs').map((group): PodSet => {
    const count = replicas ?? numberAt(group, 'replicas') ?? numberAt(group, 'minReplicas') ?? 1;
    return { role: textAt(group, 'groupName') ?? 'worker', count: Math.max(0, count), template: fieldsOf(at(group, 'template')) };
  });
  return [{ role: 'head', count: 1, template: head }, ...workers].filter(
    ({ template }) => listAt(template, 'spec', 'containers').length > 0,
  );
}

function madePods(object: KubeObject, sets: readonly PodSet[], namespace: string): readonly KubeObject[] {
  const made: KubeObject[] = [];
  for (const { role, count, template } of sets) {
    for (let index = 0; index < count && made.length < MOST_PODS; index++) {
      const pod = madePod(object, { template, name: nameOf(object, role, index), namespace });
      if (pod !== null) made.push(pod);
    }
  }
  return made;
}

function nameOf({ kind, name }: KubeObject, role: string, index: number): string {
  const parts = kind === 'Pod' && index === 0 ? [name] : [name, role, `${index}`];
  return parts.filter((part) => part !== '').join('-');
}

interface Making {
  readonly template: Fields;
  readonly name: string;
  readonly namespace: string;
}

function madePod(owner: KubeObject, { template, name, namespace }: Making): KubeObject | null {
  const metadata = fieldsOf(template['metadata']);
  const isPod = owner.kind === 'Pod';
  return objectOf({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: metadata['labels'],
      annotations: metadata['annotations'],
      ...(isPod ? {} : { ownerReferences: [{ kind: owner.kind, name: owner.name, controller: true }] }),
    },
    spec: withRequests(fieldsOf(template['spec'])),
  });
}

/** The API server takes a limit as the request where a container names none. */
function withRequests(spec: Fields): Fields {
  const filled = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.filter(isFields).map((container) => {
          const resources = fieldsOf(container['resources']);
          const requests = { ...fieldsOf(resources['limits']), ...fieldsOf(resources['requests']) };
          return { ...container, resources: { ...resources, requests } };
        })
      : list;
  return { ...spec, nodeName: undefined, containers: filled(spec['containers']), initContainers: filled(spec['initContainers']) };
}

function existing(object: KubeObject, pods: number): Note {
  const text = `${titleOf(object)} runs already with ${pods} ${pods === 1 ? 'pod' : 'pods'}: only further pods are placed, and a rollout of those that run is not modelled`;
  return { kind: 'not-modelled', text };
}
