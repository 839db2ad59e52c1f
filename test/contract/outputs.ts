import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeLedger } from '../support/make-ledger.ts';
import { LAUNCHER, ROOT, runProcess } from '../support/run-process.ts';
import { sealSteps, stagedSave, testRun } from '../support/sealed-run.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { jsonLines, type KeptFiles, mergeKeptFiles, readKeptFiles } from './files.ts';

/** The documents of one kind, by the name of the kind. */
export type Documents = Readonly<Record<string, readonly unknown[]>>;

const EXAMPLES = join(ROOT, 'examples/checkpoints');
const FIXTURES = join(ROOT, 'test/fixtures/whole');

/**
 * Runs a command and parses the one JSON document that it prints; `code` is the expected exit code.
 */
async function ask(code: number, ...args: readonly string[]): Promise<unknown> {
  const ended = await runProcess(LAUNCHER, [...args, '--json']);
  if (ended.code !== code) throw new Error(`holdfast ${args.join(' ')} ended with ${ended.code} instead of ${code}: ${ended.stderr}`);
  return JSON.parse(ended.stdout === '' ? ended.stderr : ended.stdout);
}

/**
 * The output of `verify` about the examples and every intact fixture, its errors and its progress.
 */
export async function verifyDocuments(): Promise<Documents> {
  const quick = await ask(1, 'verify', EXAMPLES, FIXTURES);
  const deep = await ask(1, 'verify', '--deep', EXAMPLES, FIXTURES);
  const lastGood = await ask(0, 'verify', '--last-good', EXAMPLES);
  const error = await ask(66, 'verify', join(ROOT, 'no-such-path'));
  const { stderr } = await runProcess(LAUNCHER, ['verify', '--deep', '--progress=json', FIXTURES]);
  return { verify: [quick, deep], 'verify --last-good': [lastGood], error: [error], progress: jsonLines(stderr) };
}

/** The output of commands that need no run, and of those that read a ledger. */
export async function otherDocuments(): Promise<Documents> {
  using place = tempFolder();
  using run = tempFolder();
  await makeLedger(run.path);
  const evidence = await ask(0, 'explain', 'FILE_EMPTY');
  const error = await ask(0, 'explain', 'STORE_FULL');
  const measured = await ask(0, 'probe', '--bytes=1MiB', '--rounds=1', place.path);
  const log = await ask(0, 'log', '--all', run.path);
  return {
    help: [await ask(0, 'help')],
    'help COMMAND': [await ask(0, 'help', 'verify'), await ask(0, 'help', 'demo')],
    'help exit-codes': [await ask(0, 'help', 'exit-codes')],
    'explain (verdict)': [await ask(0, 'explain', 'ZOMBIE')],
    'explain (exit code)': [await ask(0, 'explain', '143'), await ask(0, 'explain', '137')],
    'explain (cause)': [await ask(0, 'explain', 'aws-spot'), await ask(0, 'explain', 'sigterm')],
    'explain (all)': [await ask(0, 'explain')],
    'explain (evidence)': [evidence],
    'explain (error)': [error],
    probe: [measured, await ask(0, 'probe', '--quick', place.path)],
    log: [log],
    'ledger line': ledgerLines(run.path),
  };
}

/** A rank's receipt; it exists only until the save is sealed. */
export async function receiptDocuments(): Promise<Documents> {
  using run = testRun();
  const attempt = await sealSteps(run.store, 'g', 1);
  const save = await stagedSave(run.store, attempt, { step: 2 });
  const receipts = join(save.data, '../receipts');
  return { receipt: readdirSync(receipts).map((name) => JSON.parse(readFileSync(join(receipts, name), 'utf8')) as unknown) };
}

interface RunDocuments {
  readonly documents: Documents;
  /** The files in the folder of the run. */
  readonly kept: KeptFiles;
  /** The files in the folder of its copy. */
  readonly copied: KeptFiles;
}

/**
 * One run and its copy, from the first seal to the quarantine: the output of the commands, and the
 * files after each step.
 */
export async function runDocuments(folder: string): Promise<RunDocuments> {
  const [run, copy, fetched] = [join(folder, 'sealed'), join(folder, 'copy'), join(folder, 'fetched')];
  const [older, bad, newer] = [join(run, 'checkpoint-2'), join(run, 'checkpoint-4'), join(run, 'epoch=0-step=4.ckpt')];
  const url = `file://${copy}`;
  mkdirSync(run);
  for (const source of ['trainer-run', 'whole/lightning']) cpSync(join(EXAMPLES, source), run, { recursive: true });

  const fresh = await ask(3, 'resume', folder);
  const sealed = await ask(1, 'seal', older, newer, bad);
  const pinned = await ask(0, 'pin', older);
  const listed = await ask(0, 'ls', run);
  const kept = [readKeptFiles(run)];
  const pruned = [await ask(0, 'prune', '--dry-run', '--keep=1', run)];
  const unpinned = await ask(0, 'unpin', older);
  pruned.push(await ask(0, 'prune', '--dry-run', '--keep=1', run));
  const resumed = await ask(0, 'resume', run);
  const shipped = [await ask(0, 'ship', '--all', run, url), await ask(0, 'ship', run, url)];
  const listedShipped = await ask(0, 'ls', run);
  const came = [await ask(0, 'fetch', url, fetched), await ask(0, 'fetch', url, fetched)];
  const rolledBack = [await ask(0, 'rollback', '--to=2', run), await ask(0, 'rollback', '--fresh', run)];
  const tellCopy = await ask(0, 'ship', run, url);
  kept.push(readKeptFiles(run));
  const copied = readKeptFiles(copy);
  rolledBack.push(await ask(0, 'rollback', '--undo', run));
  rmSync(newer);
  const [looked, skipped] = [await ask(0, 'resume', '--look-only', run), await ask(0, 'resume', run)];
  const aside = await ask(0, 'quarantine', run);
  kept.push(readKeptFiles(run));
  const restored = await ask(0, 'quarantine', '--restore=epoch=0-step=4.ckpt', run);
  writeFileSync(join(older, 'holdfast.manifest.json'), '{}');
  const broken = await ask(0, 'ls', run);
  return {
    documents: {
      seal: [sealed],
      pin: [pinned],
      unpin: [unpinned],
      ls: [listed, listedShipped, broken],
      resume: [fresh, resumed, looked, skipped],
      prune: pruned,
      ship: [...shipped, tellCopy],
      fetch: came,
      rollback: rolledBack,
      quarantine: [aside],
      'quarantine --restore': [restored],
    },
    kept: mergeKeptFiles(kept),
    copied,
  };
}

/** The fields of every line of a ledger. The fields of each kind are in a table of their own. */
export function ledgerLines(run: string): readonly unknown[] {
  const folder = join(run, '.holdfast/ledger');
  const lines = readdirSync(folder).flatMap((name) => jsonLines(readFileSync(join(folder, name), 'utf8')));
  return lines.map((line) => {
    const { crc32c, v, attempt, node, seq, atMs } = line as Readonly<Record<string, unknown>>;
    return { crc32c, v, attempt, node, seq, atMs };
  });
}
