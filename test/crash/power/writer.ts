import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAttempt } from '../../../src/checkpoint/store/attempt.ts';
import { realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { prune } from '../../../src/checkpoint/store/prune.ts';
import { wholeOf } from '../checkpoint-bytes.ts';
import { openWith, saveAll } from '../store-driver.ts';

/** `node writer.ts RUN CONTROL JOURNAL BYTES`: saves step after step, until it is killed, and beside each save one as tools without us make it. */
const [run = '', control = '', journal = '', bytes = ''] = process.argv.slice(2);
const shape = { worldSize: 2, bytes: Number(bytes) };

/** In place, nothing synced, the one before last deleted: what a plain save in a training loop does. */
function savePlainly(step: number): void {
  const folder = join(control, `step-${step}`);
  mkdirSync(join(folder, 'ranks'), { recursive: true });
  for (const [path, content] of wholeOf({ attempt: 1, step, ...shape })) writeFileSync(join(folder, path), content);
  rmSync(join(control, `step-${step - 2}`), { recursive: true, force: true });
}

const store = openWith(realFs, run, 'writer');
const attempt = await startAttempt(store, { gang: 'gang' });
for (let step = 1; ; step++) {
  appendFileSync(journal, `begun ${step}\n`);
  await saveAll(store, attempt, { step, ...shape });
  appendFileSync(journal, `sealed ${step}\n`);
  savePlainly(step);
  appendFileSync(journal, `plain ${step}\n`);
  if (step % 3 === 0) await prune(store, { retention: { last: 2, every: null, withinMs: null } });
}
