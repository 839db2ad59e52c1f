import { afterAll, beforeAll, describe } from 'vitest';
import { realClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import type { ObjectStore, UploadMemory } from '../../src/remote/backends/backend.ts';
import { parseLocation } from '../../src/remote/backends/location.ts';
import { openStore } from '../../src/remote/backends/open-store.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { conformance } from './conformance.ts';
import { findServers, type Server, SERVERS, startServer } from './servers.ts';

/**
 * The memory that a real run of the command keeps on disk, for stores that cannot list their
 * uploads.
 */
function memoryOf(values: Map<string, string>): UploadMemory {
  return {
    get: (key) => values.get(key) ?? null,
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  };
}

const memory = memoryOf(new Map());

function openAt(url: string, env: Readonly<Record<string, string>>): ObjectStore {
  const location = parseLocation(url);
  if (!location.ok) throw new Error(location.reason);
  const { signal } = new AbortController();
  return openStore(location.value, { env: { HOME: '/nonexistent', ...env }, clock: realClock, rng: createRng(1), signal, memory });
}

const folder = tempFolder();
afterAll(() => folder[Symbol.dispose]());
conformance({ name: 'a directory', canResume: true, canNest: true, open: (place) => openAt(`file://${folder.path}/${place}`, {}) });

const binaries = findServers();

describe.each(SERVERS)('on the real %s', (name) => {
  if ('reason' in binaries) {
    describe.skip(`not here: ${binaries.reason}`, () => {});
    return;
  }
  let server: Server;
  beforeAll(async () => {
    server = await startServer(binaries.folder, name);
  });
  afterAll(() => server[Symbol.asyncDispose]());
  conformance({
    name,
    canResume: name !== 'fake-gcs-server',
    canNest: name !== 'fake-gcs-server',
    open: (place) => openAt(`${server.scheme}://${server.bucket}/some/prefix/${place}`, server.env),
  });
});
