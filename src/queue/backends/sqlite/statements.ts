/** Every statement of the SQLite backend, by its purpose. */
export const STATEMENTS = {
  findQueue: 'SELECT id, name, paused FROM queues WHERE name = ?',
  queueNames: `SELECT name FROM queues WHERE name NOT LIKE '!%' ORDER BY name`,
  queueName: 'SELECT name FROM queues WHERE id = ?',
  addQueue: 'INSERT INTO queues (name, created_at) VALUES (?, ?) RETURNING id, name, paused',
  renameQueue: 'UPDATE queues SET name = ? WHERE id = ?',
  pauseQueue: 'UPDATE queues SET paused = ? WHERE id = ?',

  insertItem: 'INSERT INTO items (queue, key, rank) VALUES (?, ?, ?) ON CONFLICT (queue, key) DO NOTHING RETURNING id',
  insertPayload: 'INSERT INTO payloads (item, value) VALUES (?, ?)',
  valueByKey: 'SELECT value FROM items JOIN payloads ON item = id WHERE queue = ? AND key = ?',
  valueById: 'SELECT value FROM payloads WHERE item = ?',

  item: 'SELECT * FROM items WHERE id = ?',
  itemByKey: 'SELECT * FROM items WHERE queue = ? AND key = ?',
  // The length of a value is in its row’s header: the value itself is not read.
  head: `SELECT *, (SELECT octet_length(value) FROM payloads WHERE item = items.id) AS length FROM items
    WHERE queue = (SELECT id FROM queues WHERE name = ? AND paused = 0) AND state = 0 ORDER BY deaths, rank, id LIMIT ?`,
  ordinaryHead: `SELECT id, key, token, generation, tries, progress, alone,
      (SELECT octet_length(value) FROM payloads WHERE item = items.id) AS length
    FROM items WHERE queue = ? AND state = 0 ORDER BY deaths, rank, id LIMIT ?`,
  takeLease: 'UPDATE items SET state = 2, token = token + 1, open = 1, session = ?, together = ?, leased_at = ?, due_at = ? WHERE id = ?',
  endLease: `UPDATE items SET state = 3, open = 0, alone = 0, session = '', due_at = 0, progress = NULL
    WHERE id = ? AND token = ? AND generation = ? AND queue = ? AND state = 2 AND open = 1 RETURNING leased_at`,
  dueItems: 'SELECT * FROM items WHERE state IN (1, 2) AND due_at <= ? ORDER BY due_at LIMIT ?',
  leasedBy: 'SELECT * FROM items WHERE state = 2 AND session = ? ORDER BY id',
  itemsInStates: `SELECT * FROM items WHERE queue = ? AND id > ? AND state IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
  updateItem: `UPDATE items SET state = ?, generation = ?, token = ?, open = ?, tries = ?, deaths = ?, alone = ?, due_at = ?, leased_at = ?,
    session = ?, together = ?, progress = ? WHERE id = ?`,

  result: `SELECT results.* FROM items JOIN results ON results.queue = items.queue AND results.item = items.id
    WHERE items.id = ? AND results.generation = ?`,
  insertResult: `INSERT INTO results (queue, item, generation, token, result, session, node, leased_at, committed_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  insertHistory: `INSERT INTO history (item, token, generation, "end", leased_at, ended_at, session, node, process, together, death, detail)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  insertRefused: 'INSERT INTO refused (item, generation, token, result, session, at) VALUES (?, ?, ?, ?, ?, ?)',
  // The newest ten of an item show enough, even if a worker misbehaves.
  trimRefused: 'DELETE FROM refused WHERE item = ?1 AND id <= (SELECT id FROM refused WHERE item = ?1 ORDER BY id DESC LIMIT 1 OFFSET 10)',
  deathsOf: 'SELECT node, process FROM history WHERE item = ? AND death = 1',
  forgiveDeaths: `UPDATE history SET death = 0, "end" = 'interrupted', detail = ?2 WHERE session = ?1 AND death = 1 RETURNING item`,
  forgetDeaths: 'UPDATE history SET death = 0 WHERE item = ? AND death = 1',

  session: 'SELECT * FROM sessions WHERE id = ?',
  putSession: `INSERT INTO sessions (id, node, process, connection, notice, seen_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET node = excluded.node, process = excluded.process, connection = excluded.connection, notice = excluded.notice,
    seen_at = excluded.seen_at`,
  seeSession: 'UPDATE sessions SET seen_at = ?2 WHERE id = ?1',
  extendLease: 'UPDATE items SET due_at = ?2 WHERE id = ?1 AND state = 2',
  sessionsIn: `SELECT id FROM sessions WHERE substr(process, 1, length(?1) + 1) = ?1 || '/'`,
  liveNodes: 'SELECT COUNT(DISTINCT node) AS n FROM sessions WHERE seen_at >= ?',

  count: 'INSERT INTO counts (queue, name, n) VALUES (?, ?, ?) ON CONFLICT (queue, name) DO UPDATE SET n = n + excluded.n',
  counts: 'SELECT name, n FROM counts WHERE queue = ?',
  openItems: `SELECT COALESCE(SUM(n), 0) AS n FROM counts WHERE queue = ? AND name IN ('ready', 'delayed', 'leased')`,
  tally: 'INSERT INTO tallies (queue, at, done) VALUES (?, ?, ?) ON CONFLICT (queue, at) DO UPDATE SET done = done + excluded.done',
  tallied: 'SELECT COALESCE(SUM(done), 0) AS done, MIN(at) AS first FROM tallies WHERE queue = ? AND at >= ?',
  dropTallies: 'DELETE FROM tallies WHERE at < ?',
  dropSessions: 'DELETE FROM sessions WHERE seen_at < ? AND id NOT IN (SELECT session FROM items WHERE state = 2)',

  lastLook: 'SELECT at FROM looks',
  setLastLook: 'INSERT INTO looks (one, at) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET at = excluded.at',
  hasLeases: 'SELECT EXISTS (SELECT 1 FROM items INDEXED BY items_leased WHERE state = 2) AS n',
  shiftLeases: 'UPDATE items SET due_at = MIN(due_at + ?, ?) WHERE state = 2',

  droppedQueue: 'SELECT id FROM queues WHERE name LIKE ? LIMIT 1',
  itemsOf: 'SELECT id FROM items WHERE queue = ? ORDER BY id LIMIT ?',
  deleteItem: 'DELETE FROM items WHERE id = ?',
  deletePayload: 'DELETE FROM payloads WHERE item = ?',
  deleteResults: 'DELETE FROM results WHERE queue = (SELECT queue FROM items WHERE id = ?1) AND item = ?1',
  deleteHistory: 'DELETE FROM history WHERE item = ?',
  deleteRefused: 'DELETE FROM refused WHERE item = ?',
  deleteCounts: 'DELETE FROM counts WHERE queue = ?',
  deleteTallies: 'DELETE FROM tallies WHERE queue = ?',
  deleteQueue: 'DELETE FROM queues WHERE id = ?',

  workers: `SELECT items.session AS session, COALESCE(node, '') AS node, COALESCE(process, '') AS process, COUNT(*) AS leases,
    MIN(leased_at) AS since FROM items LEFT JOIN sessions ON sessions.id = items.session WHERE state = 2 AND queue = ?
    GROUP BY items.session ORDER BY since LIMIT 1000`,
  resultPage: `SELECT results.*, key FROM results JOIN items ON items.id = results.item
    WHERE results.queue = ?1 AND results.item > ?2 AND results.generation = COALESCE(?3, items.generation) ORDER BY results.item LIMIT ?4`,
  failedPage: 'SELECT * FROM items WHERE queue = ? AND state IN (4, 5) AND id > ? ORDER BY id LIMIT ?',
  historyOf: 'SELECT * FROM (SELECT * FROM history WHERE item = ? ORDER BY id DESC LIMIT ?) ORDER BY id',
  resultsOf:
    'SELECT results.*, key FROM items JOIN results ON results.queue = items.queue AND item = id WHERE id = ? ORDER BY results.generation',
  refusedOf: `SELECT refused.*, COALESCE(node, '') AS node, COALESCE(process, session) AS process FROM refused LEFT JOIN sessions ON sessions.id = session
    WHERE item = ? ORDER BY refused.id`,
} as const;

/** The name of a statement in {@link STATEMENTS}. */
export type StatementName = keyof typeof STATEMENTS;
