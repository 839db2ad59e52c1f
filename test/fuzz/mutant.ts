import { globSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Check } from '../../src/bytes/hashing/check.ts';
import { discover } from '../../src/verify/discover.ts';
import { openTree } from '../../src/bytes/source/tree.ts';
import type { CheckpointReport } from '../../src/verify/report.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { fletcher32 } from '../../src/core/checksums.ts';
import type { Rng } from '../../src/core/rng.ts';
import { type Fixture, WHOLE } from '../support/fixtures.ts';
import { MUTATIONS } from './mutations.ts';

/** A fixture in memory: its files by path, and the bytes its checksums cover. */
export interface Victim {
  readonly fixture: Fixture;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly checks: readonly Check[];
  /** How many checkpoints it holds. */
  readonly count: number;
}

export function loadVictim(fixture: Fixture): Victim {
  const root = join(WHOLE, fixture.id);
  const files = new Map<string, Buffer>();
  for (const entry of globSync('data/**', { cwd: root, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(root.length + 1);
    if (entry.isFile()) files.set(path, readFileSync(join(root, path)));
  }
  const { tree } = openTree(join(root, 'data'));
  const { units } = discover(tree.root);
  const checks = units.flatMap((unit) => unit.inspect().checks);
  tree.close();
  return { fixture, files, checks, count: units.length };
}

export interface Outcome {
  readonly what: string;
  readonly checkpoints: readonly CheckpointReport[];
  /** The time of the processor, which does not grow with the load of the machine. */
  readonly milliseconds: number;
  /** What is wrong with how it was judged, or null. */
  readonly fault: string | null;
}

/**
 * Damages a copy of the victim below `folder` and verifies it, deeply. The same seed damages the
 * same way.
 */
export async function tryMutant(victim: Victim, rng: Rng, folder: string): Promise<Outcome> {
  rmSync(folder, { recursive: true, force: true });
  for (const [path, bytes] of victim.files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const path = rng.pick([...victim.files.keys()]);
  const original = victim.files.get(path) ?? Buffer.alloc(0);
  const { what, bytes } = damage(folder, path, original, rng);
  const started = process.cpuUsage();
  const report = await verifyPaths([join(folder, 'data')], { level: 'deep', signal: new AbortController().signal });
  const { user, system } = process.cpuUsage(started);
  const milliseconds = (user + system) / 1000;
  const checkpoints = report.paths.flatMap((one) => one.checkpoints);
  const isChanged = victim.count === 1 && isCoveredChanged(victim, path, original, bytes);
  const fault = faultOf(checkpoints, milliseconds, isChanged);
  return { what: `${victim.fixture.id}/${path}: ${what}`, checkpoints, milliseconds, fault };
}

/** Applies one to three mutations to a file, or takes the file away; null bytes mean it is gone. */
function damage(folder: string, path: string, original: Buffer, rng: Rng): { what: string; bytes: Buffer | null } {
  const dice = rng.next();
  if (dice < 0.02) {
    unlinkSync(join(folder, path));
    return { what: 'file removed', bytes: null };
  }
  if (dice < 0.03) {
    renameSync(join(folder, path), join(folder, `${path}.tmp`));
    return { what: 'file renamed to .tmp', bytes: null };
  }
  let bytes = original;
  const names: string[] = [];
  for (let count = rng.integer(1, 3); count > 0; count--) {
    const mutation = rng.pick(MUTATIONS);
    const changed = mutation.apply(bytes, rng);
    if (changed === null) continue;
    bytes = changed;
    names.push(mutation.name);
  }
  writeFileSync(join(folder, path), bytes);
  return { what: names.join(', '), bytes };
}

/** True when a byte that a stored checksum covers is not what it was. */
function isCoveredChanged(victim: Victim, path: string, original: Buffer, bytes: Buffer | null): boolean {
  const file = path.slice('data/'.length);
  return victim.checks.some((check) => {
    if (check.file !== file) return false;
    const range = [check.offset, check.offset + check.length] as const;
    if (bytes === null) return true;
    return !original.subarray(...range).equals(bytes.subarray(...range)) && !isMatched(check, bytes);
  });
}

/**
 * True when the checksum beside the bytes was overwritten with them, and is right: eight bytes of
 * ones are four bytes and their Fletcher-32. Such bytes look like what a writer wrote.
 */
function isMatched(check: Check, bytes: Buffer): boolean {
  if (typeof check.expected === 'string' || check.algorithm !== 'fletcher32' || check.expected.at + 4 > bytes.length) return false;
  return fletcher32(bytes.subarray(check.offset, check.offset + check.length)) === bytes.readUInt32LE(check.expected.at);
}

/** Nothing may take more time of the processor than this, whatever the bytes. */
const MAX_MILLISECONDS = 5000;

function faultOf(checkpoints: readonly CheckpointReport[], milliseconds: number, coveredChanged: boolean): string | null {
  const failed = checkpoints.flatMap(({ evidence }) => evidence).find(({ code }) => code === 'READER_FAILED');
  if (failed !== undefined) return failed.message;
  if (milliseconds > MAX_MILLISECONDS) return `took ${Math.round(milliseconds)} ms of the processor`;
  if (coveredChanged && checkpoints.length === 1 && checkpoints[0]?.verdict === 'RESUMABLE')
    return 'RESUMABLE although checksummed bytes changed';
  return null;
}
