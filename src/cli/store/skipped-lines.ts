import type { Skipped } from '../../store/resume/last-good.ts';
import { printable } from '../../core/printable.ts';

/** Returns a line for each skipped checkpoint. */
export function skippedLines(skipped: readonly Skipped[]): readonly string[] {
  return skipped.map(({ name, state, code, reason, quarantined }) => {
    const where = quarantined === null ? '' : `; moved to ${printable(quarantined)}`;
    return `${printable(name)} was not taken (${STATES[state]}): ${reason} [${code}]${where}`;
  });
}

const STATES: Readonly<Record<Skipped['state'], string>> = {
  bad: 'bad',
  doubted: 'in doubt',
  unreadable: 'cannot be read, which does not prove that it is bad',
  busy: 'is being written',
  'not-judged': 'cannot be judged',
};
