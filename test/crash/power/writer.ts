import { appendFileSync } from 'node:fs';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { realFs } from '../../../src/store/disk/durable-fs.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { openWith, saveAll } from '../store-driver.ts';

/**
 * `node writer.ts RUN JOURNAL BYTES`: saves step after step until it is killed, and records every
 * answer in the journal.
 */
const [run = '', journal = '', bytes = ''] = process.argv.slice(2);
const shape = { worldSize: 2, bytes: Number(bytes) };

const store = openWith(realFs, run, 'writer');
const attempt = await startAttempt(store, { gang: 'gang' });
for (let step = 1; ; step++) {
  appendFileSync(journal, `begun ${step}\n`);
  await saveAll(store, attempt, { step, ...shape });
  appendFileSync(journal, `sealed ${step}\n`);
  if (step % 3 === 0) await prune(store, { retention: { last: 2, every: null, withinMs: null } });
}
