import { REPLICA_POLICIES, type ReplicaPolicy } from '../../domain/gang/end-action.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { at, type Fields, fieldsOf, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { choicesOf } from './choices.ts';
import type { ElasticPolicy, JobKind, Replica, RunPolicy, TrainingJob } from './kind.ts';

/** Reads a job that is valid by {@link validateJob}, and fills in the defaults of v1. */
export function parseJob(kind: JobKind, object: ApiObject): TrainingJob {
  const spec = fieldsOf(object['spec']);
  const replicas = replicasOf(kind, fieldsOf(spec[kind.rolesField]));
  const elastic = elasticOf(fieldsOf(spec['elasticPolicy']), replicas, isGiven(spec['elasticPolicy']));
  return {
    kind,
    object,
    name: object.metadata.name,
    namespace: object.metadata.namespace ?? '',
    uid: object.metadata.uid,
    annotations: object.metadata.annotations ?? {},
    choices: choicesOf(object.metadata.annotations ?? {}),
    replicas,
    run: runPolicyOf(fieldsOf(spec['runPolicy'])),
    elastic,
    processesPerNode: textAt(spec, 'nprocPerNode') ?? (elastic?.processesPerNode == null ? 'auto' : null),
    successPolicy: textAt(spec, 'successPolicy') ?? '',
    hasDynamicWorkers: spec['enableDynamicWorker'] === true,
  };
}

/** The role with the spelling of the table, whatever case the manifest uses. */
export function roleOf(kind: JobKind, key: string): string {
  return kind.roles.find((role) => role.toLowerCase() === key.toLowerCase()) ?? key;
}

/** The pods of a role; null: the job has no such role. */
export function replicaOf(job: Pick<TrainingJob, 'replicas'>, role: string): Replica | null {
  return job.replicas.find((replica) => replica.role === role) ?? null;
}

/** The first of the roles that lead a job; null: worker 0 leads. */
export function leaderOf(job: Pick<TrainingJob, 'replicas' | 'kind'>): Replica | null {
  return job.kind.leaders.map((role) => replicaOf(job, role)).find((replica) => replica !== null) ?? null;
}

/** The number of pods of all roles. */
export function totalReplicas({ replicas }: Pick<TrainingJob, 'replicas'>): number {
  return replicas.reduce((sum, { count }) => sum + count, 0);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function replicasOf(kind: JobKind, specs: Fields): readonly Replica[] {
  const named = Object.entries(specs).map(([key, spec]) => [roleOf(kind, key), spec] as const);
  const known = kind.roles.flatMap((role) => named.filter(([name]) => name === role));
  const others = named.filter(([name]) => !kind.roles.includes(name)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [...known, ...others].map(([role, spec]) => ({
    role,
    count: numberAt(spec, 'replicas') ?? 1,
    policy: policyOf(textAt(spec, 'restartPolicy')) ?? kind.defaultPolicy,
    template: fieldsOf(at(spec, 'template')),
    port: portOf(kind, at(spec, 'template')),
  }));
}

function policyOf(text: string | null): ReplicaPolicy | null {
  return REPLICA_POLICIES.find((policy) => policy === text) ?? null;
}

function portOf(kind: JobKind, template: unknown): number {
  const container = listAt(template, 'spec', 'containers').find((each) => textAt(each, 'name') === kind.container);
  const port = listAt(container, 'ports').find((each) => textAt(each, 'name') === kind.portName);
  return numberAt(port, 'containerPort') ?? kind.port;
}

function elasticOf(policy: Fields, replicas: readonly Replica[], isElastic: boolean): ElasticPolicy | null {
  if (!isElastic) return null;
  const [min, max] = [numberAt(policy, 'minReplicas'), numberAt(policy, 'maxReplicas')];
  const workers = replicas.find(({ role }) => role === 'Worker')?.count ?? 1;
  const conf = policy['rdzvConf'];
  const metrics = policy['metrics'];
  return {
    min: min ?? max ?? workers,
    max: max ?? min ?? workers,
    backend: textAt(policy, 'rdzvBackend') ?? 'c10d',
    host: textAt(policy, 'rdzvHost'),
    port: numberAt(policy, 'rdzvPort'),
    id: textAt(policy, 'rdzvId'),
    conf: Array.isArray(conf) ? conf.map((each) => ({ key: textAt(each, 'key') ?? '', value: textAt(each, 'value') ?? '' })) : null,
    isStandalone: policy['standalone'] === true,
    processesPerNode: numberAt(policy, 'nProcPerNode'),
    maxRestarts: numberAt(policy, 'maxRestarts'),
    metrics: Array.isArray(metrics) ? metrics : null,
  };
}

function runPolicyOf(policy: Fields): RunPolicy {
  const cleanPods = textAt(policy, 'cleanPodPolicy') ?? 'None';
  return {
    cleanPods: cleanPods === 'None' || cleanPods === 'Running' ? cleanPods : 'All',
    ttlSeconds: numberAt(policy, 'ttlSecondsAfterFinished'),
    activeDeadlineSeconds: numberAt(policy, 'activeDeadlineSeconds'),
    backoffLimit: numberAt(policy, 'backoffLimit'),
    isSuspended: policy['suspend'] === true,
    managedBy: textAt(policy, 'managedBy'),
    scheduling: fieldsOf(policy['schedulingPolicy']),
  };
}
