/** Who looks after the trainer. */
export type Keeper = 'bare' | 'holdfast';

/** A save, as far as it got: being written; written; kept, which for a bare trainer is the same. */
export interface Save {
  readonly step: number;
  readonly state: 'writing' | 'written' | 'kept';
}

/** One life of a trainer, as its output tells it. */
export interface Life {
  /** The step it began with; null before it has begun. */
  readonly from: number | null;
  /** The step it has come to. */
  readonly at: number;
  readonly saves: readonly Save[];
  /** What it learned, as its last line says; null when it did not come to its end. */
  readonly result: string | null;
  /** The exit code, 128 + n after signal n; null while it lives. */
  readonly code: number | null;
  /** The checkpoint that was found bad and not resumed from. */
  readonly refused: string | null;
}

export const UNBORN: Life = { from: null, at: 0, saves: [], result: null, code: null, refused: null };

const LINE = /^(?:holdfast: )?(from|step|saving|saved|sealed)(?: step)? (\d+)\b/;
const REFUSED = /^holdfast: (?:warning: )?(\S+) was not taken/;

/** The life after another line of its output; lines that tell nothing leave it as it is. */
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

/** The two streams of a trainer may bring `sealed` before `saved`: what is kept stays kept. */
function withSave(life: Life, next: Save): Life {
  const saves = life.saves.map((save) => (save.step === next.step && save.state !== 'kept' ? next : save));
  return { ...life, saves };
}

export function lastKept({ saves }: Life): number | null {
  return saves.findLast(({ state }) => state === 'kept')?.step ?? null;
}
