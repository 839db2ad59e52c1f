import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { LAUNCHER, type ProcessResult, ROOT, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const CLUSTER = join(ROOT, 'examples/whatif/cluster.json');
const INFERENCE = join(ROOT, 'examples/whatif/inference.yaml');
const SECRET = 'hunter2';
const started: Server[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await new Promise((resolve) => server.close(resolve));
});

interface Item {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec?: object;
}

const ITEMS = (JSON.parse(readFileSync(CLUSTER, 'utf8')) as { readonly items: readonly Item[] }).items;
const pluralOf = (kind: string): string => (kind === 'PriorityClass' ? 'priorityclasses' : `${kind.toLowerCase()}s`);

function whatif(args: readonly string[], env: object = {}, input?: string): Promise<ProcessResult> {
  return runProcess(LAUNCHER, ['whatif', ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], COLUMNS: '100', ...env },
    ...(input === undefined ? {} : { input }),
  });
}

/** An API server with the cluster of the examples, in pages of two, and what it was asked. */
async function serve(
  isForbidden: (plural: string) => boolean = () => false,
): Promise<{ readonly kubeconfig: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://here');
    asked.push(`${request.method ?? ''} ${url.pathname}`);
    response.setHeader('content-type', 'application/json');
    if (url.pathname === '/version') return void response.end(JSON.stringify({ gitVersion: 'v1.35.8' }));
    const plural = url.pathname.split('/').at(-1) ?? '';
    if (isForbidden(plural)) {
      response.writeHead(403);
      return void response.end(JSON.stringify({ kind: 'Status', message: `${plural} is forbidden` }));
    }
    const found = ITEMS.filter(
      ({ kind, apiVersion }) =>
        pluralOf(kind) === plural && url.pathname === `/api${apiVersion.includes('/') ? 's' : ''}/${apiVersion}/${plural}`,
    );
    if (found.length === 0) {
      response.writeHead(404);
      return void response.end('{}');
    }
    const from = Number(url.searchParams.get('continue') ?? 0);
    const items = found.slice(from, from + 2).map(({ kind: _kind, apiVersion: _version, ...item }) => withSecret(item));
    response.end(JSON.stringify({ metadata: from + 2 < found.length ? { continue: String(from + 2) } : {}, items }));
  });
  started.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'here', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'night', user: { token: 'secret-token' } }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'night' } }],
  };
  return { kubeconfig: JSON.stringify(config), asked };
}

function withSecret(item: Omit<Item, 'kind' | 'apiVersion'>): object {
  const spec = (item.spec ?? {}) as { readonly containers?: readonly object[] };
  if (spec.containers === undefined) return item;
  return {
    ...item,
    spec: { ...spec, containers: spec.containers.map((each) => ({ ...each, env: [{ name: 'TOKEN', value: SECRET }], command: [SECRET] })) },
  };
}

async function withKubeconfig<Result>(config: string, use: (option: string) => Promise<Result>): Promise<Result> {
  using dir = tempFolder();
  const file = join(dir.path, 'kubeconfig');
  writeFileSync(file, config);
  return await use(`--kubeconfig=${file}`);
}

