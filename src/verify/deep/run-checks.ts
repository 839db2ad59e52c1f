import { join } from 'node:path';
import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../../formats/reading/findings.ts';
import { affordableFiles, type CheckedFile } from './afford.ts';
import type { Check } from '../../bytes/hashing/check.ts';
import { type CombinableCrc, combineCrc } from '../../bytes/hashing/crc-combine.ts';
import { maskedHex } from '../../bytes/hashing/hash-range.ts';
import type { HashPool } from '../../bytes/hashing/pool.ts';
import { BATCH_BYTES, partsOf, planBatches, type TaskResult } from '../../bytes/hashing/task.ts';
import { hex32 } from '../../core/checksums.ts';

/** How checksums are compared. */
export interface RunChecksOptions {
  readonly pool: HashPool;
  /** The folder of all files: absolute and without links. */
  readonly root: string;
  /** A file, from its path below the root; null, with evidence, if it is gone. */
  readonly fileOf: (file: string) => CheckedFile | null;
  readonly signal: AbortSignal;
  /** Receives the progress and the file that is being read. */
  readonly onBytes?: (done: number, total: number, file: string) => void;
}

/** Reads the bytes under every check, compares, and adds evidence for each that fails. */
export async function runChecks(findings: Findings, options: RunChecksOptions): Promise<{ checkedBytes: number; failures: number }> {
  const files = affordableFiles(allChecks(findings), options.fileOf, findings);
  const total = findings.coverage.bytes;
  const compared = { checkedBytes: 0, failures: 0 };
  let done = 0;
  for (const part of files.size === 0 ? [] : findings.checkParts()) {
    const checks = part.filter(({ file }) => files.has(file));
    const batches = planBatches('/', checks).map((batch) => ({
      ...batch,
      file: join(options.root, files.get(batch.file)?.path ?? batch.file).slice(1),
    }));
    const comparison = new Comparison(checks);
    await options.pool.run(batches, {
      signal: options.signal,
      onResults: (answers, batch) => {
        for (const answer of answers) comparison.add(answer);
        done += batch.bytes;
        options.onBytes?.(done, total, checks[batch.tasks[0]?.check ?? 0]?.file ?? '');
      },
    });
    options.signal.throwIfAborted();
    const { checkedBytes, failures } = comparison.report(findings);
    compared.checkedBytes += checkedBytes;
    compared.failures += failures;
  }
  return compared;
}

function* allChecks(findings: Findings): Generator<Check> {
  for (const part of findings.checkParts()) yield* part;
}

/** Compares as results come in, so that matching checks need no memory. */
class Comparison {
  readonly #checks: readonly Check[];
  /** Results of checks in several parts, until the last part arrives. */
  readonly #parts = new Map<number, TaskResult[]>();
  readonly #failed = new Map<number, Exclude<Outcome, 'match'>>();
  #checkedBytes = 0;

  constructor(checks: readonly Check[]) {
    this.#checks = checks;
  }

  add(result: TaskResult): void {
    const check = this.#checks[result.check];
    if (check === undefined) return;
    const parts = this.#parts.get(result.check) ?? [];
    parts.push(result);
    if (parts.length < partsOf(check)) {
      this.#parts.set(result.check, parts);
      return;
    }
    this.#parts.delete(result.check);
    const outcome = compareCheck(check, parts);
    if (outcome === 'match') this.#checkedBytes += check.payloadBytes;
    else this.#failed.set(result.check, outcome);
  }

  /** Evidence follows the order of the checks, whichever thread was first. */
  report(findings: Findings): { checkedBytes: number; failures: number } {
    let failures = 0;
    for (const index of [...this.#failed.keys()].sort((a, b) => a - b)) {
      const [check, outcome] = [this.#checks[index], this.#failed.get(index)];
      if (check !== undefined && outcome !== undefined && reportFailure(check, outcome, findings)) failures++;
    }
    return { checkedBytes: this.#checkedBytes, failures };
  }
}

type Outcome =
  | 'match'
  | { readonly found: string; readonly expected: string }
  | { readonly problem: string; readonly isUnreadable: boolean };

/** Compares one stored checksum with the computed results. */
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
