import { TAKE_TURNS } from './take-turns-function.ts';

/** All tables are in a schema of their own. */
export const SCHEMA = 'holdfast_queue';

/**
 * The migrations from nothing to the present form, in order; `form` stores the number of applied
 * ones. A published migration never changes; a later change is a new one.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE queues (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    paused BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL
  );

  CREATE TABLE items (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue BIGINT NOT NULL,
    key TEXT NOT NULL,
    -- The negated priority, so that one ascending index is the order of lease.
    rank INTEGER NOT NULL,
    state SMALLINT NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 1,
    token INTEGER NOT NULL DEFAULT 0,
    open BOOLEAN NOT NULL DEFAULT FALSE,
    tries INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    alone BOOLEAN NOT NULL DEFAULT FALSE,
    due_at BIGINT NOT NULL DEFAULT 0,
    leased_at BIGINT NOT NULL DEFAULT 0,
    session TEXT NOT NULL DEFAULT '',
    together INTEGER NOT NULL DEFAULT 0,
    progress TEXT
  ) WITH (fillfactor = 80);
  -- Bytes, whatever the language of the database: keys are compared byte for byte.
  CREATE UNIQUE INDEX items_key ON items (queue, key COLLATE "C");
  CREATE INDEX items_ready ON items (queue, deaths, rank, id) WHERE state = 0;
  CREATE INDEX items_due ON items (due_at) WHERE state IN (1, 2);
  CREATE INDEX items_leased ON items (session) WHERE state = 2;
  CREATE INDEX items_troubled ON items (queue, id) WHERE state IN (4, 5);
  CREATE INDEX items_page ON items (queue, id);
  -- Every lease and every commit leaves dead entries in these.
  ALTER TABLE items SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

  -- Apart, so that a lease does not write a large value again.
  CREATE TABLE payloads (item BIGINT PRIMARY KEY, value TEXT NOT NULL);

  CREATE TABLE results (
    queue BIGINT NOT NULL,
    item BIGINT NOT NULL,
    generation INTEGER NOT NULL,
    token INTEGER NOT NULL,
    result TEXT NOT NULL,
    session TEXT NOT NULL,
    node TEXT NOT NULL,
    leased_at BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    PRIMARY KEY (item, generation)
  );
  CREATE INDEX results_page ON results (queue, item);

  CREATE TABLE history (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item BIGINT NOT NULL,
    token INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    "end" TEXT NOT NULL,
    leased_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    session TEXT NOT NULL,
    node TEXT NOT NULL,
    process TEXT NOT NULL,
    together INTEGER NOT NULL,
    death BOOLEAN NOT NULL,
    detail TEXT
  );
  CREATE INDEX history_item ON history (item, id);

  CREATE TABLE refused (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item BIGINT NOT NULL,
    generation INTEGER NOT NULL,
    token INTEGER NOT NULL,
    result TEXT NOT NULL,
    session TEXT NOT NULL,
    at BIGINT NOT NULL
  );
  CREATE INDEX refused_item ON refused (item, id);

  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    process TEXT NOT NULL,
    connection INTEGER NOT NULL,
    notice TEXT,
    seen_at BIGINT NOT NULL
  );

  -- Summed over the slots: servers that count in different rows do not wait for each other.
  CREATE TABLE counts (
    queue BIGINT NOT NULL,
    name TEXT NOT NULL,
    slot INTEGER NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (queue, name, slot)
  ) WITH (fillfactor = 50);

  CREATE TABLE tallies (
    queue BIGINT NOT NULL,
    at BIGINT NOT NULL,
    slot INTEGER NOT NULL,
    done BIGINT NOT NULL,
    PRIMARY KEY (queue, at, slot)
  ) WITH (fillfactor = 50);

  CREATE TABLE looks (one INTEGER PRIMARY KEY CHECK (one = 1), at BIGINT);
  INSERT INTO looks (one, at) VALUES (1, NULL);
  `,
  // A death may be explained later, and is then found by its worker.
  'CREATE INDEX history_deaths ON history (session) WHERE death',
  // A first function for ordinary turns; the next migration replaces it.
  '',
  // One index less for each lease and each result: the indexes were most of the cost of a turn.
  `
  DROP FUNCTION IF EXISTS take_turns;
  DROP INDEX items_page;
  ALTER TABLE results DROP CONSTRAINT results_pkey;
  DROP INDEX results_page;
  ALTER TABLE results ADD PRIMARY KEY (queue, item, generation);
  ${TAKE_TURNS}`,
];
