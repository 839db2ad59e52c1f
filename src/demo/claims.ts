import { lastKept } from './life.ts';
import type { Lane } from './play.ts';
import type { Scene } from './scenes.ts';

/** A promise of Holdfast about a scene, and whether it held. */
export interface Claim {
  readonly claim: string;
  readonly held: boolean;
}

/** The expected exit code: 143 interrupted, 137 killed, else the trainer's own. */
const FIRST_CODES: Readonly<Record<Scene['interruption'], number>> = { terminate: 143, 'kill-in-save': 137, 'full-disk': 1 };

/** Judges the trainer under Holdfast against a twin without interruption. */
export function judgeScene(scene: Scene, { lives: [first, second] }: Lane, twin: string): readonly Claim[] {
  if (first === undefined || second === undefined) return [{ claim: 'the trainer was started again', held: false }];
  const code = FIRST_CODES[scene.interruption];
  const kept = first.saves.filter(({ state }) => state === 'kept');
  const good = scene.flipsBit ? (kept.at(-2)?.step ?? null) : lastKept(first);
  return [
    { claim: `the interrupted life ended with ${code}, not with 0`, held: first.code === code },
    { claim: `the next one resumed after step ${good}, the last good one`, held: good !== null && second.from === good + 1 },
    ...(scene.flipsBit ? [{ claim: 'the damaged checkpoint was refused', held: second.refused !== null }] : []),
    { claim: 'the run was finished', held: second.code === 0 },
    { claim: 'what it learned equals the twin’s, bit for bit', held: second.result === twin },
  ];
}

/** Repeated steps; null when the run did not continue. */
export function stepsLost({ lives: [first, second] }: Lane): number | null {
  if (first === undefined || second?.from == null) return null;
  return Math.max(0, first.at + 1 - second.from);
}

/** The real outcome of a lane, compared with the twin. */
export type Outcome = 'equal' | 'wrong' | 'stuck';

/** Compares the result of a lane with the twin's result. */
export function outcomeOf({ lives }: Lane, twin: string): Outcome {
  const result = lives.at(-1)?.result ?? null;
  if (result === null) return 'stuck';
  return result === twin ? 'equal' : 'wrong';
}

/** Exit codes of 0 that were false: from an unfinished run, or from one with a wrong result. */
export function falseEnds({ lives }: Lane, twin: string): number {
  return lives.filter(({ code, result }) => code === 0 && result !== twin).length;
}
