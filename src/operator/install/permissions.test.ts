import { beforeAll, describe, expect, it } from 'vitest';
import { gang, type GangWorld, role } from '../../../test/operator/gang-world.ts';
import { JobRoomWorld } from '../../../test/operator/job-room-world.ts';
import { RoomWorld } from '../../../test/operator/room-world.ts';
import { startOperator } from '../../../test/operator/running-operator.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import { CLAIMS, EVENTS, JOBS, LEASES, NODE_LEASE_NAMESPACE, NODES, PODS } from '../../kube/api/resources.ts';
import { type Resource, resourceName } from '../../kube/api/resource.ts';
import { MemoryApi } from '../../kube/memory/memory-api.ts';
import { plainKind } from '../../kube/memory/stored-kind.ts';
import { NATIVE_GROUPS } from '../kinds/native-gang.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { JOB_RULES, leaseRules, NODE_LEASE_RULES, NODE_RULES, permissions, ROOM_RULES, type Rule } from './permissions.ts';

const AUTOSCALERS: Resource = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  isNamespaced: true,
};
const [NAMESPACE, SYSTEM] = ['n', 'system'];
const STATUS = JSON.stringify({ schema: 'holdfast.status/1', progress: { step: 70 }, lastGood: { step: 50, ageSeconds: 0 } });
const JOB = { namespace: NAMESPACE, name: 'j' };

/** Notes each permission that a request needs: `get trainingruns.holdfast.dev`. */
function recording(api: KubeApi, used: Set<string>): KubeApi {
  const note = (verb: string, resource: Resource, subresource?: string): void =>
    void used.add(`${verb} ${resourceName(resource)}${subresource === undefined ? '' : `/${subresource}`}`);
  return {
    get: (resource, key, options) => {
      if (resource === LEASES && key.namespace === NODE_LEASE_NAMESPACE) used.add(ofNodes('get leases.coordination.k8s.io'));
      else note('get', resource);
      return api.get(resource, key, options);
    },
    list: (resource, ...rest) => (note('list', resource), api.list(resource, ...rest)),
    watch: (resource, ...rest) => (note('watch', resource), api.watch(resource, ...rest)),
    create: (resource, ...rest) => (note('create', resource), api.create(resource, ...rest)),
    replace: (resource, object, options) => (note('update', resource, options.subresource), api.replace(resource, object, options)),
    patch: (resource, key, fields, options) => (note('patch', resource, options.subresource), api.patch(resource, key, fields, options)),
    delete: (resource, ...rest) => (note('delete', resource), api.delete(resource, ...rest)),
    evict: (...args) => (used.add('create pods/eviction'), api.evict(...args)),
    logTail: (...args) => (used.add('get pods/log'), api.logTail(...args)),
    proxyGet: (...args) => (used.add('get pods/proxy'), api.proxyGet(...args)),
  };
}

/** A permission in the namespace of the Leases of nodes. */
function ofNodes(permission: string): string {
  return `${permission} of nodes`;
}

/** Plays with an operator in the cluster of a world, as the Deployment runs it. */
async function play(world: GangWorld, used: Set<string>, acts: (world: GangWorld) => Promise<void>): Promise<void> {
  for (const resource of [JOBS, EVENTS, LEASES, CLAIMS, AUTOSCALERS, NATIVE_GROUPS]) {
    if (world.cluster.historyOf(resource) === null) world.cluster.install(plainKind(resource, resource === JOBS));
  }
  const { clock } = world;
  const api = recording(new MemoryApi(world.cluster, { clock, answers: { log: () => 'ValueError', get: () => null } }), used);
  const readStatus = (): Promise<string> => Promise.resolve(STATUS);
  const { stop } = startOperator(world, { api, leaseNamespace: SYSTEM, keepRunsMs: 60_000, readStatus });
  await clock.advance(5000);
  await acts(world);
  await stop();
}

/** A job that fails twice, succeeds, and is deleted when its time to live is over. */
async function live(world: GangWorld): Promise<void> {
  for (let attempt = 1; attempt <= 2; attempt++) {
    world.startPods();
    await world.clock.advance(2000);
    world.exit('j-worker-0', 1);
    await world.clock.advance(2000);
    world.finishAll();
    await world.clock.advance(600_000);
  }
  world.startPods();
  await world.clock.advance(2000);
  for (const name of ['j-worker-0', 'j-worker-1', 'j-master-0']) world.exit(name, 0);
  await world.clock.advance(10_000);
  world.finishAll();
  await world.clock.advance(600_000);
}

/** An elastic job whose range changes, and that is suspended. */
async function scale(world: GangWorld): Promise<void> {
  world.startPods();
  await world.clock.advance(2000);
  world.edit((spec) => ({ ...spec, elasticPolicy: { minReplicas: 2, maxReplicas: 3, metrics: [] } }));
  await world.clock.advance(2000);
  world.suspend(true);
  await world.clock.advance(5000);
  world.finishAll();
  await world.clock.advance(5000);
}

/** A node with a volume is lost, and the user deletes the job. */
async function lose(world: GangWorld): Promise<void> {
  const spec = { accessModes: ['ReadWriteOnce'] };
  valueOf(world.cluster.create(CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { ...JOB, name: 'data' }, spec }));
  world.startPods();
  await world.clock.advance(2000);
  const status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
  valueOf(world.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, status }));
  await world.clock.advance(60_000);
  valueOf(world.cluster.delete(PYTORCH_JOB.resource, JOB, {}));
  await world.clock.advance(10_000);
}

