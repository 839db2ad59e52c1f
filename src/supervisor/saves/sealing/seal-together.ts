import { join } from 'node:path';
import { commitSave, makeNameDurable } from '../../../store/commit/commit.ts';
import { storeFailure } from '../../../store/folder/last-good-cache.ts';
import { MANIFEST_NAME } from '../../../seal/names.ts';
import { type Manifest, parseManifest } from '../../../seal/manifest.ts';
import { receiptName } from '../../../seal/receipt.ts';
import { abandonSave, type Save, whyLost, writeReceipt } from '../../../store/commit/save.ts';
import type { OpenStore } from '../../../store/folder/store.ts';
import { isCode, isDiskError } from '../../../store/disk/store-error.ts';
import { savedFiles } from '../../../store/commit/saved-files.ts';
import { HoldfastError } from '../../../core/errors.ts';
import type { SealedSave, SharedWork } from './seal-messages.ts';
import { assertOneWriterEach } from './one-writer.ts';
import { vouchingRank } from '../../nodes/share-files.ts';
import { hasEndedNode } from '../../nodes/ended-node.ts';
import { until } from '../../nodes/until.ts';

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
 * First, every node syncs the files in the folder and marks that its ranks have written. Once all
 * nodes have, the list of files is final. Then every node writes the receipts of its own ranks. The
 * first node commits when it has the receipts of all ranks.
 *
 * A node that abandons the save renames the folder of the data in one step. Either nothing is left
 * to commit then, or the commit came first. The result does not depend on which node waits longer.
 */
export async function sealTogether(store: OpenStore, work: SharedWork, options: SealOptions): Promise<SealedSave> {
  const { save, nodeRank } = work;
  const { clock } = store;
  const startedMs = clock.monotonic();
  let checksummedMs: number;
  let sealed: Found;
  try {
    await agreeOnFiles(store, work, options.signal);
    // Runs once for all nodes: if the first node abandons the save, the others find it gone.
    if (nodeRank === 0) assertOneWriterEach(store.fs, save);
    await leaveReceipts(store, work, options);
    checksummedMs = clock.monotonic();
    const wait = { clock, boundMs: work.boundMs, isInVain: isInVain(store, save), signal: options.signal };
    if (nodeRank === 0) {
      await until(() => hasAllReceipts(store, save), { ...wait, tooLate: () => tooLate(missingReceipts(store, save)) });
      sealed = commitSave(store, save);
    } else {
      sealed = await until(sealedBy(store, save), { ...wait, tooLate: () => tooLate('the first node has not sealed it') });
      // The first node may not have synced the name yet, or may die before it does.
      makeNameDurable(store, sealed.name);
    }
  } catch (thrown) {
    // The error of the disk is the cause; the missing staging only follows from it.
    const error = (isDiskError(thrown) ? null : whyLost(store, save, thrown)) ?? storeFailure(store, thrown, 'seal', save.data);
    giveUp(store, save);
    throw error;
  }
  const bytes = sealed.manifest.files.reduce((sum, { size }) => sum + size, 0);
  const phases = { copyMs: null, checksumMs: checksummedMs - startedMs, commitMs: clock.monotonic() - checksummedMs };
  return { name: sealed.name, path: sealed.path, bytes, phases };
}

/** The bytes that this node wrote can only be synced here, whichever node's receipt covers them. */
async function agreeOnFiles(store: OpenStore, { save, nodes, nodeRank, boundMs }: SharedWork, signal: AbortSignal): Promise<void> {
  const { fs, clock } = store;
  const { files, folders } = savedFiles(fs, save.data);
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
    isInVain: isInVain(store, save),
    signal,
    tooLate: () => tooLate(`node ${missing().join(', ').replaceAll('written-', '')} has not written its part`),
  });
}

async function leaveReceipts(store: OpenStore, { save, ranks }: SharedWork, options: SealOptions): Promise<void> {
  const paths = savedFiles(store.fs, save.data).files.map(({ path }) => path);
  for (const rank of ranks) {
    const files = paths.filter((path) => vouchingRank(path, save.worldSize) === rank);
    await writeReceipt(store, save, { rank, files, ...options });
  }
}

/** A node that has ended writes no more. */
function isInVain({ path }: OpenStore, { attempt }: Save): () => boolean {
  return () => hasEndedNode(path, attempt);
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

/**
 * Returns the first node's result for the save; null while there is none. Throws when the save was
 * abandoned.
 */
function sealedBy(store: OpenStore, save: Save): () => Found | null {
  let goneMs: number | null = null;
  return () => {
    // Checked first: once the staging is gone, the result is final.
    const isStaged = store.fs.stat(save.data) !== null;
    const found = findSealed(store, save);
    if (found !== null || isStaged) return found;
    const nowMs = store.clock.monotonic();
    goneMs ??= nowMs;
    if (nowMs - goneMs >= SETTLE_MS) throw tooLate('another node abandoned it');
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

/** The first node may be committing right now; it finds all of the data, or none. */
function giveUp(store: OpenStore, save: Save): void {
  try {
    store.fs.rename(save.data, `${save.data}.given-up`);
  } catch {
    // The save was sealed, fenced or abandoned before.
  }
  abandonSave(store, save);
}

function writtenMark(node: number): string {
  return `written-${node}`;
}

function tooLate(what: string): HoldfastError {
  return new HoldfastError('SAVE_INCOMPLETE', {
    message: `the nodes could not finish their common save: ${what}`,
    hint: 'Earlier checkpoints are unchanged. The next save starts from scratch.',
  });
}
