import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Attempt, startAttempt } from '../src/store/attempt/attempt.ts';
import { commitSave } from '../src/store/commit/commit.ts';
import { type DurableFs, realFs } from '../src/store/disk/durable-fs.ts';
import { PART_BYTES, type SealedFile } from '../src/seal/manifest.ts';
import { formatReceipt, RECEIPT_SCHEMA, receiptName } from '../src/seal/receipt.ts';
import { beginSave, type Save, writeReceipt } from '../src/store/commit/save.ts';
import { openRun, type OpenStore } from '../src/store/folder/store.ts';
import { roundsOr } from './support/size.ts';
import type { Suite, Variant, VariantResult } from './support/suite.ts';

const RANKS = 1000;
/** The save of one rank of a large model. */
const RANK_BYTES = 12e9;

/** The time from the last sync of data to the synced pointer. */
export async function sealCommit(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const clock = new SyncClock();
  const store = openRun(folder, { fs: clock.fs });
  const attempt = await startAttempt(store, { gang: 'bench' });
  let step = 0;
  const commit = async (): Promise<void> => {
    const save = beginSave(store, attempt, { step: ++step, worldSize: 1 });
    for (let file = 0; file < 4; file++) writeFileSync(join(save.data, `rank-${file}.pt`), Buffer.alloc(2 ** 20, step));
    await writeReceipt(store, save, { rank: 0 });
    commitSave(store, save);
  };
  const own = 'our own work between them';
  return {
    name: 'commit of a save',
    description:
      'From the last sync of data to the synced pointer: receipt, manifest, rename, pointer, and every small sync between them, in a run of one rank and 4 files.',
    rounds: roundsOr(40),
    reference: 'everything',
    bytes: 0,
    variants: [
      {
        name: 'everything',
        run: async () => {
          await commit();
          return { seconds: clock.seconds };
        },
      },
      {
        name: own,
        run: async () => {
          await commit();
          return { seconds: clock.seconds - clock.syncing };
        },
      },
    ],
    bounds: [{ text: 'at most 20 ms besides the small syncs', isMet: (results) => median(results, own) <= 0.02 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

/** Times the store's calls after the receipt. All data is synced before the receipt is written. */
class SyncClock {
  #started = 0;
  /** Seconds spent in syncs since the receipt. */
  syncing = 0;
  readonly fs: DurableFs = {
    ...realFs,
    writeFile: (path, data) => {
      if (path.includes('/receipts/')) this.#restart();
      realFs.writeFile(path, data);
    },
    fsyncFile: (path) => this.#sync(() => realFs.fsyncFile(path)),
    fsyncFolder: (path) => this.#sync(() => realFs.fsyncFolder(path)),
  };

  /** Seconds since the receipt. */
  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  #restart(): void {
    this.#started = performance.now();
    this.syncing = 0;
  }

  #sync(call: () => void): void {
    const started = performance.now();
    call();
    this.syncing += (performance.now() - started) / 1000;
  }
}

/** The coordinator's part of a save with many ranks, for small and large checkpoints. */
export async function sealReceipts(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const small = await combine(folder, 'one small file each', 1000);
  const large = await combine(folder, `${RANK_BYTES / 1e9} GB each`, RANK_BYTES);
  return {
    name: 'commit of 1,000 ranks',
    description: `The receipts of ${RANKS} ranks held against each other and the disk, the manifest of all, rename and pointer, syncs included. The files of ${RANK_BYTES / 1e9} GB are holes: a commit looks at their sizes, and reads ${Math.ceil(RANK_BYTES / PART_BYTES) * RANKS} checksums.`,
    rounds: roundsOr(10),
    reference: small.name,
    bytes: 0,
    variants: [small, large],
    bounds: [small, large].map(({ name }) => ({ text: `"${name}" at most 1 s`, isMet: (results) => median(results, name) <= 1 })),
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

async function combine(folder: string, name: string, bytes: number): Promise<Variant> {
  const run = join(folder, name);
  mkdirSync(run);
  const store = openRun(run);
  const attempt = await startAttempt(store, { gang: 'bench' });
  let save: Save | null = null;
  let sealed: string | null = null;
  return {
    name,
    prepare: () => {
      if (sealed !== null) rmSync(sealed, { recursive: true });
      save = stage(store, attempt, bytes);
    },
    run: async () => {
      if (save === null) throw new Error('not prepared');
      const started = performance.now();
      sealed = commitSave(store, save).path;
      return { seconds: (performance.now() - started) / 1000 };
    },
  };
}

/**
 * A save with the receipts of all ranks. Nothing is synced, because syncing was the ranks' work.
 */
function stage(store: OpenStore, attempt: Attempt, size: number): Save {
  const save = beginSave(store, attempt, { step: 1, worldSize: RANKS });
  const { data, folder, ...identity } = save;
  const crc32c = Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, part) => part.toString(16).padStart(8, '0'));
  for (let rank = 0; rank < RANKS; rank++) {
    const file: SealedFile = { path: `shard-${rank}`, size, crc32c };
    writeFileSync(join(data, file.path), '');
    truncateSync(join(data, file.path), size);
    writeFileSync(join(folder, 'receipts', receiptName(rank)), formatReceipt({ schema: RECEIPT_SCHEMA, ...identity, rank, files: [file] }));
  }
  return save;
}

function median(results: ReadonlyMap<string, VariantResult>, name: string): number {
  return results.get(name)?.seconds.median ?? Number.NaN;
}
