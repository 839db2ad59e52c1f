import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realClock } from '../src/core/clock.ts';
import { readings } from '../src/core/unescaped.ts';
import { runCommand } from './support/run-command.ts';
import { sealSteps, testRun } from './support/sealed-run.ts';

/** Stands in every secret of this test. */
const CANARY = 'canary7Qz';
const ENV = {
  AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  AWS_SECRET_ACCESS_KEY: `${CANARY}/secret+key`,
  AWS_SESSION_TOKEN: `${CANARY}/session/token+==`,
  AWS_MAX_ATTEMPTS: '1',
};

/** How the answers of a server may write what it was sent. */
const WRITTEN: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'with every character as an escape of JSON': (text) => Buffer.from(text).toString('hex').replace(/../g, '\\u00$&'),
  'with every character as an escape of an address': (text) => Buffer.from(text).toString('hex').replace(/../g, '%$&'),
  'with every character as an escape of XML': (text) => Buffer.from(text).toString('hex').replace(/../g, '&#38;#x$&;'),
  'in base64': (text) => Buffer.from(text).toString('base64'),
};

/** Answers with everything that it was sent, and first with what it should not repeat. */
function echo(request: IncomingMessage, response: ServerResponse, write: (text: string) => string): void {
  const { 'x-amz-security-token': token, authorization, ...others } = request.headers;
  const told = write([token, authorization, ...Object.values(others), request.url].join(' '));
  response.writeHead(403, { 'x-amz-error-message': told.slice(0, 1000) });
  response.end(`<Error><Code>AccessDenied</Code><Message>${told}</Message></Error>`);
}

/** Whether the text holds the canary in any way of writing it. */
function isTold(text: string): boolean {
  const decoded = text.replace(/[\w+/=]{12,}/g, (run) => `${run} ${Buffer.from(run, 'base64').toString('latin1')}`);
  return readings(decoded).some((reading) => reading.text.includes(CANARY));
}

/** Command lines with a secret in the environment, and in addresses that are refused or fail. */
function linesOf(
  port: number,
  run: string,
): readonly { readonly line: readonly string[]; readonly env?: Readonly<Record<string, string>> }[] {
  const [bucket, endpoint, user] = ['s3://bucket/run', `--endpoint=http://127.0.0.1:${port}`, `me:${CANARY}word`];
  const proxied = (proxy: string) => ({ line: ['ls', bucket, '--endpoint=https://store.example'], env: { HTTPS_PROXY: proxy } });
  return [
    { line: ['ls', bucket, endpoint] },
    { line: ['ls', '--json', bucket, endpoint] },
    { line: ['ship', '--json', run, bucket, endpoint] },
    { line: ['fetch', bucket, `${run}-back`, endpoint] },
    { line: ['probe', bucket, endpoint] },
    { line: ['ls', bucket, `--endpoint=http://${user}@127.0.0.1:${port}`] },
    { line: ['ls', `s3://${user}@bucket/run`] },
    { line: ['ls', `https://${user}@bucket/run`] },
    { line: ['ship', run, `${user}@bucket/run`] },
    proxied(`http://${user}@127.0.0.1:${port}`),
    proxied(`http://${user}@[bad`),
    proxied(`socks5://${user}@127.0.0.1:${port}`),
    { line: ['queue', 'status', `--url=http://${user}@127.0.0.1:1`] },
    { line: ['queue', 'status', `--url=ftp://${user}@127.0.0.1`] },
    { line: ['queue', 'status'], env: { HOLDFAST_QUEUE_URL: `${user}@127.0.0.1` } },
    { line: ['queue', 'serve', `--db=postgres://${user}@127.0.0.1:1/db`] },
    { line: ['queue', 'serve', `--db=postgres://127.0.0.1:1/db?user=me&password=${CANARY}`] },
    { line: ['run', `--metadata=gcp=http://${user}@host`, '--', 'true'] },
    { line: ['run', `--ship=https://${user}@bucket/run`, '--', 'true'] },
  ];
}

it.each(Object.entries(WRITTEN))('no command prints a secret that a server repeats %s', async (_, write) => {
  using run = testRun();
  await sealSteps(run.store, 'g', 1);
  await using server = createServer((request, response) => echo(request, response, write));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  for (const { line, env = {} } of linesOf(port, run.path)) {
    const { code, stdout, stderr } = await runCommand(line, { env: { ...ENV, ...env }, clock: realClock });
    const what = line.slice(0, 2).join(' ');
    expect([what, code === 0 || code === 70]).toEqual([what, false]);
    expect([what, isTold(stdout + stderr)]).toEqual([what, false]);
  }
  const written = readdirSync(run.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(written.filter((file) => isTold(readFileSync(join(file.parentPath, file.name), 'latin1')))).toEqual([]);
});
