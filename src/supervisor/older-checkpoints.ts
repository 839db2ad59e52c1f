import { checkSealed } from '../checkpoint/store/check-sealed.ts';
import { at } from '../checkpoint/store/layout.ts';
import { replaceFile } from '../checkpoint/store/replace-file.ts';
import { formatRollback } from '../checkpoint/store/rollback.ts';
import { scan, type SealedCheckpoint } from '../checkpoint/store/scan.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { printable } from '../core/printable.ts';
import { type Resume, resumeOf } from './find-resume.ts';

/** So many steps are named to the ranks; whoever lacks all of these has lost more than a few saves. */
const MOST_STEPS = 16;

/**
 * The checkpoints of a run that its ranks take because all nodes hold them, each looked at once, every byte of it. A bad one is only passed by: what
 * becomes of it is decided when it is the last good one's turn.
 */
export class OlderCheckpoints {
  readonly #store: OpenStore;
  readonly #looked = new Map<number, Promise<SealedCheckpoint | string>>();
  #steps: readonly number[] | null = null;

  constructor(store: OpenStore) {
    this.#store = store;
  }

  /** The steps that the ranks could go on from, the newest first: nodes that have a run each may hold different ones. None where they cannot be read. */
  get steps(): readonly number[] {
    try {
      this.#steps ??= [...new Set(scan(this.#store).sealed.map(({ manifest }) => manifest.step))].slice(0, MOST_STEPS);
    } catch {
      return [];
    }
    return this.#steps;
  }

  /** What to go on from, or why not from this step. */
  async take(step: number): Promise<Resume | string> {
    const found = await this.#look(step);
    return typeof found === 'string' ? found : resumeOf(found);
  }

  /**
   * All ranks go on from this step, in this attempt: what is newer here does not count any more. It belongs to steps that are made again now, and if it
   * counted, nodes could come to hold the same step of two trainings.
   */
  async goBack(step: number, attempt: number): Promise<Resume | string> {
    const found = await this.#look(step);
    if (typeof found === 'string') return found;
    const [newest] = scan(this.#store).sealed;
    if (newest?.path !== found.path) {
      const to = { name: found.name, attempt: found.manifest.attempt, step };
      const { fs, path, makeId } = this.#store;
      replaceFile(fs, at.rollbackFile(path), formatRollback({ to, throughAttempt: attempt - 1 }), makeId());
    }
    return resumeOf(found);
  }

  #look(step: number): Promise<SealedCheckpoint | string> {
    const known = this.#looked.get(step);
    if (known !== undefined) return known;
    const looked = this.#check(step).catch((thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown)));
    this.#looked.set(step, looked);
    return looked;
  }

  async #check(step: number): Promise<SealedCheckpoint | string> {
    const checkpoint = scan(this.#store).sealed.find(({ manifest }) => manifest.step === step);
    if (checkpoint === undefined) return `there is no sealed checkpoint of step ${step} here`;
    const checked = await checkSealed(this.#store, checkpoint, 'deep', {});
    return checked.state === 'good' ? checkpoint : `${printable(checkpoint.name)} is not good: ${checked.reason}`;
  }
}
