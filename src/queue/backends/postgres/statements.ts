/**
 * Every statement of the PostgreSQL backend, by its purpose. Each is prepared once per connection.
 */
export const STATEMENTS = {
  sharedNow: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',

  findQueue: 'SELECT id, name, paused FROM queues WHERE name = $1',
  queueNames: `SELECT name FROM queues WHERE name NOT LIKE '!%' ORDER BY name`,
  queueNamesOf: 'SELECT name FROM queues WHERE id = ANY($1::bigint[])',
  addQueue: 'INSERT INTO queues (name, created_at) VALUES ($1, $2) RETURNING id, name, paused',
  renameQueue: 'UPDATE queues SET name = $2 WHERE id = $1',
  pauseQueue: 'UPDATE queues SET paused = $2 WHERE id = $1',

  insertItems: `
    WITH given AS (SELECT * FROM unnest($2::text[], $3::text[], $4::integer[]) WITH ORDINALITY AS g (key, value, rank, place)),
    added AS (
      INSERT INTO items (queue, key, rank) SELECT $1, key, rank FROM given ORDER BY place
      ON CONFLICT (queue, key COLLATE "C") DO NOTHING RETURNING id, key
    ),
    stored AS (INSERT INTO payloads (item, value) SELECT id, value FROM added JOIN given USING (key))
    SELECT key FROM added`,
  valuesByKey: 'SELECT key, value FROM items JOIN payloads ON item = id WHERE queue = $1 AND key = ANY($2::text[])',
  valuesById: 'SELECT item, value FROM payloads WHERE item = ANY($1::bigint[])',

  takeTurns: 'SELECT * FROM take_turns($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
  items: 'SELECT * FROM items WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE',
  itemByKey: 'SELECT * FROM items WHERE queue = $1 AND key COLLATE "C" = $2 FOR UPDATE',
  // Two servers never wait for each other here: each skips the rows that the other has locked.
  // The length of a value is in its row’s header: the value itself is not read.
  head: `SELECT *, (SELECT octet_length(value) FROM payloads WHERE item = items.id) AS length FROM items
    WHERE queue = (SELECT id FROM queues WHERE name = $1 AND NOT paused) AND state = 0 ORDER BY deaths, rank, id LIMIT $2
    FOR UPDATE OF items SKIP LOCKED`,
  dueItems: 'SELECT * FROM items WHERE state IN (1, 2) AND due_at <= $1 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED',
  leasedBy: 'SELECT * FROM items WHERE state = 2 AND session = $1 ORDER BY id FOR UPDATE',
  itemsInStates: 'SELECT * FROM items WHERE queue = $1 AND id > $2 AND state = ANY($3::smallint[]) ORDER BY id LIMIT $4 FOR UPDATE',
  updateItems: `
    UPDATE items SET state = g.state, generation = g.generation, token = g.token, open = g.open, tries = g.tries, deaths = g.deaths,
      alone = g.alone, due_at = g.due_at, leased_at = g.leased_at, session = g.session, together = g.together, progress = g.progress
    FROM unnest($1::bigint[], $2::smallint[], $3::integer[], $4::integer[], $5::boolean[], $6::integer[], $7::integer[], $8::boolean[],
      $9::bigint[], $10::bigint[], $11::text[], $12::integer[], $13::text[])
      AS g (id, state, generation, token, open, tries, deaths, alone, due_at, leased_at, session, together, progress)
    WHERE items.id = g.id`,

  results: `SELECT results.* FROM unnest($1::bigint[], $2::integer[]) AS g (item, generation) JOIN items ON items.id = g.item
    JOIN results ON results.queue = items.queue AND results.item = g.item AND results.generation = g.generation`,
  insertResults: `INSERT INTO results (queue, item, generation, token, result, session, node, leased_at, committed_at)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[])`,
  insertHistory: `INSERT INTO history (item, token, generation, "end", leased_at, ended_at, session, node, process, together, death, detail)
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
      $10::integer[], $11::boolean[], $12::text[])`,
  insertRefused: `INSERT INTO refused (item, generation, token, result, session, at)
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::bigint[])`,
  // The newest ten of an item show enough, even if a worker misbehaves.
  trimRefused: `DELETE FROM refused WHERE item = $1 AND id <= (SELECT id FROM refused WHERE item = $1 ORDER BY id DESC LIMIT 1 OFFSET 10)`,
  deathsOf: 'SELECT node, process FROM history WHERE item = $1 AND death',
  forgiveDeaths: `UPDATE history SET death = FALSE, "end" = 'interrupted', detail = $2 WHERE session = $1 AND death RETURNING item`,
  forgetDeaths: 'UPDATE history SET death = FALSE WHERE item = ANY($1::bigint[]) AND death',

  session: 'SELECT * FROM sessions WHERE id = $1 FOR UPDATE',
  putSession: `INSERT INTO sessions (id, node, process, connection, notice, seen_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (id) DO UPDATE SET node = excluded.node, process = excluded.process, connection = excluded.connection, notice = excluded.notice,
    seen_at = excluded.seen_at`,
  seeSessions: 'UPDATE sessions SET seen_at = $2 WHERE id = ANY($1::text[])',
  extendLeases: 'UPDATE items SET due_at = $2 WHERE id = ANY($1::bigint[]) AND state = 2',
  sessionsIn: `SELECT id FROM sessions WHERE starts_with(process, $1 || '/')`,
  liveNodes: 'SELECT COUNT(DISTINCT node) AS n FROM sessions WHERE seen_at >= $1',

  count: `INSERT INTO counts (queue, name, slot, n) SELECT g.queue, g.name, $4, g.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS g (queue, name, n)
    ON CONFLICT (queue, name, slot) DO UPDATE SET n = counts.n + excluded.n`,
  counts: 'SELECT name, SUM(n) AS n FROM counts WHERE queue = $1 GROUP BY name',
  openItems: `SELECT COALESCE(SUM(n), 0) AS n FROM counts WHERE queue = $1 AND name IN ('ready', 'delayed', 'leased')`,
  tally: `INSERT INTO tallies (queue, at, slot, done) VALUES ($1, $2, $3, $4)
    ON CONFLICT (queue, at, slot) DO UPDATE SET done = tallies.done + excluded.done`,
  tallied: 'SELECT COALESCE(SUM(done), 0) AS done, MIN(at) AS first FROM tallies WHERE queue = $1 AND at >= $2',
  dropTallies: 'DELETE FROM tallies WHERE at < $1',
  dropSessions:
    'DELETE FROM sessions WHERE seen_at < $1 AND NOT EXISTS (SELECT 1 FROM items WHERE state = 2 AND items.session = sessions.id)',

  lastLook: 'SELECT at FROM looks FOR UPDATE',
  setLastLook: 'UPDATE looks SET at = $1',
  hasLeases: 'SELECT EXISTS (SELECT 1 FROM items WHERE state IN (1, 2) AND state = 2) AS n',
  shiftLeases: 'UPDATE items SET due_at = LEAST(due_at + $1, $2) WHERE state = 2',

  droppedQueue: 'SELECT id FROM queues WHERE name LIKE $1 LIMIT 1 FOR UPDATE SKIP LOCKED',
  deleteItems: `
    WITH gone AS (DELETE FROM items WHERE id IN (SELECT id FROM items WHERE queue = $1 ORDER BY key COLLATE "C" LIMIT $2) RETURNING id),
    a AS (DELETE FROM payloads WHERE item IN (SELECT id FROM gone)),
    b AS (DELETE FROM results WHERE queue = $1 AND item IN (SELECT id FROM gone)),
    c AS (DELETE FROM history WHERE item IN (SELECT id FROM gone)),
    d AS (DELETE FROM refused WHERE item IN (SELECT id FROM gone))
    SELECT COUNT(*) AS n FROM gone`,
  deleteQueue: `WITH a AS (DELETE FROM counts WHERE queue = $1), b AS (DELETE FROM tallies WHERE queue = $1) DELETE FROM queues WHERE id = $1`,

  workers: `SELECT items.session AS session, COALESCE(node, '') AS node, COALESCE(process, '') AS process, COUNT(*) AS leases,
    MIN(leased_at) AS since FROM items LEFT JOIN sessions ON sessions.id = items.session WHERE state = 2 AND queue = $1
    GROUP BY items.session, node, process ORDER BY since LIMIT 1000`,
  resultPage: `SELECT results.*, key FROM results JOIN items ON items.id = results.item
    WHERE results.queue = $1 AND results.item > $2 AND results.generation = COALESCE($3, items.generation) ORDER BY results.item LIMIT $4`,
  failedPage: 'SELECT * FROM items WHERE queue = $1 AND state IN (4, 5) AND id > $2 ORDER BY id LIMIT $3',
  historyOf: 'SELECT * FROM (SELECT * FROM history WHERE item = $1 ORDER BY id DESC LIMIT $2) AS newest ORDER BY id',
  story: 'SELECT items.*, value FROM items JOIN payloads ON item = id WHERE queue = $1 AND key COLLATE "C" = $2',
  resultsOf:
    'SELECT results.*, key FROM items JOIN results ON results.queue = items.queue AND item = id WHERE id = $1 ORDER BY results.generation',
  refusedOf: `SELECT refused.*, COALESCE(node, '') AS node, COALESCE(process, session) AS process FROM refused LEFT JOIN sessions ON sessions.id = session
    WHERE item = $1 ORDER BY refused.id`,
} as const;

/** The name of a statement in {@link STATEMENTS}. */
export type StatementName = keyof typeof STATEMENTS;

/** A statement with its values, as the driver takes it. */
export function statement(name: StatementName, values: readonly unknown[]): { name: string; text: string; values: unknown[] } {
  return { name, text: STATEMENTS[name], values: [...values] };
}
