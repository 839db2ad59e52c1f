import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DurableFs } from '../../src/checkpoint/store/durable-fs.ts';
import { BESIDE_SUFFIX } from '../../src/checkpoint/store/layout.ts';
import { fixtureData } from '../support/fixture-copy.ts';
import { filesOf } from './checkpoint-bytes.ts';

/** A checkpoint that is a single file, or a set of files that begin alike, beside others in the folder of a run. */
export type Loose = 'file' | 'set';
export const LOOSE: readonly Loose[] = ['file', 'set'];

/** Three files of TensorFlow: it knows its sets by their names, and its reader looks into them. */
const SET = { folder: fixtureData('tf-saver-sharded'), prefix: 'model.ckpt-100' };

/** One of them; its bytes follow from this alone. */
export interface LooseSave {
  readonly kind: Loose;
  readonly step: number;
  /** Of a single file; default 64. */
  readonly bytes?: number | undefined;
}

export function looseName({ kind, step }: LooseSave): string {
  return kind === 'file' ? `model-${step}.dat` : `ckpt-${step}`;
}

/** What such a checkpoint holds: names in its folder to bytes. Those of a set are alike for every step. */
export function looseFiles(save: LooseSave): Map<string, Buffer> {
  const { kind, step, bytes = 64 } = save;
  const name = looseName(save);
  if (kind === 'file')
    return new Map([[name, filesOf({ attempt: 1, step, worldSize: 1, bytes }, 0).get('shard-0.dat') ?? Buffer.alloc(0)]]);
  const members = readdirSync(SET.folder).filter((member) => member.startsWith(SET.prefix));
  return new Map(members.map((member) => [`${name}${member.slice(SET.prefix.length)}`, readFileSync(join(SET.folder, member))]));
}

/** Writes it, as a framework would: nothing is synced. */
export function writeLoose(fs: DurableFs, folder: string, save: LooseSave): void {
  for (const [name, content] of looseFiles(save)) fs.writeFile(join(folder, name), content);
}

/** How one in a folder differs from what was written there, byte by byte. */
export function looseDifferences(folder: string, name: string, step: number, bytes?: number): string[] {
  const kind = LOOSE.find((one) => looseName({ kind: one, step }) === name);
  if (kind === undefined) return [`${name} is not of step ${step}`];
  return [...looseFiles({ kind, step, bytes })].flatMap(([member, content]) => {
    const file = join(folder, member);
    if (!existsSync(file)) return [`${member} is missing`];
    return content.equals(readFileSync(file)) ? [] : [`${member} has other bytes than were saved`];
  });
}

/** Where a seal lies beside its files in a run's folder, they are whole. */
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

/** Null for one that is torn, which is no seal. */
function stepOf(seal: string): number | null {
  try {
    return (JSON.parse(readFileSync(seal, 'utf8')) as { step: number }).step;
  } catch {
    return null;
  }
}
