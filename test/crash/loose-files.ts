import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DurableFs } from '../../src/store/disk/durable-fs.ts';
import { BESIDE_SUFFIX } from '../../src/seal/names.ts';
import { fixtureData } from '../support/fixture-copy.ts';
import { filesOf } from './checkpoint-bytes.ts';

/**
 * A checkpoint that is a single file, or a set of files with a common prefix, beside others in the
 * folder of a run.
 */
export type Loose = 'file' | 'set';
export const LOOSE: readonly Loose[] = ['file', 'set'];

/**
 * Three files of TensorFlow. It recognises its sets by name, and its reader looks into the files.
 */
const SET = { folder: fixtureData('tf-saver-sharded'), prefix: 'model.ckpt-100' };

/** One such checkpoint; its bytes follow from this alone. */
export interface LooseSave {
  readonly kind: Loose;
  readonly step: number;
  /** The size of a single file; default 64. */
  readonly bytes?: number | undefined;
}

export function looseName({ kind, step }: LooseSave): string {
  return kind === 'file' ? `model-${step}.dat` : `ckpt-${step}`;
}

/**
 * The content of such a checkpoint: names in its folder to bytes. The files of a set are the same
 * for every step.
 */
export function looseFiles(save: LooseSave): Map<string, Buffer> {
  const { kind, step, bytes = 64 } = save;
  const name = looseName(save);
  if (kind === 'file')
    return new Map([[name, filesOf({ attempt: 1, step, worldSize: 1, bytes }, 0).get('shard-0.dat') ?? Buffer.alloc(0)]]);
  const members = readdirSync(SET.folder).filter((member) => member.startsWith(SET.prefix));
  return new Map(members.map((member) => [`${name}${member.slice(SET.prefix.length)}`, readFileSync(join(SET.folder, member))]));
}

/** Writes it as a framework does: without a sync. */
export function writeLoose(fs: DurableFs, folder: string, save: LooseSave): void {
  for (const [name, content] of looseFiles(save)) fs.writeFile(join(folder, name), content);
}

/** The differences between a checkpoint in a folder and its original, byte by byte. */
export function looseDifferences(folder: string, name: string, step: number, bytes?: number): string[] {
  const kind = LOOSE.find((one) => looseName({ kind: one, step }) === name);
  if (kind === undefined) return [`${name} is not of step ${step}`];
  return [...looseFiles({ kind, step, bytes })].flatMap(([member, content]) => {
    const file = join(folder, member);
    if (!existsSync(file)) return [`${member} is missing`];
    return content.equals(readFileSync(file)) ? [] : [`${member} has other bytes than were saved`];
  });
}

/** Checks that the files beside every seal in the run's folder are whole. */
export function looseHalves(
  run: string,
  { except, bytes }: { readonly except?: string | undefined; readonly bytes?: number } = {},
): string[] {
  const seals = readdirSync(run).filter((name) => name.endsWith(BESIDE_SUFFIX));
  return seals.flatMap((seal) => {
    const name = seal.slice(0, -BESIDE_SUFFIX.length);
    const step = stepOf(join(run, seal));
    return step === null || name === except ? [] : looseDifferences(run, name, step, bytes).map((fault) => `${name}: ${fault}`);
  });
}

/** Null for a torn seal, which does not count. */
function stepOf(seal: string): number | null {
  try {
    return (JSON.parse(readFileSync(seal, 'utf8')) as { step: number }).step;
  } catch {
    return null;
  }
}
