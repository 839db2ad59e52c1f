import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiObject, NewObject } from '../../src/kube/api/api-object.ts';
import { customResources } from '../../src/operator/install/job-definitions.ts';
import { manifestText } from '../../src/operator/install/manifest-text.ts';
import { installObjects, uninstallObjects } from '../../src/operator/install/objects.ts';
import { kindNamed } from '../../src/operator/kinds/table.ts';
import { errorText, validateJob } from '../../src/operator/kinds/validate.ts';
import { buildExecutable } from '../../tools/binary/executable.ts';
import { operatorImage } from '../../tools/image/operator-image.ts';
import { fillOperatorRoot, unpackPackages } from '../../tools/image/operator-root.ts';
import { INVALID_JOBS, type InvalidJob, VALID_JOBS } from '../support/invalid-jobs.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNotBuilt } from './cluster/facility.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { eventually } from './cluster/wait.ts';

const reason = whyNotBuilt();
const OPTIONS = { namespace: 'holdfast-system', image: 'registry.example.com/holdfast:1', watchNamespace: null };
const IMAGE = { name: OPTIONS.image, content: fillImage, entrypoint: operatorImage('test').config.Entrypoint };
const JOBS = '/apis/kubeflow.org/v1/namespaces/default';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
const NAME = 'holdfast-operator';
/** Room for the image, also while it is unpacked. */
const DISK_MIB = 2048;

