import { checkSealed } from '../../store/folder/check-sealed.ts';
import { at } from '../../seal/names.ts';
import { replaceFile } from '../../store/disk/replace-file.ts';
import { formatRollback } from '../../store/folder/rollback.ts';
import { scan, type SealedCheckpoint } from '../../store/folder/scan.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { printable } from '../../core/printable.ts';
import { type Resume, resumeOf } from '../base/resume.ts';

/**
 * The number of steps that are offered to the ranks. A node that lacks all of these has lost more
 * than a few saves.
 */
const MOST_STEPS = 16;

/**
 * Finds the checkpoint of a step that all nodes hold, for ranks that agree to resume from it. Each
 * checkpoint is checked once, every byte of it. A bad one is only skipped; the search for the last
 * good checkpoint decides later whether to quarantine it.
 */
export class OlderCheckpoints {
  readonly #store: OpenStore;
  readonly #looked = new Map<number, Promise<SealedCheckpoint | string>>();
  #steps: readonly number[] | null = null;

  constructor(store: OpenStore) {
    this.#store = store;
  }

  /**
   * The steps that the ranks can resume from, the newest first; empty when the folder cannot be
   * read. Nodes with a run folder each may hold different steps.
   */
  get steps(): readonly number[] {
    try {
      this.#steps ??= [...new Set(scan(this.#store).sealed.map(({ manifest }) => manifest.step))].slice(0, MOST_STEPS);
    } catch {
      return [];
    }
    return this.#steps;
  }

  /** Returns the checkpoint to resume from, or the reason why this step cannot be used. */
  async take(step: number): Promise<Resume | string> {
    const found = await this.#look(step);
    return typeof found === 'string' ? found : resumeOf(found);
  }

  /**
   * Resumes all ranks from this step and invalidates every newer checkpoint. The ranks will make
   * those steps again. If the old ones still counted, nodes could hold the same step of two
   * trainings.
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
