import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { quoted } from '../../src/cli/frame/completion/model.ts';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { act, createPlayedNode, PATIENT } from './beside/actions.ts';
import { gang, servers } from './beside/jobs.ts';
import { playOperatorPods, type PodProcess } from './beside/operator-pods.ts';
import { jobPath, podsOf, type Side, snapshot } from './beside/snapshot.ts';
import { applyV1Kinds, createWebhooks, findV1, startV1, WEBHOOK_NAME } from './beside/v1-process.ts';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNotBuilt } from './cluster/facility.ts';
import { eventually } from './cluster/wait.ts';
import { trueConditions } from './scenario/objects.ts';
import { runOperator } from './scenario/operator-process.ts';

const notBuilt = whyNotBuilt();
const v1 = notBuilt === null ? findV1() : { reason: notBuilt };
const reason = 'reason' in v1 ? v1.reason : null;
const folder = 'folder' in v1 ? v1.folder : '';
const IMAGE = 'registry.example.com/holdfast:1';
const [V1_NAMESPACE, OUR_NAMESPACE] = ['kubeflow', 'holdfast-system'];
const WEBHOOKS = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${WEBHOOK_NAME}`;
const RUNS = '/apis/holdfast.dev/v1alpha1/namespaces/team/trainingruns';
const GANG = { kind: 'PyTorchJob', name: 'gang' };
const SERVERS = { kind: 'TFJob', name: 'servers' };

describe.skipIf(reason !== null)(`a move from the Training Operator v1${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let side: Side;
  let operators: AsyncDisposable;
  let script = '';
  const ended: string[] = [];

  /** Runs lines of a shell with the user's own kubectl and holdfast. */
  const shell = async (lines: string): Promise<string> => {
    const env = { PATH: `${join(cluster.folder, 'tools')}:${process.env['PATH']}` };
    const { code, stdout, stderr } = await runProcess('bash', ['-c', lines], { cwd: join(cluster.folder, 'tools'), env });
    if (code !== 0) throw new Error(`the shell ended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  };
  const create = (subject: typeof GANG, spec: unknown, query = ''): Promise<KubeObject> =>
    cluster.api.create(`${jobPath(side, subject.kind, '').slice(0, -1)}${query}`, {
      apiVersion: 'kubeflow.org/v1',
      kind: subject.kind,
      metadata: { name: subject.name },
      spec,
    });
  /** While v1 makes its certificates, its webhooks are there and cannot be called. */
  const createBesideWebhooks = (subject: typeof GANG, spec: unknown): Promise<true> =>
    eventually(`the creation of ${subject.name}`, () =>
      create(subject, spec).then(
        () => true as const,
        (thrown: unknown) => {
          if (String(thrown).includes('failed calling webhook')) return null;
          throw thrown;
        },
      ),
    );
  const pods = async (): Promise<readonly (readonly [name: string, uid: string, isDeleted: boolean])[]> =>
    (await cluster.api.list('/api/v1/namespaces/team/pods')).map(({ metadata }) => [
      metadata.name,
      metadata.uid,
      metadata.deletionTimestamp !== undefined,
    ]);
  const whenTrue = (subject: typeof GANG, type: string): Promise<true> =>
    eventually(`${subject.name} to be ${type}`, async () => {
      const job = await cluster.api.get(jobPath(side, subject.kind, subject.name));
      return trueConditions(job).some((condition) => condition.type === type) ? true : null;
    });

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [], controllerManager: PATIENT });
    side = { cluster, namespace: 'team' };
    await applyV1Kinds(cluster, folder);
    await createPlayedNode(side);
    for (const name of [V1_NAMESPACE, 'team', 'both'])
      await cluster.api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const read = (path: string): unknown => parse(readFileSync(join(folder, 'manifests/base', path), 'utf8'));
    await cluster.api.create(`/api/v1/namespaces/${V1_NAMESPACE}/serviceaccounts`, read('rbac/service-account.yaml'));
    await cluster.api.create(`/apis/apps/v1/namespaces/${V1_NAMESPACE}/deployments`, read('deployment.yaml'));
    operators = playOperatorPods(cluster, [V1_NAMESPACE, OUR_NAMESPACE], startProcess);
    await installTools(cluster);
    script = await shell(`holdfast operator install --replace-training-operator --image=${IMAGE}`);
    await createBesideWebhooks(GANG, gang().spec);
    await createBesideWebhooks(SERVERS, servers().spec);
    await eventually('all pods of v1', async () => ((await pods()).length === 7 ? true : null));
    for (const subject of [GANG, SERVERS]) {
      await act(side, subject, ['run']);
      await whenTrue(subject, 'Running');
    }
  });
  afterAll(async () => {
    await operators?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** The process of a pod of v1 or of this operator, with the arguments of its container. */
  async function startProcess({ spec, metadata }: KubeObject, namespace: string): Promise<PodProcess> {
    if (namespace === V1_NAMESPACE) return startV1(cluster, folder, { namespace: null, initImage: IMAGE });
    const { args } = (spec as { readonly containers: readonly [{ readonly args: readonly string[] }] }).containers[0];
    // Both pods would have an address of their own.
    const operator = runOperator(
      cluster,
      args.slice(2).filter((arg) => !arg.startsWith('--listen=')),
    );
    return {
      end: async () => {
        const code = await operator.end();
        ended.push(`${metadata.name}: ${code}${operator.said().includes('TERMINATED') ? ' TERMINATED' : ''}`);
      },
    };
  }

  it('needs the deletion of its webhooks, which refuse every job when v1 is gone', async () => {
    await createWebhooks(cluster, folder);
    await eventually('the webhooks to be called', () =>
      create({ ...GANG, name: 'another' }, gang().spec, '?dryRun=All').then(
        () => null,
        (thrown: unknown) => (String(thrown).includes('failed calling webhook') ? true : null),
      ),
    );
  });

  it('by the printed script, word for word, keeps every pod of v1’s jobs, and each has a TrainingRun', async () => {
    const before = await pods();
    const said = await shell(script);
    expect(said).toContain('deployment "holdfast-operator" successfully rolled out');
    const phases = await eventually('both TrainingRuns', async () => {
      const runs = await cluster.api.list(RUNS);
      return runs.length === 2 && runs.every(({ status }) => status?.phase === 'Running') ? runs.map(({ status }) => status.attempt) : null;
    });
    expect(phases).toEqual([1, 1]);
    expect(await pods()).toEqual(before);
    expect(await cluster.api.get(WEBHOOKS)).toBeNull();
    await create({ ...GANG, name: 'another' }, gang().spec, '?dryRun=All');
    expect((await snapshot(side, GANG.kind, GANG.name))?.conditions.map(({ type }) => type)).toEqual(['Created', 'Running']);
  });

  it('is taken back by the commands at the end of the script: v1 continues with the same pods', async () => {
    const before = await pods();
    const back = script.slice(script.indexOf('# The way back')).split('\n');
    const commands = back.flatMap((line) => /^# {3}(.*)$/.exec(line)?.[1] ?? []);
    expect(commands.length).toBeGreaterThan(2);
    await shell(['set -e', ...commands].join('\n'));
    expect(await cluster.api.get(WEBHOOKS)).not.toBeNull();
    // Both pods of the operator have ended, and ended well.
    expect(ended.map((line) => line.replace(/^\S+: /, ''))).toEqual(['0', '0']);
    expect(await pods()).toEqual(before);
    await act(side, GANG, ['exit', 'master-0', 0]);
    await whenTrue(GANG, 'Succeeded');
    expect(await pods()).toEqual(before);
  });

  it('leaves a job alone whose pods v1 is still creating, with an event, and adopts it when they are all there', async () => {
    await cluster.api.remove(WEBHOOKS);
    const both = { cluster, namespace: 'both' };
    const quotas = '/api/v1/namespaces/both/resourcequotas';
    await cluster.api.create(quotas, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'few' }, spec: { hard: { pods: '2' } } });
    await eventually('the quota to count', async () => (await cluster.api.get(`${quotas}/few`))?.status?.used ?? null);
    const job = { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', metadata: { name: 'young' }, spec: gang().spec };
    await cluster.api.create('/apis/kubeflow.org/v1/namespaces/both/pytorchjobs', job);
    await eventually('two pods of v1', async () => ((await podsOf(both, 'young')).length === 2 ? true : null));
    const operator = runOperator(cluster, ['--watch-namespace=both']);
    try {
      const events = '/api/v1/namespaces/both/events?fieldSelector=reason%3DAnotherController';
      const [event] = await eventually('an event', async () => {
        const found = await cluster.api.list(events);
        return found.length === 0 ? null : found;
      });
      expect((event as unknown as { readonly message: string }).message).toContain('another controller creates pods of this PyTorchJob');
      const before = (await podsOf(both, 'young')).map(({ metadata }) => metadata.uid);
      await cluster.api.remove(`${quotas}/few`);
      await act(both, { kind: 'PyTorchJob', name: 'young' }, ['touch']);
      const all = await eventually('the third pod', async () => {
        const found = await podsOf(both, 'young');
        return found.length === 3 ? found : null;
      });
      expect(all.map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(before));
      expect(all.filter(({ metadata }) => metadata.labels?.['holdfast.dev/attempt'] !== undefined)).toEqual([]);
      await eventually('its adoption', async () => {
        const [run] = await cluster.api.list('/apis/holdfast.dev/v1alpha1/namespaces/both/trainingruns');
        return (run?.status?.adopted?.uids as readonly string[] | undefined)?.length === 3 ? true : null;
      });
    } finally {
      await operator.end();
    }
  });
});

/** The programs of the user: kubectl for the cluster, and holdfast. */
async function installTools(cluster: Cluster): Promise<void> {
  const tools = join(cluster.folder, 'tools');
  mkdirSync(tools);
  const programs = { kubectl: cluster.inNetwork(cluster.kubectlCommand), holdfast: [LAUNCHER] };
  for (const [name, command] of Object.entries(programs)) {
    writeFileSync(join(tools, name), `#!/bin/sh\nexec ${command.map(quoted).join(' ')} "$@"\n`);
    chmodSync(join(tools, name), 0o700);
  }
}
