import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../findings.ts';
import type { Check } from './check.ts';
import { type CombinableCrc, combineCrc } from './crc-combine.ts';
import { maskedHex } from './hash-range.ts';
import { runBatches } from './pool.ts';
import { BATCH_BYTES, planBatches, type TaskResult } from './task.ts';
import { hex32 } from '../../core/checksums.ts';

export interface RunChecksOptions {
  /** Absolute path of a file, from its path below the root. */
  readonly pathOf: (file: string) => string;
  readonly signal: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** Reads the bytes under every check, compares, and adds evidence for each that fails. */
export async function runChecks(findings: Findings, options: RunChecksOptions): Promise<{ checkedBytes: number; failures: number }> {
  const { checks } = findings;
  const batches = planBatches(checks).map((batch) => ({ ...batch, file: options.pathOf(batch.file) }));
  const total = batches.reduce((sum, { bytes }) => sum + bytes, 0);
  const results: TaskResult[][] = checks.map(() => []);
  let done = 0;
  await runBatches(batches, {
    signal: options.signal,
    onResults: (answers, batch) => {
      for (const answer of answers) results[answer.check]?.push(answer);
      done += batch.bytes;
      options.onBytes?.(done, total);
    },
  });
  options.signal.throwIfAborted();
  const compared = { checkedBytes: 0, failures: 0 };
  for (const [index, check] of checks.entries()) {
    const outcome = compareCheck(check, results[index] ?? []);
    if (outcome === 'match') compared.checkedBytes += check.payloadBytes;
    else if (reportFailure(check, outcome, findings)) compared.failures++;
  }
  return compared;
}

type Outcome =
  | 'match'
  | { readonly found: string; readonly expected: string }
  | { readonly problem: string; readonly isUnreadable: boolean };

export function compareCheck(check: Check, results: readonly TaskResult[]): Outcome {
  const parts = results.toSorted((a, b) => a.part - b.part);
  for (const { problem, isUnreadable } of parts) if (problem !== null) return { problem, isUnreadable };
  const expected = typeof check.expected === 'string' ? check.expected.toLowerCase() : parts[0]?.expected;
  if (expected === undefined || expected === null)
    return { problem: 'its stored checksum lies behind the end of the file', isUnreadable: false };
  const found = joinParts(check, parts);
  return found === expected ? 'match' : { found, expected };
}

function joinParts(check: Check, parts: readonly TaskResult[]): string {
  const [first, ...rest] = parts;
  let value = first?.value ?? '';
  const kind: CombinableCrc = check.algorithm === 'crc32' ? 'crc32' : 'crc32c';
  for (const part of rest) {
    const length = Math.min(BATCH_BYTES, check.length - part.part * BATCH_BYTES);
    value = hex32(combineCrc(kind, Number.parseInt(value, 16), Number.parseInt(part.value ?? '0', 16), length));
  }
  return check.algorithm === 'crc32c-masked' ? maskedHex(value) : value;
}

/** True when the bytes are wrong; false when they could not be read, which proves nothing. */
function reportFailure(check: Check, outcome: Exclude<Outcome, 'match'>, findings: Findings): boolean {
  const { file, offset } = check;
  const what = `${excerpt(check.what)} in ${printable(file)}`;
  if (!('problem' in outcome)) {
    const { expected, found } = outcome;
    findings.add(check.code, { file, offset, expected, found }, `${what} does not match its ${check.algorithm} checksum`);
    return true;
  }
  if (outcome.isUnreadable) {
    findings.add('FILE_NOT_READABLE', { file, offset }, `${what} ${outcome.problem}`);
    return false;
  }
  findings.add(check.code, { file, offset, found: excerpt(outcome.problem) }, `${what}: ${outcome.problem}`);
  return true;
}
