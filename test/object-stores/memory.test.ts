import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { measureProcess } from '../support/measure-process.ts';
import { ROOT } from '../support/run-process.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { findServers, startServer } from './servers.ts';
import { sealCheckpoint } from './shippable-run.ts';

const binaries = findServers();
const why = 'reason' in binaries ? binaries.reason : process.platform === 'linux' ? null : 'memory is read from /proc';
const MIB = 1024 * 1024;
const MOST_BYTES = 300_000_000;

describe.skipIf(why !== null)(`memory${why === null ? '' : ` (not here: ${why})`}`, () => {
  it.each([
    ['as many transfers as by default', []],
    ['as many transfers as there can be', ['--parallel', '48']],
    ['a limited rate', ['--parallel', '48', '--limit', '400MiB/s']],
  ])('shipping and fetching with %s takes at most 300 MB', async (_, options) => {
    using folder = tempFolder(MEMORY);
    await using server = await startServer('folder' in binaries ? binaries.folder : '', 'versitygw', MEMORY);
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 1, Object.fromEntries([...Array(12).keys()].map((index) => [`${index}.dat`, 50 * MIB])));
    const variables = Object.entries(server.env).map(([name, value]) => `${name}=${value}`);
    const holdfast = ['env', ...variables, join(ROOT, 'bin/holdfast')];
    const url = `s3://${server.bucket}/memory`;
    for (const args of [
      ['ship', run, url],
      ['fetch', '--quiet', url, join(folder.path, 'back')],
    ]) {
      const { code, stderr, peakBytes } = await measureProcess([...holdfast, ...args, ...options]);
      expect([code, stderr]).toEqual([0, '']);
      expect(peakBytes).toBeGreaterThan(20_000_000);
      expect(peakBytes).toBeLessThan(MOST_BYTES);
    }
  });
});
