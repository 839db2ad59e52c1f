import { excerpt } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import type { Findings } from '../reading/findings.ts';
import { asInt, dictEntries, type PickleValue } from '../encodings/pickle/value.ts';
import { stateOfName } from '../reading/tensor-names.ts';
import { torchScalar } from '../reading/torch-dtypes.ts';
import type { DcpMetadata, TensorItem } from './dcp-metadata.ts';
import type { Slice } from './slices.ts';
import { volume } from './chunks.ts';

/** Parts of a full name that may stand for the training state's own folders: `app.optim.state…`. */
const STATE_DEPTH = 3;
const RANK_RNG = /(?:^|[./])(?:rng|rng_state|random_state)s?[_.](\d{1,6})$/i;
/** Names of the objects that hold the trainer's own counters. */
const PROGRESS = /(^|[._/])(train|trainer|training|progress|common|extra)(_?state)?([._/]|$)/i;

/** Returns the content that the names in the metadata promise. Objects alone are never weights. */
export function noteNames({ tensors, objects }: DcpMetadata, file: string, findings: Findings): void {
  const { content } = findings;
  const ranks = new Set<number>();
  for (const [names, other] of [[tensors.keys(), 'weights'] as const, [objects.values(), null] as const]) {
    for (const name of names) {
      const need = stateOfName(name, STATE_DEPTH) ?? other;
      if (need !== null) content.add(need, `${file}: ${excerpt(name.split(/[./]/, 1)[0] ?? '')}`);
      const rank = need === 'rng' ? RANK_RNG.exec(name)?.[1] : undefined;
      if (rank !== undefined) ranks.add(Number(rank));
    }
  }
  for (const rank of ranks) content.addRank(rank);
}

/** Notes the step when an object is the trainer's counter or contains it. */
export function noteObject(name: string, value: PickleValue, file: string, findings: Findings): void {
  if (stateOfName(name, STATE_DEPTH) !== null) return;
  const direct = isStepName(name) ? asInt(value) : null;
  if (direct !== null) findings.content.addStep(direct, file, `${file}: ${excerpt(name)}`);
  if (!PROGRESS.test(name)) return;
  for (const [key, entry] of dictEntries(value)) {
    const step = needOfKey(key) === 'step' ? asInt(entry) : null;
    if (step !== null) findings.content.addStep(step, file, `${file}: ${excerpt(name)} ${excerpt(key)}`);
  }
}

function isStepName(name: string): boolean {
  return needOfKey(name.split(/[./]/).at(-1) ?? '') === 'step';
}

/**
 * Notes step counters that are tensors. The trainer's own counter is a step of the checkpoint; the
 * counters of an optimizer are compared across files.
 */
export class Counters {
  readonly #byFile = new Map<string, Set<number>>();

  note(slice: Slice, tensor: TensorItem, findings: Findings): void {
    const { name } = slice.item;
    if (volume(tensor.size) !== 1 || !isStepName(name)) return;
    const value = readScalar(slice, tensor);
    if (value === null) return;
    const state = stateOfName(name, STATE_DEPTH);
    if (state === null) findings.content.addStep(value, slice.source.file, `${slice.source.file}: ${excerpt(name)}`);
    if (state !== 'optimizer') return;
    const values = this.#byFile.get(slice.source.file) ?? new Set();
    this.#byFile.set(slice.source.file, values.add(value));
  }

  /**
   * Reports files whose counters agree inside each file but differ between files. Counters that
   * differ inside one file only mean that parameters joined later.
   */
  report(findings: Findings): void {
    const files = [...this.#byFile];
    if (files.some(([, values]) => values.size > 1)) return;
    const byValue = new Map<number, string>();
    for (const [file, values] of files) for (const value of values) if (!byValue.has(value)) byValue.set(value, file);
    if (byValue.size < 2) return;
    const told = [...byValue].slice(0, 4).map(([value, file]) => `${value} in ${excerpt(file)}`);
    const [[, file] = [0, null]] = byValue;
    const values = [...byValue.keys()];
    findings.add(
      'DCP_COUNTERS_DIFFER',
      { file, expected: String(values[0]), found: values.slice(1, 5).join(', ') },
      `the optimizer counts different steps in different shard files: ${told.join(', ')}`,
    );
  }
}

function readScalar({ source, archive }: Slice, tensor: TensorItem): number | null {
  const entry = archive.entries.find(({ name }) => /(^|\/)data\/0$/.test(name));
  if (entry === undefined || entry.dataOffset === null || entry.size > 16 || tensor.dtype === null) return null;
  return torchScalar(tensor.dtype, source.read(entry.dataOffset, entry.size));
}
