import { setTimeout as sleep } from 'node:timers/promises';
import { type Attempt, startAttempt } from '../../src/store/attempt/attempt.ts';
import { commitSave } from '../../src/store/commit/commit.ts';
import type { Save } from '../../src/store/commit/save.ts';
import { scan } from '../../src/store/folder/scan.ts';
import { openRun, type OpenStore } from '../../src/store/folder/store.ts';
import { HoldfastError } from '../../src/core/errors.ts';
import { stagedSave } from './sealed-run.ts';

/** What a process does in a round. */
export type RaceOrder =
  | { readonly kind: 'stage'; readonly run: string; readonly gang: string; readonly step: number }
  | { readonly kind: 'commit'; readonly delayMs: number }
  | { readonly kind: 'start'; readonly run: string; readonly gang: string; readonly delayMs: number };

export type RaceAnswer =
  | { readonly kind: 'staged' }
  | { readonly kind: 'committed'; readonly name: string }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'started'; readonly attempt: number; readonly seen: readonly string[] };

/** A separate process that saves and starts attempts on request. */
let staged: { readonly store: OpenStore; readonly save: Save; readonly attempt: Attempt } | null = null;

process.on('message', (order: RaceOrder) => {
  void obey(order).then((answer) => process.send?.(answer));
});
process.on('disconnect', () => process.exit(0));

async function obey(order: RaceOrder): Promise<RaceAnswer> {
  try {
    if (order.kind === 'stage') {
      const store = openRun(order.run);
      const attempt = await startAttempt(store, { gang: order.gang });
      staged = { store, attempt, save: await stagedSave(store, attempt, { step: order.step }) };
      return { kind: 'staged' };
    }
    if (order.delayMs > 0) await sleep(order.delayMs);
    if (order.kind === 'commit') {
      if (staged === null) throw new Error('nothing is staged');
      return { kind: 'committed', name: commitSave(staged.store, staged.save).name };
    }
    const store = openRun(order.run);
    const { attempt } = await startAttempt(store, { gang: order.gang });
    return { kind: 'started', attempt, seen: scan(store).sealed.map(({ name }) => name) };
  } catch (thrown) {
    return { kind: 'refused', code: thrown instanceof HoldfastError ? thrown.code : String(thrown) };
  }
}
