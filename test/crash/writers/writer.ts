import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Attempt, startAttempt } from '../../../src/store/attempt/attempt.ts';
import { commitSave, type Sealed } from '../../../src/store/commit/commit.ts';
import type { DurableFs } from '../../../src/store/disk/durable-fs.ts';
import { lastGood } from '../../../src/store/resume/last-good.ts';
import { abandonSave, beginSave, type Save, writeReceipt } from '../../../src/store/commit/save.ts';
import { openRun, type OpenStore, readRun } from '../../../src/store/folder/store.ts';
import { HoldfastError, toError } from '../../../src/core/errors.ts';
import { createRng } from '../../../src/core/rng.ts';
import { filesOf } from '../checkpoint-bytes.ts';
import { keepCompiled } from '../compile-cache.ts';
import { hesitantFs, pause } from './hesitant-fs.ts';
import type { Place } from './history.ts';
import type { BeginFacts, EndFacts, Job } from './job.ts';
import { sealedOnDisk } from './sealed-on-disk.ts';

/**
 * One process of the rounds of several writers: does each order of its parent and answers, until it
 * is killed.
 */
process.on('message', (job: Job) => {
  void work(job).then(
    () => process.send?.('done'),
    (thrown: unknown) => process.send?.(`failed: ${toError(thrown).stack}`),
  );
});
process.on('disconnect', () => process.exit(0));

async function work(job: Job): Promise<void> {
  const fs = hesitantFs(createRng(job.seed), job.hesitation);
  pause(job.delay);
  if (job.role === 'rank') await beRank(job, fs);
  else await beReader(job, fs);
  keepCompiled();
}

let calls = 0;

/** Records each call and its result, each in one append, which a kill cannot tear. */
async function noted<T>(
  { journal }: Job,
  begin: BeginFacts,
  call: () => Promise<T> | T,
  tell: (value: T) => EndFacts,
): Promise<T | undefined> {
  calls += 1;
  const write = (line: { readonly begin: BeginFacts } | { readonly end: EndFacts }): void =>
    appendFileSync(journal, `${JSON.stringify({ at: String(process.hrtime.bigint()), call: calls, ...line })}\n`);
  write({ begin });
  try {
    const value = await call();
    write({ end: tell(value) });
    return value;
  } catch (thrown) {
    if (!isFence(thrown)) write({ end: { outcome: 'unknown', error: toError(thrown).message } });
    else write({ end: { outcome: 'refused' } });
    return undefined;
  }
}

function isFence(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && thrown.code === 'ATTEMPT_FENCED';
}

async function beRank(job: Extract<Job, { role: 'rank' }>, fs: DurableFs): Promise<void> {
  const store = openRun(job.run, { fs });
  const attempt = await noted(
    job,
    { kind: 'attempt', gang: job.gang },
    () => startAttempt(store, { gang: job.gang }),
    (started) => ({ attempt: started.attempt, seen: sealedOnDisk(job.run).map(placeOf) }),
  );
  if (attempt === undefined) return;
  for (const step of job.steps) await saveStep(job, store, attempt, step);
}

async function saveStep(job: Extract<Job, { role: 'rank' }>, store: OpenStore, attempt: Attempt, step: number): Promise<void> {
  const { rank, worldSize, gang } = job;
  try {
    const save = beginSave(store, attempt, { step, worldSize, save: `${gang}-${step}` });
    const files = filesOf({ attempt: attempt.attempt, step, worldSize }, rank);
    ensureFolder(store.fs, join(save.data, 'ranks'));
    for (const [path, content] of files) store.fs.writeFile(join(save.data, path), content);
    await writeReceipt(store, save, { rank, files: [...files.keys()] });
    if (rank !== 0) return;
    if (!allReceipts(store.fs, save)) return abandonSave(store, save);
    const begin = { kind: 'commit', attempt: attempt.attempt, step } as const;
    const commit = (): Sealed => {
      // Long enough for the start of a newer attempt.
      pause(job.lateness);
      return commitSave(store, save);
    };
    await noted(job, begin, commit, () => ({ outcome: 'sealed' }));
  } catch (thrown) {
    // Fenced during the write, or another rank of its gang gave up the save and removes the folder.
    if (!isFence(thrown) && !isGivenUp(thrown) && store.fs.stat(stagingOf(job, attempt, step)) !== null) throw thrown;
  }
}

function isGivenUp(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && thrown.code === 'SAVE_INCOMPLETE';
}

function stagingOf({ run, gang }: Extract<Job, { role: 'rank' }>, { attempt }: Attempt, step: number): string {
  return join(run, '.holdfast', 'attempts', String(attempt), 'staging', `${gang}-${step}`);
}

function ensureFolder(fs: DurableFs, path: string): void {
  try {
    fs.mkdir(path);
  } catch (thrown) {
    if (fs.stat(path) === null) throw thrown;
  }
}

/** Waits for the other ranks for a limited time: they may have been killed. */
function allReceipts(fs: DurableFs, { folder, worldSize }: Save): boolean {
  for (let tries = 0; tries < 100; tries++) {
    const receipts = fs.list(join(folder, 'receipts')).filter((name) => name.endsWith('.json'));
    if (receipts.length === worldSize) return true;
    pause(2);
  }
  return false;
}

async function beReader(job: Extract<Job, { role: 'reader' }>, fs: DurableFs): Promise<void> {
  for (let read = 0; read < job.reads; read++) {
    await noted(
      job,
      { kind: 'read' },
      () => lastGood(readRun(job.run, { fs })),
      ({ checkpoint }) => ({ lastGood: checkpoint === null ? null : placeOf(checkpoint.manifest) }),
    );
    pause(2);
  }
}

function placeOf({ attempt, step }: Place): Place {
  return { attempt, step };
}