describe('holdfast whatif', () => {
  it('answers from a snapshot in the words of its page, and exits with 1 because a pod is evicted', async () => {
    const { code, stdout, stderr } = await whatif(['apply', '-f', INFERENCE, '-s', CLUSTER]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const page = readFileSync(join(ROOT, 'docs/whatif.md'), 'utf8');
    for (const line of stdout.split('\n').slice(2, 16)) expect(page).toContain(line.trim());
  });

  it('makes a snapshot with GET requests, over several pages and without secrets, that answers like the live cluster', async () => {
    const { kubeconfig, asked } = await serve();
    const { live, snapshot } = await withKubeconfig(kubeconfig, async (option) => ({
      live: await whatif(['apply', '-f', INFERENCE, option, '--json']),
      snapshot: await whatif(['snapshot', option]),
    }));
    expect(snapshot).toMatchObject({ code: 0, stderr: '' });
    expect(snapshot.stdout).not.toContain(SECRET);
    expect(new Set(asked.map((line) => line.split(' ', 1)[0]))).toEqual(new Set(['GET']));
    expect(asked.filter((line) => line.endsWith('/pods')).length).toBeGreaterThan(6);
    const again = await whatif(['apply', '-f', INFERENCE, '-s', '-', '--json'], {}, snapshot.stdout);
    const [first, second] = [live, again].map(({ stdout }) => JSON.parse(stdout) as Record<string, unknown>);
    for (const field of ['pods', 'evicted', 'version', 'nodes', 'shapes', 'accelerators', 'violations'])
      expect(second?.[field]).toEqual(first?.[field]);
  });

  it('names a kind that it may not list, answers without it, and exits with 2', async () => {
    const { kubeconfig } = await serve((plural) => plural === 'trainingruns');
    const { code, stderr, stdout } = await withKubeconfig(kubeconfig, (option) => whatif(['apply', '-f', INFERENCE, option]));
    expect(code).toBe(2);
    expect(stderr).toContain('may not list trainingruns.holdfast.dev in the cluster: the answer goes without');
    expect(stdout).toContain('unknown: no record of a save');
  });

  it('ends with the permission that it needs when it may not list pods', async () => {
    const { kubeconfig } = await serve((plural) => plural === 'pods');
    const { code, stderr } = await withKubeconfig(kubeconfig, (option) => whatif(['drain', 'gpu-1', option]));
    expect(code).toBe(66);
    expect(stderr).toContain('may not list pods in the cluster');
  });

  it('answers from half a snapshot, and says where it ends', async () => {
    const text = readFileSync(CLUSTER, 'utf8');
    const { code, stderr } = await whatif(['audit', '-s', '-', '--fail-on=never'], {}, text.slice(0, text.length * 0.6));
    expect(code).toBe(2);
    expect(stderr).toContain('it ends in the middle of a document');
  });

  it.each([
    ['a node that is not there', ['drain', 'gpu-9'], 66, 'there is no node gpu-9'],
    ['a manifest that is not there', ['apply', '-f', '/nonexistent.yaml'], 66, 'does not exist'],
    ['no manifest', ['apply'], 64, 'no manifest is given'],
    ['a pod that the manifest does not make', ['apply', '-f', INFERENCE, '--explain=other'], 66, 'It makes vision-0'],
    ['two inputs from standard input', ['apply', '-f', '-'], 64, 'both read standard input'],
  ])('names %s', async (_, args, code, text) => {
    const found = await whatif([...args, '-s', args.at(-1) === '-' ? '-' : CLUSTER], {}, '');
    expect(found).toMatchObject({ code, stdout: '' });
    expect(found.stderr).toContain(text);
  });

  it('exits with 2 where all fits, but the manifest names a class that is not there', async () => {
    const manifest = 'kind: Pod\nmetadata: { name: p, namespace: ml }\nspec: { priorityClassName: nope, containers: [{ name: c }] }\n';
    const { code, stdout } = await whatif(['apply', '-f', '-', '-s', CLUSTER], {}, manifest);
    expect(stdout).toContain('there is no PriorityClass nope in the input');
    expect(code).toBe(2);
  });

  it('says CANNOT_TELL where the usage on a node is not known', async () => {
    const { code, stdout } = await whatif(['pressure', 'gpu-1', '-s', CLUSTER]);
    expect(code).toBe(1);
    expect(stdout).toContain('CANNOT_TELL');
  });

  it('audit exits by --fail-on', async () => {
    expect((await whatif(['audit', '-s', CLUSTER])).code).toBe(1);
    expect((await whatif(['audit', '-s', CLUSTER, '--fail-on=error'])).code).toBe(0);
  });
});
