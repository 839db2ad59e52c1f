import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { findServers, type Server, SERVERS, startServer } from './servers.ts';

const binaries = findServers();

describe.each(SERVERS)('probe of a bucket, on the real %s', (name) => {
  if ('reason' in binaries) {
    describe.skip(`not here: ${binaries.reason}`, () => {});
    return;
  }
  let server: Server;
  beforeAll(async () => {
    server = await startServer(binaries.folder, name);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const probe = async (...args: readonly string[]) => {
    const url = `${server.scheme}://${server.bucket}/runs/gpt2`;
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...server.env };
    const { code, stdout, stderr } = await runProcess(LAUNCHER, ['probe', url, '--json', ...args], { env });
    return { code, stderr, report: stdout === '' ? null : (JSON.parse(stdout) as Record<string, unknown>) };
  };

  it('finds every permission, measures the rate, and removes its object', async () => {
    const { code, stderr, report } = await probe('--bytes=4MiB');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(report).toMatchObject({
      schema: 'holdfast.probe-bucket/1',
      permissions: ['list', 'write', 'read', 'remove'].map((each) => ({ name: each, isAllowed: true })),
      threats: [],
      bandwidth: { bytes: 4 * 2 ** 20 },
    });
    // The next probe meets no leftover of the first.
    expect((await probe('--quick')).report).toMatchObject({ bandwidth: null, threats: [] });
  });

  it('reports that the nodes are in another region', async () => {
    const { report } = await probe('--quick', '--node-region=mars-1');
    expect(report).toMatchObject({ nodeRegion: 'mars-1' });
    expect([null, false]).toContain(report?.['isNear']);
  });

  // Among these servers only MinIO has lifecycle rules.
  if (name !== 'minio') return;
  it('names the lifecycle rule that would delete the copies, and reports a problem', async () => {
    const rules =
      '<LifecycleConfiguration><Rule><ID>tidy</ID><Status>Enabled</Status><Filter><Prefix>runs/</Prefix></Filter><Expiration><Days>7</Days></Expiration></Rule></LifecycleConfiguration>';
    await putLifecycle(server, rules);
    const { code, report } = await probe('--quick');
    expect(code).toBe(1);
    expect(report).toMatchObject({ threats: [{ id: 'tidy', prefix: 'runs/', afterDays: 7 }] });
  });
});

/** Sets the rules like an administrator, signed with the store's own key. */
async function putLifecycle(server: Server, body: string): Promise<void> {
  const { signRequest } = await import('../../src/remote/credentials/aws-sign.ts');
  const host = `127.0.0.1:${server.port}`;
  const payload = createHash('sha256').update(body).digest('hex');
  const headers = { host, 'content-md5': createHash('md5').update(body).digest('base64') };
  const keys = {
    accessKeyId: server.env['AWS_ACCESS_KEY_ID'] ?? '',
    secretAccessKey: server.env['AWS_SECRET_ACCESS_KEY'] ?? '',
    sessionToken: null,
    expiresAt: null,
  };
  const call = { method: 'PUT', path: `/${server.bucket}`, query: [['lifecycle', '']] as const, headers, payload };
  const signed = signRequest(call, keys, { region: 'us-east-1', service: 's3', at: Date.now() });
  const answer = await fetch(`http://${host}/${server.bucket}?lifecycle=`, { method: 'PUT', headers: signed, body });
  if (!answer.ok) throw new Error(`the rules were answered with ${answer.status}: ${await answer.text()}`);
}
