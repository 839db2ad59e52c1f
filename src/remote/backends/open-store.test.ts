import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { realClock } from '../../core/clock.ts';
import { createRng } from '../../core/rng.ts';
import { parseLocation } from './location.ts';
import { openStore } from './open-store.ts';

const TOKEN = 'IQoJb3JpZ2luX2Vj+EXAMPLE/session/token==';

describe('a store that repeats the credentials in its answer', () => {
  it.each([403, 503])('has them masked in the error and in the report about retries (status %i)', async (status) => {
    await using server = createServer((request, response) => {
      const sent = String(request.headers['x-amz-security-token']);
      response
        .writeHead(status)
        .end(`<Error><Code>Refused</Code><Message>${sent} and ${encodeURIComponent(sent)} are refused</Message></Error>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const location = parseLocation('s3://bucket/run');
    if (!location.ok) throw new Error(location.reason);
    const told: string[] = [];
    const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'a-long-secret', AWS_SESSION_TOKEN: TOKEN };
    await using store = openStore(location.value, {
      env: { HOME: '/nonexistent', AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`, AWS_MAX_ATTEMPTS: '2', ...keys },
      clock: realClock,
      rng: createRng(1),
      signal: new AbortController().signal,
      memory: { get: () => null, set() {}, delete() {} },
      onRetry: ({ message }) => told.push(message),
    });
    const error = await store.read('a', 10).then(
      () => null,
      (thrown: unknown) => thrown as Error,
    );
    expect(error?.message).toContain('[redacted] and [redacted] are refused');
    expect(told).toHaveLength(status === 503 ? 1 : 0);
    expect(`${error?.message} ${told.join()}`).not.toMatch(/IQoJb3JpZ2lu/);
  });
});