describe.skipIf(reason !== null)(`an installation on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.run([...cluster.kubectlCommand, ...args]);
  const write = (name: string, text: string): string => {
    const path = join(cluster.folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };

  beforeAll(async () => {
    // OpenShift has this plugin on: owner references need permission.
    const apiServer = { 'enable-admission-plugins': 'OwnerReferencesPermissionEnforcement' };
    cluster = await startCluster({ nodes: [{ diskMiB: DISK_MIB }], images: [IMAGE], apiServer });
    const files = [write('kinds.yaml', manifestText(customResources())), write('operator.yaml', manifestText(reachable(cluster)))];
    // A second time nothing changes, and nothing conflicts.
    for (const file of [...files, ...files]) await kubectl('apply', '--server-side', '--validate=strict', '-f', file);
    for (const [kind, job] of FIRST_OF_KIND)
      await eventually(`the policies of a ${kind} to be enforced`, async () => ((await refusalOf(cluster, job)) === null ? null : true));
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it.each(INVALID_JOBS)('refuses $title with the path that v1 names', async (job) => {
    expect(await refusalOf(cluster, job)).toContain(job.error);
  });

  it.each(INVALID_JOBS)('says of $title what the operator says of such a job that got in', async (job) => {
    const kind = kindNamed(job.kind);
    const errors = kind === null ? [] : validateJob(kind, objectOf(job) as unknown as ApiObject).map(errorText);
    expect(await refusalOf(cluster, job)).toContain(errors[0]);
  });

  it.each(VALID_JOBS)('accepts $title', async (job) => {
    expect(await refusalOf(cluster, job)).toBeNull();
  });

  it('refuses another manager for a job that exists, and no other change of it', async () => {
    const [, job] = VALID_JOBS;
    const { metadata } = await cluster.api.create(`${JOBS}/pytorchjobs`, objectOf({ ...(job ?? FIRST), name: 'managed' }));
    const path = `${JOBS}/pytorchjobs/${metadata.name}`;
    const change = (managedBy: string): Promise<unknown> => cluster.api.patch(path, { spec: { runPolicy: { managedBy } } });
    await expect(change('kubeflow.org/training-operator')).rejects.toThrow(/spec\.runPolicy\.managedBy: Invalid value: .*immutable/);
    await cluster.api.patch(path, { spec: { runPolicy: { suspend: true } } });
    await cluster.api.remove(path);
  });

  it('gives its account no Secrets, and no more of a job than its status', async () => {
    const account = `system:serviceaccount:${OPTIONS.namespace}:${NAME}`;
    const may = (...args: readonly string[]): Promise<string> => kubectl('auth', 'can-i', ...args, `--as=${account}`).catch(() => 'no');
    expect(await may('list', 'secrets', '-A')).toMatch(/^no/);
    expect(await may('update', 'pytorchjobs')).toMatch(/^no/);
    expect(await may('update', 'pytorchjobs', '--subresource=status')).toMatch(/^yes/);
  });

  it('starts both pods from the image, in a namespace that enforces the restricted Pod Security Standard', async () => {
    const path = `/apis/apps/v1/namespaces/${OPTIONS.namespace}/deployments/${NAME}`;
    const readyReplicas = await eventually('two pods that are ready', async () => {
      const status = (await cluster.api.get(path))?.status as { readonly readyReplicas?: number } | undefined;
      return status?.readyReplicas === 2 ? status.readyReplicas : null;
    });
    expect(readyReplicas).toBe(2);
  });

  it('runs a job to its success with its own permissions alone', async () => {
    await cluster.api.create(`${JOBS}/pytorchjobs`, finishedSoon('short'));
    await eventually('the job to succeed', async () => {
      const job = await cluster.api.get(`${JOBS}/pytorchjobs/short`);
      const conditions = (job?.status as { conditions?: { type: string }[] } | undefined)?.conditions ?? [];
      return conditions.some(({ type }) => type === 'Succeeded') ? true : null;
    });
    await eventually('the record of its end', async () =>
      (await kubectl('get', 'hfr', '--no-headers')).includes(' Succeeded ') ? true : null,
    );
    expect(await kubectl('get', 'hfr', '--no-headers')).toMatch(/^short-\S+ +PyTorchJob +Succeeded +1 /);
    expect(await kubectl('get', 'pytorchjobs', 'short', '--no-headers')).toMatch(/^short +Succeeded /);
    const said = await kubectl('logs', '--namespace', OPTIONS.namespace, '--selector=app.kubernetes.io/component=operator', '--tail=-1');
    expect(said).toContain('this operator leads now');
    expect(said).not.toContain('forbidden');
  });

  it('is taken back by what uninstall prints, while jobs, pods and custom resources stay', async () => {
    const before = await kubectl('get', 'pytorchjobs,pods,trainingruns', '-n', 'default', '-o', 'name');
    await kubectl('delete', '--wait=false', '-f', write('gone.yaml', manifestText(uninstallObjects(OPTIONS))));
    expect(await kubectl('get', 'pytorchjobs,pods,trainingruns', '-n', 'default', '-o', 'name')).toBe(before);
    expect(before).toContain('pytorchjob.kubeflow.org/short');
    expect(await cluster.api.list(POLICIES)).toEqual([]);
    expect(await cluster.api.get(`/apis/apps/v1/namespaces/${OPTIONS.namespace}/deployments/${NAME}`)).toBeNull();
  });
});

/** One job of each kind, whose policies are apart. */
const FIRST_OF_KIND = new Map(INVALID_JOBS.toReversed().map((job) => [job.kind, job]));
const [FIRST = { title: '', kind: 'PyTorchJob', spec: {}, error: '' } satisfies InvalidJob] = INVALID_JOBS;

function objectOf({ kind, name = 'j', spec }: Omit<InvalidJob, 'error' | 'title'>): Readonly<Record<string, unknown>> {
  return { apiVersion: 'kubeflow.org/v1', kind, metadata: { name, namespace: 'default' }, spec };
}

/** Why the API server refuses the job; null: it would accept it. Nothing is stored. */
async function refusalOf({ api }: Cluster, job: Omit<InvalidJob, 'error'>): Promise<string | null> {
  try {
    await api.create(`${JOBS}/${job.kind.toLowerCase()}s?dryRun=All`, objectOf(job));
    return null;
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : '';
    const body = JSON.parse(text.slice(text.indexOf('{'))) as { readonly message: string };
    return body.message;
  }
}

/** A job whose only pod ends at once. */
function finishedSoon(name: string): Readonly<Record<string, unknown>> {
  const container = { name: 'pytorch', image: BASE_IMAGE, imagePullPolicy: 'Never', command: ['true'] };
  return objectOf({
    kind: 'PyTorchJob',
    name,
    spec: { pytorchReplicaSpecs: { Master: { replicas: 1, template: { spec: { containers: [container] } } } } },
  });
}

/** The root file system of the operator's image, made of this tree. */
async function fillImage(folder: string): Promise<void> {
  const work = `${folder}-programs`;
  mkdirSync(work);
  const [holdfast, none] = [join(work, 'holdfast'), join(work, 'none')];
  await buildExecutable(holdfast);
  // The operator itself starts neither of the others.
  writeFileSync(none, '');
  fillOperatorRoot(folder, { packages: unpackPackages(), programs: { holdfast, 'holdfast-run': none, 'holdfast-launch': none } });
}

/** The manifests, with the address of the API server: the cluster has no proxy for its Service. */
function reachable({ kubeconfig }: Cluster): readonly NewObject[] {
  const { clusters } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  };
  const { hostname, port } = new URL(clusters[0]?.cluster.server ?? '');
  const address = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const added = Object.entries(address).map(([name, value]) => ({ name, value }));
  const text = JSON.stringify(installObjects(OPTIONS), (key, value: unknown) =>
    key === 'env' && Array.isArray(value) ? [...(value as unknown[]), ...added] : value,
  );
  return JSON.parse(text) as readonly NewObject[];
}
