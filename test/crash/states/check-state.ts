import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../../src/core/errors.ts';
import { realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { materialise } from '../model/tree.ts';
import type { CrashState } from '../model/states.ts';
import { differences, openWith, resume, saveSteps } from '../store-driver.ts';
import { sealedOnDisk } from '../writers/sealed-on-disk.ts';
import type { Scenario } from './scenario.ts';

/** A step above all that scenarios use: whoever saves it after a crash must be found. */
const NEXT_STEP = 1000;

/** Puts the state on disk, lets the real `resume` look at it, and saves once more: what is wrong, or nothing. */
export async function faultsInState(scenario: Scenario, state: CrashState, folder: string): Promise<string[]> {
  try {
    materialise(state.tree, folder);
    return await faultsOnDisk(scenario, state.promises, folder);
  } catch (thrown) {
    return [`failed: ${toError(thrown).message}`];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whatever has the name of a checkpoint is one, whole: nothing is half-written, and nothing half-deleted comes back. */
function halves(folder: string, except: string | undefined): string[] {
  const names = readdirSync(folder).filter((name) => name.startsWith('step-') && name !== except);
  const sealed = sealedOnDisk(folder);
  return names.flatMap((name) => {
    const found = sealed.find(({ path }) => path === join(folder, name));
    return found === undefined ? [`${name} has no seal`] : differences(found.path, found).map((fault) => `${name}: ${fault}`);
  });
}

async function faultsOnDisk(scenario: Scenario, promises: ReadonlySet<string>, folder: string): Promise<string[]> {
  const half = halves(folder, scenario.bad);
  const { key, faults: damages } = await resume(folder);
  const faults = [...half, ...damages, ...(scenario.alsoHolds?.(folder, promises) ?? [])];
  const allowed = scenario.allowed(promises);
  if (!allowed.includes(key)) faults.push(`resume found ${key ?? 'nothing'}, not ${allowed.map((one) => one ?? 'nothing').join(' or ')}`);
  const next = await saveSteps(openWith(realFs, folder, 'next'), 'a gang that comes later', [NEXT_STEP]);
  const after = await resume(folder);
  if (after.key !== `${next.attempt}/${NEXT_STEP}`) faults.push(`after a further save resume found ${after.key ?? 'nothing'}`);
  return [...faults, ...after.faults];
}
