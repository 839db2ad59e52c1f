import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { disruption, ended, pod } from './support/cluster-objects.ts';
import { LAUNCHER, type ProcessResult, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const VICTIM = pod({ phase: 'Failed', containerStatuses: [ended(143)], conditions: [disruption('EvictionByEvictionAPI')] });
const started: Server[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await new Promise((resolve) => server.close(resolve));
});

interface Asked extends ProcessResult {
  readonly asked: readonly string[];
}

/** Asks an API server that forbids what `isForbidden` names, and has one pod otherwise. */
function why(isForbidden: (path: string) => boolean, ...args: readonly string[]): Promise<Asked> {
  return whyOn({ isForbidden, pod: VICTIM, minor: '35' }, ...args);
}

interface OneServer {
  readonly isForbidden: (path: string) => boolean;
  readonly pod: object;
  readonly minor: string;
}

async function whyOn({ isForbidden, pod: only, minor }: OneServer, ...args: readonly string[]): Promise<Asked> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    asked.push(`${request.method ?? ''} ${path}`);
    const plural = path.split('/').at(-1) ?? '';
    if (isForbidden(path)) {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ kind: 'Status', code: 403, message: `${plural} is forbidden: User "night" cannot list \u001b[31mit` }));
      return;
    }
    response.setHeader('content-type', 'application/json');
    if (path === '/version') return void response.end(JSON.stringify({ major: '1', minor }));
    response.end(JSON.stringify({ kind: 'List', metadata: {}, items: plural === 'pods' ? [only] : [] }));
  });
  started.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  using dir = tempFolder();
  const file = join(dir.path, 'kubeconfig');
  writeFileSync(file, kubeconfig(`http://127.0.0.1:${port}`));
  const env = { PATH: process.env['PATH'], HOME: dir.path, COLUMNS: '100' };
  return {
    ...(await runProcess(LAUNCHER, ['why', 'pod/train-0', '-n', 'ml', `--kubeconfig=${file}`, ...args], { cwd: dir.path, env })),
    asked,
  };
}

/** The client refuses a server without TLS unless certificate checks are off. */
function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'here', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'night', user: { token: 'secret-token' } }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'night' } }],
  });
}

describe('holdfast why with an API server', () => {
  it('judges without the nodes and events that it may not list, names each permission, and ends with 2', async () => {
    const { code, stdout, stderr, asked } = await why((path) => path.endsWith('/nodes') || path.endsWith('/events'));
    expect(code).toBe(2);
    expect(stdout).toContain('API_EVICTION, certain');
    expect(stderr).toContain('may not list nodes in the cluster: the answer goes without');
    expect(stderr).toContain('may not list events in the namespace ml: the answer goes without');
    expect(asked.filter((line) => !line.startsWith('GET '))).toEqual([]);
  });

  it('does not conclude from a node that it may not list that the node is gone', async () => {
    const { stdout } = await why((path) => path.endsWith('/nodes'), '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      ends: [{ cause: 'API_EVICTION', node: 'node-1' }],
      problems: [{ source: 'list nodes', reason: expect.stringContaining('may not list nodes') as unknown }],
    });
  });

  it.each([
    { minor: '35+', isForbidden: false, expected: 'POD_DELETED' },
    { minor: '25', isForbidden: false, expected: 'CANNOT_TELL' },
    { minor: '35', isForbidden: true, expected: 'CANNOT_TELL' },
  ])(
    'calls a pod without the condition $expected (minor version $minor, forbidden: $isForbidden)',
    async ({ minor, isForbidden, expected }) => {
      const deletion = { metadata: { deletionTimestamp: '2026-11-18T09:00:30Z', deletionGracePeriodSeconds: 30 } };
      const deleted = pod({ phase: 'Failed', containerStatuses: [ended(143)] }, deletion);
      const { stdout } = await whyOn({ isForbidden: (path) => isForbidden && path === '/version', pod: deleted, minor }, '--json');
      expect(JSON.parse(stdout)).toMatchObject({ ends: [{ cause: expected }] });
    },
  );

  it('ends with the permission that it needs when it may not list pods, without the token and without control characters', async () => {
    const { code, stdout, stderr } = await why((path) => path.endsWith('/pods'));
    expect({ code, stdout }).toEqual({ code: 66, stdout: '' });
    expect(stderr).toMatch(/^error CLUSTER_FORBIDDEN: the user of the kubeconfig may not list pods in the namespace ml: /);
    expect(stderr).toContain('kubectl auth can-i list pods');
    expect(stderr).not.toContain('secret-token');
    expect(stderr).not.toContain('\u001b');
  });
});
