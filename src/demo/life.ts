/** The keeper of the trainer: none, or Holdfast. */
export type Keeper = 'bare' | 'holdfast';

/** A save, as far as it got: being written; written; kept, which for a bare trainer is the same. */
export interface Save {
  readonly step: number;
  readonly state: 'writing' | 'written' | 'kept';
}

/** One run of a trainer, as its output shows it. */
export interface Life {
  /** The first step; null before the start. */
  readonly from: number | null;
  /** The latest step. */
  readonly at: number;
  readonly saves: readonly Save[];
  /** The result in its last line; null without an orderly end. */
  readonly result: string | null;
  /** The exit code, 128 + n after signal n; null while it runs. */
  readonly code: number | null;
  /** The bad checkpoint that was skipped. */
  readonly refused: string | null;
}

/** The state before the first line of output. */
export const UNBORN: Life = { from: null, at: 0, saves: [], result: null, code: null, refused: null };

const LINE = /^(?:holdfast: )?(from|step|saving|saved|sealed)(?: step)? (\d+)\b/;
const REFUSED = /^holdfast: (?:warning: )?(\S+) was not taken/;

/** The state after another line of output; an unrelated line does not change it. */
export function hear(life: Life, line: string, keeper: Keeper): Life {
  if (line.startsWith('slope ')) return { ...life, result: line };
  const refused = REFUSED.exec(line)?.[1];
  if (refused !== undefined) return { ...life, refused };
  const [, word, number = ''] = LINE.exec(line) ?? [];
  const step = Number(number);
  switch (word) {
    case 'from':
      return { ...life, from: step, at: step };
    case 'step':
      return { ...life, at: Math.max(life.at, step) };
    case 'saving':
      return { ...life, at: Math.max(life.at, step), saves: [...life.saves, { step, state: 'writing' }] };
    case 'saved':
      return withSave(life, { step, state: keeper === 'bare' ? 'kept' : 'written' });
    case 'sealed':
      return withSave(life, { step, state: 'kept' });
    default:
      return life;
  }
}

/** The two streams of a trainer may bring `sealed` before `saved`: a kept save stays kept. */
function withSave(life: Life, next: Save): Life {
  const saves = life.saves.map((save) => (save.step === next.step && save.state !== 'kept' ? next : save));
  return { ...life, saves };
}

/** The step of the last save that was kept, or null. */
export function lastKept({ saves }: Life): number | null {
  return saves.findLast(({ state }) => state === 'kept')?.step ?? null;
}
