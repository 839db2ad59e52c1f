import { checkSealed } from '../checkpoint/store/check-sealed.ts';
import { scan } from '../checkpoint/store/scan.ts';
import type { Store } from '../checkpoint/store/store.ts';
import { printable } from '../core/printable.ts';
import { type Resume, resumeOf } from './find-resume.ts';

/** So many steps are named to the ranks; whoever lacks all of these has lost more than a few saves. */
const MOST_STEPS = 16;

/**
 * The checkpoints of a run that its ranks take because all nodes hold them, each looked at once, every byte of it. A bad one is only passed by: what
 * becomes of it is decided when it is the last good one's turn.
 */
export class OlderCheckpoints {
  readonly #store: Store;
  readonly #taken = new Map<number, Promise<Resume | string>>();
  #steps: readonly number[] | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The steps that the ranks could go on from, the newest first: nodes that have a run each may hold different ones. */
  get steps(): readonly number[] {
    this.#steps ??= [...new Set(scan(this.#store).sealed.map(({ manifest }) => manifest.step))].slice(0, MOST_STEPS);
    return this.#steps;
  }

  /** What to go on from, or why not from this step. */
  take(step: number): Promise<Resume | string> {
    const known = this.#taken.get(step);
    if (known !== undefined) return known;
    const taken = this.#look(step).catch((thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown)));
    this.#taken.set(step, taken);
    return taken;
  }

  async #look(step: number): Promise<Resume | string> {
    const checkpoint = scan(this.#store).sealed.find(({ manifest }) => manifest.step === step);
    if (checkpoint === undefined) return `there is no sealed checkpoint of step ${step} here`;
    const checked = await checkSealed(this.#store, checkpoint, 'deep', {});
    return checked.state === 'good' ? resumeOf(checkpoint) : `${printable(checkpoint.name)} is not good: ${checked.reason}`;
  }
}
