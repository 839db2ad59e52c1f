import { join } from 'node:path';
import { commitSave, makeNameDurable } from '../../checkpoint/store/commit.ts';
import { storeFailure } from '../../checkpoint/store/last-good-cache.ts';
import { MANIFEST_NAME } from '../../checkpoint/store/layout.ts';
import { type Manifest, parseManifest } from '../../checkpoint/store/manifest.ts';
import { receiptName } from '../../checkpoint/store/receipt.ts';
import { abandonSave, type Save, whyLost, writeReceipt } from '../../checkpoint/store/save.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { isCode, isDiskError } from '../../checkpoint/store/store-error.ts';
import { walkFiles } from '../../checkpoint/store/walk-files.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { SealedSave } from '../sealing/messages.ts';
import { assertOneWriterEach } from '../sealing/one-writer.ts';
import { vouchingRank } from './share-files.ts';
import { until } from './until.ts';

/** What one node does of sealing a save that all nodes have written. */
export interface SharedWork {
  readonly kind: 'seal-together';
  readonly save: Save;
  readonly nodes: number;
  readonly nodeRank: number;
  /** The ranks of this node. */
  readonly ranks: readonly number[];
  /** Longest wait for the other nodes, in each phase. */
  readonly boundMs: number;
}

interface Found {
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
}

interface SealOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
}

/**
 * Seals a save together with the other nodes, in two phases.
 *
 * First every node syncs what lies in the folder and says that its ranks have written: when all have said so, the list of files is final. Then
 * every node leaves the receipts of its own ranks, and the first node, when it has those of all ranks, commits. Whoever gives up moves the
 * folder of the data aside in one step, so that there is nothing to commit any more, or it was committed before. Nothing here depends on who
 * waits longer.
 */
export async function sealTogether(store: OpenStore, work: SharedWork, options: SealOptions): Promise<SealedSave> {
  const { save, nodeRank } = work;
  const { clock } = store;
  const startedMs = clock.monotonic();
  let checksummedMs: number;
  let sealed: Found;
  try {
    await agreeOnFiles(store, work, options.signal);
    // Once for all of them: where it gives the save up, the others find it gone.
    if (nodeRank === 0) assertOneWriterEach(store.fs, save);
    await leaveReceipts(store, work, options);
    checksummedMs = clock.monotonic();
    const wait = { clock, boundMs: work.boundMs, signal: options.signal };
    if (nodeRank === 0) {
      await until(() => hasAllReceipts(store, save), { ...wait, tooLate: () => tooLate(missingReceipts(store, save)) });
      sealed = commitSave(store, save);
    } else {
      sealed = await until(sealedBy(store, save), { ...wait, tooLate: () => tooLate('the first node has not sealed it') });
      // The first node may not have synced it yet, or may die before it does.
      makeNameDurable(store, sealed.name);
    }
  } catch (thrown) {
    // What the disk said is the reason itself, and not that the staging is gone.
    const error = (isDiskError(thrown) ? null : whyLost(store, save, thrown)) ?? storeFailure(store, thrown, 'seal', save.data);
    giveUp(store, save);
    throw error;
  }
  const bytes = sealed.manifest.files.reduce((sum, { size }) => sum + size, 0);
  const phases = { copyMs: null, checksumMs: checksummedMs - startedMs, commitMs: clock.monotonic() - checksummedMs };
  return { name: sealed.name, path: sealed.path, bytes, phases };
}

/** What this node wrote can only be synced on this node, whoever vouches for it. */
async function agreeOnFiles(store: OpenStore, { save, nodes, nodeRank, boundMs }: SharedWork, signal: AbortSignal): Promise<void> {
  const { fs, clock } = store;
  const { files, folders } = walkFiles(fs, save.data);
  for (const { path } of files) fs.fsyncFile(join(save.data, path));
  for (const path of folders) fs.fsyncFolder(join(save.data, path));
  fs.writeFile(join(save.folder, writtenMark(nodeRank)), '');
  const marks = Array.from({ length: nodes }, (_, node) => writtenMark(node));
  const missing = (): readonly string[] => {
    const there = new Set(fs.list(save.folder));
    return marks.filter((mark) => !there.has(mark));
  };
  await until(() => (missing().length === 0 ? true : null), {
    clock,
    boundMs,
    signal,
    tooLate: () => tooLate(`node ${missing().join(', ').replaceAll('written-', '')} has not written its part`),
  });
}

async function leaveReceipts(store: OpenStore, { save, ranks }: SharedWork, options: SealOptions): Promise<void> {
  const paths = walkFiles(store.fs, save.data).files.map(({ path }) => path);
  for (const rank of ranks) {
    const files = paths.filter((path) => vouchingRank(path, save.worldSize) === rank);
    await writeReceipt(store, save, { rank, files, ...options });
  }
}

function hasAllReceipts(store: OpenStore, save: Save): true | null {
  return receiptsMissing(store, save).length === 0 ? true : null;
}

function receiptsMissing({ fs }: OpenStore, { folder, worldSize }: Save): readonly number[] {
  const there = new Set(fs.list(join(folder, 'receipts')));
  return Array.from({ length: worldSize }, (_, rank) => rank).filter((rank) => !there.has(receiptName(rank)));
}

function missingReceipts(store: OpenStore, save: Save): string {
  return `rank ${receiptsMissing(store, save).slice(0, 8).join(', ')} of ${save.worldSize} has left no receipt`;
}

/** A network file system may show that a name is gone before it shows the new one. */
const SETTLE_MS = 2000;

/** Looks for what the first node has made of the save: null while it has not; throws when the save was given up. */
function sealedBy(store: OpenStore, save: Save): () => Found | null {
  let goneMs: number | null = null;
  return () => {
    // Looked at first: once it is gone, what became of the save lies under its final name or nowhere.
    const isStaged = store.fs.stat(save.data) !== null;
    const found = findSealed(store, save);
    if (found !== null || isStaged) return found;
    const nowMs = store.clock.monotonic();
    goneMs ??= nowMs;
    if (nowMs - goneMs >= SETTLE_MS) throw tooLate('another node gave it up');
    return null;
  };
}

function findSealed({ fs, path }: OpenStore, { save, step }: Save): Found | null {
  for (const name of fs.list(path)) {
    if (name !== `step-${step}` && !name.startsWith(`step-${step}-a`)) continue;
    const manifest = readManifest(fs, join(path, name, MANIFEST_NAME));
    if (manifest?.save === save) return { name, path: join(path, name), manifest };
  }
  return null;
}

function readManifest(fs: OpenStore['fs'], file: string): Manifest | null {
  try {
    const read = parseManifest(fs.readFile(file).toString('utf8'));
    return read.ok ? read.manifest : null;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    throw thrown;
  }
}

/** The first node may commit this very moment: it finds all of the data, or none. */
function giveUp(store: OpenStore, save: Save): void {
  try {
    store.fs.rename(save.data, `${save.data}.given-up`);
  } catch {
    // It was sealed, fenced or given up before.
  }
  abandonSave(store, save);
}

function writtenMark(node: number): string {
  return `written-${node}`;
}

function tooLate(what: string): HoldfastError {
  return new HoldfastError('SAVE_INCOMPLETE', {
    message: `the save of all nodes came to nothing: ${what}`,
    hint: 'Every earlier checkpoint is as it was. The next save begins anew.',
  });
}
