import { mkdirSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Place, queueConformance } from '../../../../test/queue/conformance.ts';
import { checkModel } from '../../../../test/queue/model.ts';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { APPLICATION_ID, MIGRATIONS } from './migrations.ts';
import { openSqlite } from './store.ts';

async function makePlace(): Promise<Place> {
  const folder = tempFolder();
  return {
    open: async () => openSqlite(join(folder.path, 'queue.db')),
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
    },
  };
}

describe('SQLite', () => {
  queueConformance(makePlace);

  it('answers like a small model, for any actions of several workers in any order', async () => {
    await checkModel(makePlace, { seed: 21, count: 25 });
  });

  it('refuses a file that another server has open', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'queue.db');
    await using _ = openSqlite(path);
    expect(() => openSqlite(path)).toThrow(expect.objectContaining({ code: 'QUEUE_DATABASE_BUSY' }) as Error);
  });

  it('refuses the database of another program, and does not change it', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'other.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE notes (text TEXT); PRAGMA user_version = 1');
    other.close();
    expect(() => openSqlite(path)).toThrow(expect.objectContaining({ code: 'QUEUE_DATABASE_FOREIGN' }) as Error);
    writeFileSync(join(folder.path, 'text.db'), 'no database, but a text that is long enough to be looked at'.repeat(40));
    expect(() => openSqlite(join(folder.path, 'text.db'))).toThrow(expect.objectContaining({ code: 'QUEUE_DATABASE_FOREIGN' }) as Error);
  });

  it('keeps the results of a file of an older version', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'queue.db');
    const old = new DatabaseSync(path);
    old.exec(`${MIGRATIONS.slice(0, 2).join(';')};
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 2;
      INSERT INTO queues (name, created_at) VALUES ('q', 0);
      INSERT INTO items (queue, key, rank, state, token) VALUES (1, 'k', 0, 3, 1);
      INSERT INTO results VALUES (1, 1, 1, 1, '"done"', 's', 'n', 5, 6)`);
    old.close();
    await using store = openSqlite(path);
    expect(await store.results(1, { after: 0, limit: 9, generation: null })).toEqual([
      { item: 1, key: 'k', generation: 1, token: 1, result: '"done"', committedAt: 6, node: 'n' },
    ]);
  });

  it('refuses a database of a newer version, and a folder', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'queue.db');
    await openSqlite(path)[Symbol.asyncDispose]();
    const file = new DatabaseSync(path);
    file.exec('PRAGMA user_version = 99');
    file.close();
    expect(() => openSqlite(path)).toThrow(expect.objectContaining({ code: 'QUEUE_DATABASE_VERSION' }) as Error);
    mkdirSync(join(folder.path, 'folder'));
    expect(() => openSqlite(join(folder.path, 'folder'))).toThrow(expect.objectContaining({ code: 'QUEUE_DATABASE_FAILED' }) as Error);
  });
});
