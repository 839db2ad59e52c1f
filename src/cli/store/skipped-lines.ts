import type { Skipped } from '../../checkpoint/store/last-good.ts';
import { printable } from '../../core/printable.ts';

/** A line for each checkpoint that was not taken. */
export function skippedLines(skipped: readonly Skipped[]): readonly string[] {
  return skipped.map(({ name, state, code, reason, quarantined }) => {
    const where = quarantined === null ? '' : `; moved to ${printable(quarantined)}`;
    return `${printable(name)} was not taken (${STATES[state]}): ${reason} [${code}]${where}`;
  });
}

const STATES: Readonly<Record<Skipped['state'], string>> = {
  bad: 'bad',
  doubted: 'in doubt',
  unreadable: 'cannot be read, which proves nothing',
  busy: 'is being written',
  'not-judged': 'cannot be judged',
};
