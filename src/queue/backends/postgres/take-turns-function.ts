/** {@link TAKE_TURNS} fails with this SQL state: nothing changed, and the turns go the long way. */
export const NOT_ORDINARY = 'HF001';

/**
 * Takes ordinary turns in one statement: one message to the database and one sync. Every commit
 * must belong to a lease that its worker still holds, and no waiting item may need a rule of its
 * own. Otherwise the function fails with {@link NOT_ORDINARY} and changes nothing.
 *
 * Its statements are planned once for each connection, perhaps while the tables are empty. The
 * settings keep these plans to indexes, whatever the tables grow to.
 *
 * It locks in the order of every transaction: items that are handed in, then items to lease, then
 * counts. Answers one row for each lease, in any order, with its place among the wanted items, and
 * one row without an item for the queue.
 */
export const TAKE_TURNS = `
  CREATE FUNCTION take_turns(
    queue_name TEXT, now_at BIGINT, due BIGINT, own_slot INTEGER, room BIGINT,
    -- What is handed in, by item.
    items_in BIGINT[], tokens_in INTEGER[], generations_in INTEGER[], results_in TEXT[], sessions_in TEXT[], nodes_in TEXT[],
    -- The number of the turn of each wanted item, and the worker of each turn.
    turns_out INTEGER[], sessions_out TEXT[]
  ) RETURNS TABLE (
    place BIGINT, id BIGINT, key TEXT, value TEXT, token INTEGER, generation INTEGER, progress TEXT, tries INTEGER,
    paused BOOLEAN, open BIGINT
  ) LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
  AS $$
  #variable_conflict use_column
  DECLARE
    known RECORD;
    lease RECORD;
    given INTEGER := cardinality(items_in);
    wanted INTEGER := cardinality(turns_out);
    leased INTEGER := 0;
    written INTEGER := 0;
  BEGIN
    SELECT q.id, q.paused INTO known FROM queues AS q WHERE q.name = queue_name;
    IF NOT FOUND THEN RAISE EXCEPTION 'unknown queue' USING ERRCODE = '${NOT_ORDINARY}'; END IF;

    IF given > 0 THEN
      WITH ended AS (
        UPDATE items SET state = 3, open = FALSE, alone = FALSE, session = '', due_at = 0, progress = NULL
        FROM unnest(items_in, tokens_in, generations_in, results_in, sessions_in, nodes_in) AS g (id, token, generation, result, session, node)
        -- The sums keep the planner from the index of all leases.
        WHERE items.id = g.id AND items.token = g.token AND items.generation = g.generation
          AND items.state + 0 = 2 AND items.open AND items.queue + 0 = known.id
        RETURNING items.id, g.token, g.generation, g.result, g.session, g.node, items.leased_at
      )
      INSERT INTO results (queue, item, generation, token, result, session, node, leased_at, committed_at)
        SELECT known.id, e.id, e.generation, e.token, e.result, e.session, e.node, e.leased_at, now_at FROM ended AS e;
      GET DIAGNOSTICS written = ROW_COUNT;
      IF written <> given THEN RAISE EXCEPTION 'a lease is not held' USING ERRCODE = '${NOT_ORDINARY}'; END IF;
    END IF;

    IF wanted = 1 AND NOT known.paused THEN
      -- A single item needs no rule about what comes together, and a much simpler plan.
      UPDATE items SET state = 2, token = items.token + 1, open = TRUE, session = sessions_out[turns_out[1]], together = 1,
        leased_at = now_at, due_at = due
      WHERE items.id = (
        SELECT i.id FROM items AS i WHERE i.queue = known.id AND i.state = 0 ORDER BY i.deaths, i.rank, i.id LIMIT 1
        FOR UPDATE SKIP LOCKED
      )
      RETURNING 1, items.id, items.key, (SELECT v.value FROM payloads AS v WHERE v.item = items.id), items.token, items.generation,
        items.progress, items.tries
      INTO place, id, key, value, token, generation, progress, tries;
      IF FOUND THEN
        leased := 1;
        RETURN NEXT;
      END IF;
    ELSIF wanted > 1 AND NOT known.paused THEN
      FOR lease IN
        WITH head AS (
          SELECT i.id, i.alone FROM items AS i WHERE i.queue = known.id AND i.state = 0 ORDER BY i.deaths, i.rank, i.id LIMIT wanted
          FOR UPDATE SKIP LOCKED
        ),
        placed AS (SELECT h.id, h.alone, row_number() OVER () AS place FROM head AS h),
        shared AS (
          SELECT p.id, p.place, sessions_out[turns_out[p.place]] AS session, v.value, count(*) OVER own AS together,
            bool_or(p.alone) OVER own AS has_alone, sum(octet_length(v.value)) OVER own AS bytes
          FROM placed AS p JOIN payloads AS v ON v.item = p.id
          WINDOW own AS (PARTITION BY turns_out[p.place])
        )
        UPDATE items SET state = 2, token = items.token + 1, open = TRUE, session = s.session, together = s.together,
          leased_at = now_at, due_at = due
        FROM shared AS s WHERE items.id = s.id
        RETURNING s.place, s.value, s.together, s.has_alone, s.bytes, items.id, items.key, items.token, items.generation,
          items.progress, items.tries
      LOOP
        IF lease.together > 1 AND (lease.has_alone OR lease.bytes > room) THEN
          RAISE EXCEPTION 'an item needs a rule of its own' USING ERRCODE = '${NOT_ORDINARY}';
        END IF;
        leased := leased + 1;
        place := lease.place; id := lease.id; key := lease.key; value := lease.value; token := lease.token;
        generation := lease.generation; progress := lease.progress; tries := lease.tries;
        RETURN NEXT;
      END LOOP;
    END IF;

    INSERT INTO counts (queue, name, slot, n)
      SELECT known.id, d.name, own_slot, d.n
      FROM (VALUES ('done', written), ('leased', leased - written), ('ready', -leased)) AS d (name, n) WHERE d.n <> 0
      ON CONFLICT (queue, name, slot) DO UPDATE SET n = counts.n + excluded.n;

    id := NULL; paused := known.paused; open := NULL;
    IF leased < wanted THEN
      SELECT COALESCE(SUM(c.n), 0) INTO open FROM counts AS c WHERE c.queue = known.id AND c.name IN ('ready', 'delayed', 'leased');
    END IF;
    RETURN NEXT;
  END $$`;
