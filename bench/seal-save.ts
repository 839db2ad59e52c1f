import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { startAttempt } from '../src/store/attempt/attempt.ts';
import { commitSave } from '../src/store/commit/commit.ts';
import { realFs } from '../src/store/disk/durable-fs.ts';
import { EarlyChecksums } from '../src/store/disk/early-checksums.ts';
import { formatReceipt, RECEIPT_SCHEMA, receiptName } from '../src/seal/receipt.ts';
import { replaceFile } from '../src/store/disk/replace-file.ts';
import { beginSave, type Save, writeReceipt } from '../src/store/commit/save.ts';
import { openRun, type OpenStore } from '../src/store/folder/store.ts';
import { PART_BYTES } from '../src/seal/manifest.ts';
import { formatBytes } from '../src/core/bytes.ts';
import { quietDisk } from './support/quiet-disk.ts';
import { Saver, torchPython, type Way } from './support/saver.ts';
import { LARGE_BYTES, roundsOr } from './support/size.ts';
import type { Bound, Suite, Variant, VariantResult } from './support/suite.ts';

const FILES = 4;
const RAW = 'raw write + fsync';

/** A durable save of several files, from the framework's first byte to the synced pointer. */
export async function sealSave(): Promise<Suite | string> {
  const python = torchPython();
  if (python === null) return 'the torch environment is missing (test/frameworks/setup.sh torch)';
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const saver = await Saver.start(python, { bytes: LARGE_BYTES, files: FILES });
  const bench = new SaveBench(folder, saver);
  return {
    name: 'durable save, 4 files',
    description: `${formatBytes(LARGE_BYTES)} of float32 in ${FILES} files (DCP chooses its own), by a trainer that holds them in memory. "+ fsync" syncs every file and the folder and nothing else; "sealed" is the same save into a staging folder, checksums of every part (taken as soon as the trainer is done with a file), all syncs, receipt, manifest, rename and pointer. Before each round the last save is removed, everything synced, and the disk left until it has nothing to do.`,
    rounds: roundsOr(11),
    reference: RAW,
    bytes: LARGE_BYTES,
    variants: [
      bench.unsealed(RAW, 'raw+fsync'),
      bench.unsealed('safetensors + fsync', 'safetensors+fsync'),
      bench.sealed('safetensors, sealed', 'safetensors', takeChecksums),
      bench.sealed('safetensors, sealed without checksums', 'safetensors', leaveChecksumsOut),
      bench.unsealed('torch.save without CRC + fsync', 'torch-no-crc+fsync'),
      bench.sealed('torch.save without CRC, sealed', 'torch-no-crc', takeChecksums),
      bench.unsealed('torch.save + fsync', 'torch+fsync'),
      bench.unsealed('DCP as it is (syncs itself)', 'dcp'),
    ],
    bounds: [
      atMost('safetensors, sealed', 1.05, 'safetensors + fsync'),
      atMost('torch.save without CRC, sealed', 1.05, 'torch.save without CRC + fsync'),
      atMost('safetensors, sealed', 1 / 0.95, RAW),
      atMost('torch.save without CRC, sealed', 1 / 0.95, RAW),
      atMost('safetensors, sealed', 1.03, 'safetensors, sealed without checksums'),
      bench.extraBytes(),
    ],
    dispose: () => {
      saver.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

type Vouch = (store: OpenStore, save: Save, early: EarlyChecksums) => Promise<void>;

class SaveBench {
  readonly #folder: string;
  readonly #saver: Saver;
  #extra = 0;

  constructor(folder: string, saver: Saver) {
    this.#folder = folder;
    this.#saver = saver;
  }

  unsealed(name: string, way: Way): Variant {
    const target = join(this.#folder, 'save');
    return {
      name,
      prepare: async () => {
        await this.#clean();
        mkdirSync(target);
      },
      run: async () => {
        const started = performance.now();
        await this.#saver.save(way, target);
        return { seconds: (performance.now() - started) / 1000 };
      },
    };
  }

  sealed(name: string, way: Way, vouch: Vouch): Variant {
    const run = join(this.#folder, 'run');
    let begin: (() => Save) | null = null;
    let store: OpenStore;
    return {
      name,
      prepare: async () => {
        await this.#clean();
        mkdirSync(run);
        store = openRun(run);
        const attempt = await startAttempt(store, { gang: 'bench' });
        begin = () => beginSave(store, attempt, { step: 1, worldSize: 1 });
      },
      run: async () => {
        if (begin === null) throw new Error('not prepared');
        const started = performance.now();
        const save = begin();
        const early = new EarlyChecksums(store.fs, save.data);
        await this.#saver.save(way, save.data, (file) => (vouch === takeChecksums ? early.add(file) : undefined));
        await vouch(store, save, early);
        const { path, manifest } = commitSave(store, save);
        const seconds = (performance.now() - started) / 1000;
        const payload = manifest.files.reduce((sum, { size }) => sum + size, 0);
        this.#extra = Math.max(this.#extra, (bytesBelow(run) - payload) / payload);
        statSync(path);
        return { seconds };
      },
    };
  }

  extraBytes(): Bound {
    const extra = () => this.#extra;
    return {
      get text() {
        return `at most 0.01 % extra bytes (${(extra() * 100).toFixed(5)} %)`;
      },
      isMet: () => extra() <= 1e-4,
    };
  }

  async #clean(): Promise<void> {
    for (const name of readdirSync(this.#folder)) rmSync(join(this.#folder, name), { recursive: true });
    await quietDisk(this.#folder);
  }
}

function takeChecksums(store: OpenStore, save: Save, early: EarlyChecksums): Promise<void> {
  return writeReceipt(store, save, { rank: 0, early });
}

/**
 * The same steps with invented checksums, to measure the cost of checksums. The store has no such
 * option.
 */
async function leaveChecksumsOut(store: OpenStore, { data, folder, ...identity }: Save): Promise<void> {
  const files = readdirSync(data).map((path) => {
    const { size } = statSync(join(data, path));
    return { path, size, crc32c: Array.from({ length: Math.ceil(size / PART_BYTES) }, () => '00000000') };
  });
  for (const { path } of files) realFs.fsyncFile(join(data, path));
  realFs.fsyncFolder(data);
  const text = formatReceipt({ schema: RECEIPT_SCHEMA, ...identity, rank: 0, files });
  replaceFile(realFs, join(folder, 'receipts', receiptName(0)), text, store.makeId());
}

function bytesBelow(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.reduce((sum, entry) => (entry.isFile() ? sum + statSync(join(entry.parentPath, entry.name)).size : sum), 0);
}

function atMost(ours: string, factor: number, theirs: string): Bound {
  const median = (results: ReadonlyMap<string, VariantResult>, name: string) => results.get(name)?.seconds.median ?? Number.NaN;
  return {
    text: `"${ours}" takes at most ${factor.toFixed(2)} × "${theirs}"`,
    isMet: (results) => median(results, ours) <= factor * median(results, theirs),
  };
}
