import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LAUNCHER } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

/** A kubeconfig for an API server that never answers. */
function writeKubeconfig(folder: string): string {
  const path = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'gone', cluster: { server: 'http://127.0.0.1:1' } }],
    contexts: [{ name: 'gone', context: { cluster: 'gone', user: '' } }],
    'current-context': 'gone',
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

it.each(['SIGTERM', 'SIGINT'] as const)('operator run ends with exit code 0 and without an error when it gets %s', async (signal) => {
  using folder = tempFolder();
  const args = ['operator', 'run', `--kubeconfig=${writeKubeconfig(folder.path)}`, '--listen=127.0.0.1:0'];
  const child = spawn(LAUNCHER, args, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // The address of its metrics: it runs.
  await once(child.stdout, 'data');
  child.kill(signal);
  const [code] = await once(child, 'close');
  expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('ended; pods train on') as string });
  expect(said).not.toMatch(/TERMINATED|INTERRUPTED/);
});