/** A gang fails for good while the node of a peer is silent. */
async function fail(world: GangWorld): Promise<void> {
  world.startPods((name) => name);
  await world.clock.advance(2000);
  world.exit('j-worker-0', 1);
  await world.clock.advance(2000);
}

/** A Job with the label of a run makes progress, fails, loses its node, and is deleted. */
async function observe(world: GangWorld): Promise<void> {
  const containers = [{ name: 'main', image: 'i', command: ['holdfast', 'run', '--status=0.0.0.0:9400', '--', 'python3', 'train.py'] }];
  const labels = { 'holdfast.dev/run': 'train' };
  const annotations = { 'holdfast.dev/extend-backoff': 'true', 'holdfast.dev/force-lost-nodes': 'true' };
  const metadata = { name: 'train', namespace: NAMESPACE, labels, annotations };
  const spec = { backoffLimit: 2, template: { spec: { containers } } };
  const made = valueOf(world.cluster.create(JOBS, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec }));
  const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: made.metadata.uid, controller: true }];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: NAMESPACE, ownerReferences } };
  const running = valueOf(world.cluster.create(PODS, { ...pod, spec: { restartPolicy: 'Never', nodeName: 'n1', containers } }));
  valueOf(world.cluster.replace(PODS, { ...running, status: { phase: 'Running' } }, 'status'));
  await world.clock.advance(20_000);
  valueOf(world.cluster.replace(JOBS, { ...made, status: { failed: 1 } }, 'status'));
  await world.clock.advance(20_000);
  const status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
  valueOf(world.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, status }));
  await world.clock.advance(60_000);
  valueOf(world.cluster.delete(JOBS, { namespace: NAMESPACE, name: 'train' }, {}));
  await world.clock.advance(10_000);
}

/** A gang leaves for a pod of higher priority. */
async function giveRoom(world: GangWorld): Promise<void> {
  world.startPods();
  await world.clock.advance(2000);
  if (world instanceof RoomWorld) world.ask();
  await world.clock.advance(62_000);
}

/** A Job is suspended for a pod of higher priority, and resumed when that is gone. */
async function giveRoomOfJob(world: GangWorld): Promise<void> {
  world.startPods();
  await world.clock.advance(12_000);
  if (!(world instanceof JobRoomWorld)) return;
  world.ask();
  await world.clock.advance(5000);
  world.controlJobs();
  world.finishAll();
  valueOf(world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 }));
  await world.clock.advance(20_000);
  expect([world.stage, world.marks]).toEqual(['back', []]);
}

/** `get trainingruns.holdfast.dev` for each verb of the rules. */
function spelled(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => {
        const [plural = '', subresource] = resource.split('/');
        const name = `${group === '' ? plural : `${plural}.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
        return verbs.map((verb) => `${verb} ${name}`);
      }),
    ),
  );
}

describe('the permissions of the operator', () => {
  const used = new Set<string>();
  const all = [
    ...spelled([...JOB_RULES, ...NODE_RULES, ...ROOM_RULES, ...leaseRules(null)]),
    ...spelled(NODE_LEASE_RULES).map((permission) => ofNodes(permission)),
  ];
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  const template = { spec: { containers: [{ name: 'pytorch', image: 'i' }], volumes } };
  beforeAll(async () => {
    await play(gang({ ttlSecondsAfterFinished: 60, cleanPodPolicy: 'All' }), used, live);
    const elastic = gang({}, {}, { Worker: role('pytorch', 2) });
    elastic.edit((spec) => ({ ...spec, elasticPolicy: { minReplicas: 1, maxReplicas: 2, metrics: [] } }));
    await play(elastic, used, scale);
    await play(gang({}, {}, { Master: { replicas: 1, template } }), used, lose);
    await play(gang({ backoffLimit: 0 }), used, fail);
    await play(gang(), used, observe);
    await play(new RoomWorld(), used, giveRoom);
    await play(new JobRoomWorld(), used, giveRoomOfJob);
  });

  it('are enough for jobs that fail, make room, are suspended for it, are elastic, suspended, lose their node, end, and are deleted', () => {
    const allowed = new Set(all);
    expect([...used].filter((permission) => !allowed.has(permission))).toEqual([]);
  });

  it('hold no verb that the operator does not use, other than what the owner references of pods need', () => {
    const unused = all.filter((permission) => !used.has(permission));
    // A TFJob is another row of the same table, and the operator treats it as a PyTorchJob.
    expect(unused.filter((permission) => !permission.includes('tfjobs'))).toEqual(['update pytorchjobs.kubeflow.org/finalizers']);
  });

  it('end at the watched namespace, except for nodes and their Leases', () => {
    const [cluster, , jobs, , ...others] = permissions({ namespace: SYSTEM, image: 'i', watchNamespace: NAMESPACE });
    const leases = others.find(({ metadata }) => metadata.namespace === NODE_LEASE_NAMESPACE);
    expect(leases).toMatchObject({ kind: 'Role', metadata: { name: 'holdfast-operator-n' }, rules: NODE_LEASE_RULES });
    expect(cluster).toMatchObject({ kind: 'ClusterRole', metadata: { name: 'holdfast-operator-n' }, rules: NODE_RULES });
    expect(jobs).toMatchObject({ kind: 'Role', metadata: { namespace: NAMESPACE }, rules: JOB_RULES });
  });
});
