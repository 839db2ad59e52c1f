/**
 * The migrations from an empty file to the present form, in order; `user_version` stores the number
 * of applied ones. A published migration never changes; a later change is a new one.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE queues (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL,
    key TEXT NOT NULL,
    -- The negated priority, so that one ascending index is the order of lease.
    rank INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 1,
    token INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    alone INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL DEFAULT 0,
    leased_at INTEGER NOT NULL DEFAULT 0,
    session TEXT NOT NULL DEFAULT '',
    together INTEGER NOT NULL DEFAULT 0,
    progress TEXT
  ) STRICT;
  CREATE UNIQUE INDEX items_key ON items (queue, key);
  CREATE INDEX items_ready ON items (queue, deaths, rank, id) WHERE state = 0;
  CREATE INDEX items_due ON items (due_at) WHERE state IN (1, 2);
  CREATE INDEX items_leased ON items (session) WHERE state = 2;
  CREATE INDEX items_troubled ON items (queue, id) WHERE state IN (4, 5);

  -- Apart, so that a lease does not write a large value again.
  CREATE TABLE payloads (item INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;

  CREATE TABLE results (
    queue INTEGER NOT NULL,
    item INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    token INTEGER NOT NULL,
    result TEXT NOT NULL,
    session TEXT NOT NULL,
    node TEXT NOT NULL,
    leased_at INTEGER NOT NULL,
    committed_at INTEGER NOT NULL,
    PRIMARY KEY (item, generation)
  ) STRICT;
  CREATE INDEX results_page ON results (queue, item);

  CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    token INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    "end" TEXT NOT NULL,
    leased_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    session TEXT NOT NULL,
    node TEXT NOT NULL,
    process TEXT NOT NULL,
    together INTEGER NOT NULL,
    death INTEGER NOT NULL,
    detail TEXT
  ) STRICT;
  CREATE INDEX history_item ON history (item, id);

  CREATE TABLE refused (
    id INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    token INTEGER NOT NULL,
    result TEXT NOT NULL,
    session TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX refused_item ON refused (item);

  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    process TEXT NOT NULL,
    connection INTEGER NOT NULL,
    notice TEXT,
    seen_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE counts (
    queue INTEGER NOT NULL,
    name TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (queue, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tallies (
    queue INTEGER NOT NULL,
    at INTEGER NOT NULL,
    done INTEGER NOT NULL,
    PRIMARY KEY (queue, at)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE looks (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER) STRICT;
  `,
  // A death may be explained later, and is then found by its worker.
  'CREATE INDEX history_deaths ON history (session) WHERE death = 1',
  // One index instead of two: a turn writes a page less, and the disk syncs less.
  `
  CREATE TABLE results_by_queue (
    queue INTEGER NOT NULL,
    item INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    token INTEGER NOT NULL,
    result TEXT NOT NULL,
    session TEXT NOT NULL,
    node TEXT NOT NULL,
    leased_at INTEGER NOT NULL,
    committed_at INTEGER NOT NULL,
    PRIMARY KEY (queue, item, generation)
  ) STRICT;
  INSERT INTO results_by_queue SELECT queue, item, generation, token, result, session, node, leased_at, committed_at FROM results;
  DROP TABLE results;
  ALTER TABLE results_by_queue RENAME TO results;
  `,
];

/** Marks a file as a queue: "HfQu". */
export const APPLICATION_ID = 0x48665175;
