import type { Damaged } from './fault-run.ts';

/**
 * Faults that the files cannot reveal, or only to `--deep`. Each has its reason, which
 * docs/proofs/fault-matrix.md shows.
 */
interface Exception {
  readonly fixture: RegExp;
  readonly fault: RegExp;
  readonly file?: RegExp;
  /**
   * What `verify` does instead: it finds the fault only with `--deep`, warns but keeps the verdict,
   * or reports nothing.
   */
  readonly instead: 'deep' | 'warning' | 'nothing';
  readonly reason: string;
}

const EXCEPTIONS: readonly Exception[] = [
  {
    fixture: /^accelerate/,
    fault: /^larger-world$/,
    instead: 'nothing',
    reason: 'Accelerate does not store the number of processes: one more random state looks like one more process',
  },
  {
    fixture: /^orbax-(?!zarr)/,
    fault: /^junk$/,
    instead: 'nothing',
    reason: 'an OCDBT data file may hold bytes that no node refers to, and no reader looks at them',
  },
  {
    fixture: /^(hf-trainer|safetensors)/,
    fault: /^other-step$/,
    file: /\.safetensors$/,
    instead: 'nothing',
    reason: 'safetensors carry neither a step nor a checksum: weights of equal shapes fit everywhere',
  },
  {
    fixture: /^orbax-manager$/,
    fault: /^other-step$/,
    file: /_METADATA$/,
    instead: 'nothing',
    reason: 'the file describes the names and types of the values, which are the same in every step',
  },
  {
    fixture: /^megatron-dist-integrity$/,
    fault: /^other-step$/,
    file: /(\.distcp|\.metadata|integrity\.json)$/,
    instead: 'deep',
    reason: 'only the hashes in `integrity.json` tell the saves apart',
  },
  {
    fixture: /^megatron-dist$/,
    fault: /^other-step$/,
    file: /\.metadata$/,
    instead: 'warning',
    reason:
      'the file describes where each value lies, which is the same in every step; the warning says that it was saved to another folder',
  },
  {
    fixture: /^(dcp|lightning-sharded)/,
    fault: /^other-step$/,
    file: /\.metadata$/,
    instead: 'nothing',
    reason: 'it describes where each value lies, which is the same in every step',
  },
  {
    fixture: /^(dcp-4-ranks|lightning-sharded|megatron-dist)$/,
    fault: /^other-step$/,
    file: /(step-100\/__0_0|ckpt\/__\d_\d|iter_\d+\/__\d_\d)\.distcp$/,
    instead: 'nothing',
    reason: 'slices of a DCP file carry no identity of their save, and no other file holds a counter to compare with',
  },
  {
    fixture: /^torchsnapshot-2-ranks$/,
    fault: /^other-step$/,
    file: /(rng_state|exp_avg|exp_avg_sq|\.snapshot_metadata)$/,
    instead: 'nothing',
    reason:
      'a tensor of TorchSnapshot is bare bytes, and the manifest counts the steps of the run, which may differ from those of the optimizer',
  },
  {
    fixture: /^tf-/,
    fault: /^other-step$/,
    instead: 'deep',
    reason: 'sizes and shapes are the same in every step, but the checksums in the index are not',
  },
  {
    fixture: /^torchsnapshot-2-ranks$/,
    fault: /^all-zero$/,
    instead: 'warning',
    reason: 'a tensor of TorchSnapshot is bare bytes without a header: zeros may be what was saved',
  },
];

/**
 * Why this fault cannot be found as usual, and what `verify` does instead; null when it must be
 * found.
 */
export function exceptionFor({ subject, fault, damage }: Damaged): Exception | null {
  const found = EXCEPTIONS.find(
    ({ fixture, fault: name, file }) =>
      fixture.test(subject.fixture.id) && name.test(fault.id) && (file === undefined || file.test(damage.file)),
  );
  return found ?? null;
}

/**
 * Fixtures with checksums over some of their values, and the files in which these cover the damaged
 * bytes.
 */
const COVERED: readonly (readonly [fixture: RegExp, files: RegExp])[] = [[/^(hf-trainer|accelerate)/, /\.(pt|pth|bin)$/]];

/** Whether a stored checksum covers the place, by the format's documentation. */
export function isCovered({ subject, damage }: Damaged): boolean {
  if (subject.fixture.checksums !== 'some') return subject.fixture.checksums === 'all';
  return COVERED.some(([fixture, files]) => fixture.test(subject.fixture.id) && files.test(damage.file));
}
