import { describe, expect, it } from 'vitest';
import { type KillReport, playKills } from './kills.ts';
import { findPostgres, PostgresServer } from './postgres-server.ts';

const found = findPostgres();

function expectNothingLost({ lost, twice, deadCommits, aside, faults, lateCommits }: KillReport): void {
  expect({ lost, twice, deadCommits, aside, faults: faults.slice(0, 5) }).toEqual({
    lost: 0,
    twice: 0,
    deadCommits: 0,
    aside: 0,
    faults: [],
  });
  expect(lateCommits['write'] ?? 0).toBe(0);
}

describe('workers, servers and connections that end at random moments', () => {
  it('lose no item and write none twice, with SQLite', async () => {
    expectNothingLost(await playKills({ seed: 1, count: 40, postgres: null }));
  });

  it.skipIf('missing' in found)(
    `lose no item and write none twice, with PostgreSQL, which is killed, too${'missing' in found ? ` (skipped: ${found.missing})` : ''}`,
    async () => {
      await using postgres = await PostgresServer.start('bin' in found ? found.bin : '');
      expectNothingLost(await playKills({ seed: 2, count: 40, postgres }));
    },
  );
});
