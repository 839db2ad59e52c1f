import type { EndCause } from '../domain/causes/catalogue.ts';
import type { Answer } from './answer.ts';

/** The sums over several ends. */
export interface Summary {
  readonly ends: number;
  /** The times of the first and the last known end, in milliseconds since 1970. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly byCause: readonly Group<EndCause>[];
  readonly byPool: readonly Group<string>[];
  /** The settings that would have saved most, at most three. */
  readonly settings: readonly { readonly setting: string; readonly value: string; readonly ends: number; readonly gainMs: number }[];
}

interface Group<Key> {
  readonly key: Key;
  readonly ends: number;
  readonly lostMs: number;
  readonly acceleratorHours: number;
}

const MOST_SETTINGS = 3;

/** Sums up several ends by cause, by node pool and by setting. */
export function summaryOf(answers: readonly Answer[]): Summary {
  const times = answers.flatMap(({ atMs }) => atMs ?? []);
  return {
    ends: answers.length,
    fromMs: times.length === 0 ? null : Math.min(...times),
    toMs: times.length === 0 ? null : Math.max(...times),
    byCause: groups(answers, ({ judgement }) => judgement.cause),
    byPool: groups(answers, ({ pool, node }) => pool ?? node ?? 'unknown'),
    settings: settingsOf(answers),
  };
}

function groups<Key>(answers: readonly Answer[], keyOf: (answer: Answer) => Key): readonly Group<Key>[] {
  const found = new Map<Key, { ends: number; lostMs: number; acceleratorHours: number }>();
  for (const answer of answers) {
    const group = found.get(keyOf(answer)) ?? { ends: 0, lostMs: 0, acceleratorHours: 0 };
    group.ends += 1;
    group.lostMs += answer.loss?.lostMs ?? 0;
    group.acceleratorHours += answer.loss?.acceleratorHours ?? 0;
    found.set(keyOf(answer), group);
  }
  return [...found].map(([key, group]) => ({ key, ...group })).sort((a, b) => b.lostMs - a.lostMs || b.ends - a.ends);
}

/** For one setting with several values, the largest value covers them all. */
function settingsOf(answers: readonly Answer[]): Summary['settings'] {
  const found = new Map<string, { setting: string; value: string; ends: number; gainMs: number }>();
  for (const { setting } of answers) {
    if (setting === null) continue;
    const known = found.get(setting.setting) ?? { setting: setting.setting, value: setting.value, ends: 0, gainMs: 0 };
    known.ends += 1;
    known.gainMs += setting.gainMs ?? 0;
    if (Number.parseFloat(setting.value) > Number.parseFloat(known.value)) known.value = setting.value;
    found.set(setting.setting, known);
  }
  return [...found.values()].sort((a, b) => b.gainMs - a.gainMs || b.ends - a.ends).slice(0, MOST_SETTINGS);
}
