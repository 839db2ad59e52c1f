import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { realFs } from '../../../src/store/disk/durable-fs.ts';
import { MANIFEST_NAME } from '../../../src/seal/names.ts';
import { realClock } from '../../../src/core/clock.ts';
import { toError } from '../../../src/core/errors.ts';
import { readTree } from '../model/tree.ts';
import { halves, openWith, resume, saveSteps } from '../store-driver.ts';
import { badOf, faultsOfSecond } from './judge-second.ts';
import { shipTo } from './ship-checkpoint.ts';
import { allowed, type Shape, type Subject, SUBJECT_CHECKPOINT } from './subjects.ts';

const UPLOADS = 'remote/.holdfast/uploads';
const SHIPPING = 'run/.holdfast/shipping';

/**
 * What is wrong after a fault: with the result of `resume`, with the other files, and with the next
 * operations.
 */
export async function faultsAfter(subject: Subject, shape: Shape, work: string, isAnswered: boolean): Promise<string[]> {
  try {
    const run = join(work, 'run');
    if (!existsSync(run)) return ['the folder of the run is gone'];
    const expected = allowed(subject, isAnswered);
    const { key, faults } = await resume(run, shape.bytes);
    const wrong = key !== null && expected.includes(key) ? [] : [`resume found ${key ?? 'nothing'}, not ${expected.join(' or ')}`];
    const half = halves(run, { bytes: shape.bytes, except: badOf(subject) });
    const others = subject === 'ship' ? await faultsOfCopy(work, isAnswered) : await faultsOfSecond(subject, shape, work);
    return [...faults, ...wrong, ...half, ...others, ...(await faultsOfNextSave(run, shape))];
  } catch (thrown) {
    return [`failed: ${toError(thrown).message}`];
  }
}

async function faultsOfNextSave(run: string, { bytes }: Shape): Promise<string[]> {
  const next = await saveSteps(openWith(realFs, run, 'next'), 'a gang that comes later', [1000], { bytes });
  const { key, faults } = await resume(run, bytes);
  return key === `${next.attempt}/1000` ? [...faults] : [...faults, `after a further save resume found ${key ?? 'nothing'}`];
}

/**
 * A copy with its manifest is whole, and the pointer leads to one. The next ship repairs everything
 * and leaves nothing behind.
 */
async function faultsOfCopy(work: string, isAnswered: boolean): Promise<string[]> {
  const faults = [...copies(work), ...pointed(work)];
  const isShipped = existsSync(join(work, 'remote', SUBJECT_CHECKPOINT, MANIFEST_NAME));
  if (isAnswered && !isShipped) faults.push('the caller was told that it is shipped, and it is not');
  for (const folder of [UPLOADS, SHIPPING]) makeOld(join(work, folder));
  await shipTo(work, SUBJECT_CHECKPOINT, realClock);
  const remote = differingFiles(work, SUBJECT_CHECKPOINT).map((name) => `after a further ship ${name} is not as it is here`);
  const left = [UPLOADS, SHIPPING].flatMap((folder) => namesIn(join(work, folder)));
  return [...faults, ...remote, ...pointed(work, SUBJECT_CHECKPOINT), ...left.map((name) => `a further ship leaves ${name} behind`)];
}

function copies(work: string): string[] {
  const names = namesIn(join(work, 'remote')).filter((name) => existsSync(join(work, 'remote', name, MANIFEST_NAME)));
  return names.flatMap((name) => differingFiles(work, name).map((file) => `the copy has its manifest, but ${file} is not as it is here`));
}

/** The pointer, if it exists, names a copy that counts. */
function pointed(work: string, mustBe?: string): string[] {
  const file = join(work, 'remote/.holdfast/last-good.json');
  if (!existsSync(file)) return mustBe === undefined ? [] : ['there is no remote pointer'];
  const { name = '' } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string };
  if (mustBe !== undefined && name !== mustBe) return [`the remote pointer leads to ${name}`];
  return existsSync(join(work, 'remote', name, MANIFEST_NAME)) ? [] : [`the remote pointer leads to ${name}, which is not sealed there`];
}

function differingFiles(work: string, name: string): string[] {
  const [here, there] = ['run', 'remote'].map((place) => join(work, place, name)) as [string, string];
  const expected = readTree(here);
  const found = existsSync(there) ? readTree(there) : new Map<string, Uint8Array | null>();
  const files = new Set([...expected, ...found].flatMap(([path, content]) => (content === null ? [] : [path])));
  return [...files].filter((path) => Buffer.compare(expected.get(path) ?? Buffer.from('?'), found.get(path) ?? Buffer.from('!')) !== 0);
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/**
 * For a minute, leftovers of a killed process may look like files of a running one. This passes the
 * minute.
 */
function makeOld(folder: string): void {
  const before = Date.now() / 1000 - 120;
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) utimesSync(join(folder, name), before, before);
}
