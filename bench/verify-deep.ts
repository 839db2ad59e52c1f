import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureProcess } from './support/process.ts';
import { torchPython } from './support/saver.ts';
import type { Bound, Suite, Variant } from './support/suite.ts';

const ROOT = join(import.meta.dirname, '..');
const HOLDFAST = join(ROOT, 'bin', 'holdfast');
const RAW_READ = join(import.meta.dirname, 'support', 'raw-read.ts');
const DROP_CACHES = '/proc/sys/vm/drop_caches';
/** A billion parameters with the state of Adam, in float32: 12 GB. */
const FILES = 6;
const FILE_BYTES = 2 ** 31;

/** Real files by the real writer: weights and Adam state in 16 tensors each. */
const WRITE = `
import sys, torch
for index in range(${FILES}):
    torch.manual_seed(index)
    half = {f"layer{i}": torch.rand(${FILE_BYTES / 4 / 16}) for i in range(8)}
    state = {i: {"exp_avg": torch.rand(${FILE_BYTES / 4 / 16}), "step": torch.tensor(1.0)} for i in range(8)}
    torch.save({"model": half, "optimizer": {"state": state, "param_groups": []}, "step": 100 + index}, f"{sys.argv[1]}/step-{100 + index}.pt")
`;
const LOAD = `
import sys, time, torch
start = time.perf_counter()
for file in sys.argv[1:]:
    torch.load(file, weights_only=True)
print(time.perf_counter() - start)
`;
const TESTZIP = `
import sys, time, zipfile
start = time.perf_counter()
for file in sys.argv[1:]:
    assert zipfile.ZipFile(file).testzip() is None
print(time.perf_counter() - start)
`;

/** All files are in the page cache, so hashing sets the time. */
export function verifyDeepWarm(): Promise<Suite | string> {
  return deepSuite('verify --deep, warm', 'read and CRC-32', 'hash', null);
}

/** No file is in the page cache, so the disk sets the time. */
export async function verifyDeepCold(): Promise<Suite | string> {
  try {
    accessSync(DROP_CACHES, constants.W_OK);
  } catch {
    return `caches can only be dropped by root (${DROP_CACHES})`;
  }
  return deepSuite('verify --deep, cold', 'parallel read', 'read', () => {
    spawnSync('sync');
    writeFileSync(DROP_CACHES, '3');
  });
}

async function deepSuite(name: string, reference: string, mode: 'read' | 'hash', prepare: (() => void) | null): Promise<Suite | string> {
  const python = torchPython();
  if (python === null) return 'the torch environment is missing (test/frameworks/setup.sh torch)';
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const made = spawnSync(python, ['-c', WRITE, folder], { encoding: 'utf8' });
  if (made.status !== 0) return `torch could not write the files: ${made.stderr.slice(-500)}`;
  const files = readdirSync(folder).map((file) => join(folder, file));
  const variant = (title: string, run: Variant['run']): Variant => ({ name: title, run, ...(prepare === null ? {} : { prepare }) });
  const ours = 'holdfast verify --deep';
  return {
    name,
    description: `${FILES} files of ${FILE_BYTES / 2 ** 30} GiB by torch.save, ${prepare === null ? 'warm' : 'cold'} caches. holdfast and the reference (Node threads; CRC-32 by zlib) are timed as processes, start-up included; torch.load and testzip without the start of Python and the import of torch.`,
    rounds: prepare === null ? 7 : 5,
    reference,
    bytes: FILES * FILE_BYTES,
    variants: [
      variant(reference, () => measureProcess([process.execPath, RAW_READ, mode, ...files])),
      variant(ours, () => measureProcess([HOLDFAST, 'verify', '--deep', folder])),
      variant('torch.load', () => selfTimed([python, '-c', LOAD, ...files])),
      variant('zipfile.testzip', () => selfTimed([python, '-c', TESTZIP, ...files])),
    ],
    bounds: deepBounds(ours, reference),
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

function deepBounds(ours: string, reference: string): readonly Bound[] {
  return [
    {
      text: `at least 0.9 of the rate of "${reference}"`,
      isMet: (results) =>
        (results.get(reference)?.seconds.median ?? 0) >= 0.9 * (results.get(ours)?.seconds.median ?? Number.POSITIVE_INFINITY),
    },
    { text: 'at most 256 MB of memory', isMet: (results) => (results.get(ours)?.peakBytes ?? Number.POSITIVE_INFINITY) <= 256e6 },
  ];
}

async function selfTimed(command: readonly string[]): Promise<{ seconds: number; peakBytes: number }> {
  const { stdout, peakBytes } = await measureProcess(command);
  return { seconds: Number(stdout.trim()), peakBytes };
}
