import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { findServers, startServer } from './servers.ts';
import { runHoldfast } from './ship-process.ts';
import { shipServerSuite } from './ship-server-suite.ts';
import { sealCheckpoint } from './shippable-run.ts';

shipServerSuite('fake-gcs-server');

const binaries = findServers();
it.skipIf('reason' in binaries).each([404, 410])('an upload that the store has dropped (%i) is restarted', async (status) => {
  using folder = tempFolder(MEMORY);
  await using server = await startServer('folder' in binaries ? binaries.folder : '', 'fake-gcs-server', MEMORY);
  let parts = 0;
  await using proxy = await startFaultProxy(server.port, ({ method, path }) =>
    method === 'PUT' && path.includes('upload_id=') && ++parts === 2 ? { kind: 'answer', status, body: 'Not Found' } : null,
  );
  const run = join(folder.path, 'run');
  await sealCheckpoint(run, 1, { 'large.dat': 70 * 1024 * 1024 });
  const env = { ...server.env, [server.endpointVariable]: proxy.url };
  const { code, stderr } = await runHoldfast(['ship', run, `gs://${server.bucket}/dropped`], env);
  expect([code, stderr]).toEqual([0, '']);
  expect(proxy.faults).toBe(1);
});
