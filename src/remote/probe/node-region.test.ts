import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { createRng } from '../../core/rng.ts';
import type { Env } from '../http/connect.ts';
import { findNodeRegion } from './node-region.ts';

/** A server that answers from a table; null is an answer of 404. */
async function service(answerTo: (request: IncomingMessage) => string | null) {
  const server = createServer((request, response) => {
    const text = answerTo(request);
    response.writeHead(text === null ? 404 : 200).end(text ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve())));
  return { host: `127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}

function find(env: Env): Promise<string | null> {
  const { signal } = new AbortController();
  // No time passes, so that the limit of one second for an answer is over on no machine.
  return findNodeRegion({ env, clock: new VirtualClock(), rng: createRng(1), signal });
}

const onAws = ({ method, url, headers }: IncomingMessage): string | null => {
  if (method === 'PUT' && url === '/latest/api/token') return 'token';
  const isAsked = url === '/latest/meta-data/placement/region' && headers['x-aws-ec2-metadata-token'] === 'token';
  return isAsked ? 'eu-west-1\n' : null;
};
const onGoogle = ({ url, headers }: IncomingMessage): string | null =>
  url === '/computeMetadata/v1/instance/zone' && headers['metadata-flavor'] === 'Google' ? 'projects/12/zones/us-central1-a' : null;

describe('the region of this machine', () => {
  it('is the region of its zone on Google Cloud', async () => {
    await using google = await service(onGoogle);
    expect(await find({ GCE_METADATA_HOST: google.host, AWS_EC2_METADATA_DISABLED: 'true' })).toBe('us-central1');
  });

  it('comes from AWS with a session token, and not through a proxy', async () => {
    await using aws = await service(onAws);
    const env = { GCE_METADATA_HOST: aws.host, AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://${aws.host}`, http_proxy: 'http://127.0.0.1:9' };
    expect(await find(env)).toBe('eu-west-1');
  });

  it('is unknown if no service answers, or if another kind of service answers', async () => {
    await using other = await service(() => '<html>a page for guests of this network</html>');
    expect(await find({ GCE_METADATA_HOST: '127.0.0.1:9', AWS_EC2_METADATA_DISABLED: 'true' })).toBeNull();
    expect(await find({ GCE_METADATA_HOST: other.host, AWS_EC2_METADATA_DISABLED: 'true' })).toBeNull();
  });
});
