import { rmSync } from 'node:fs';
import { toError } from '../../../src/core/errors.ts';
import { realFs } from '../../../src/store/disk/durable-fs.ts';
import { materialise } from '../model/tree.ts';
import type { CrashState } from '../model/states.ts';
import { halves, openWith, resume, saveSteps } from '../store-driver.ts';
import type { Scenario } from './scenario.ts';

/** A step above all steps of the scenarios: a save of it after a crash must be found. */
const NEXT_STEP = 1000;

/**
 * Puts the state on disk, runs the real `resume` on it, and saves once more. Returns the faults.
 */
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

async function faultsOnDisk(scenario: Scenario, promises: ReadonlySet<string>, folder: string): Promise<string[]> {
  const half = halves(folder, { except: scenario.bad });
  const { key, faults: damages } = await resume(folder);
  const faults = [...half, ...damages, ...(scenario.alsoHolds?.(folder, promises) ?? [])];
  const allowed = scenario.allowed(promises);
  if (!allowed.includes(key)) faults.push(`resume found ${key ?? 'nothing'}, not ${allowed.map((one) => one ?? 'nothing').join(' or ')}`);
  faults.push(...((await scenario.again?.(folder)) ?? []));
  const next = await saveSteps(openWith(realFs, folder, 'next'), 'a gang that comes later', [NEXT_STEP]);
  const after = await resume(folder);
  if (after.key !== `${next.attempt}/${NEXT_STEP}`) faults.push(`after a further save resume found ${after.key ?? 'nothing'}`);
  return [...faults, ...after.faults];
}
