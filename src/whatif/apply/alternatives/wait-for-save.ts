import { formatDuration } from '../../../core/duration.ts';
import type { Gang } from '../../gangs/gang.ts';
import type { LostWork } from '../../gangs/lost-work.ts';
import type { Alternative, Asked } from './alternative.ts';

/** Applies the same manifest right after the next save of a gang that would stop. */
export function waitForSave({ world, main }: Asked): readonly Alternative[] {
  const victims = main.stopped.map((gang) => ({ gang, loss: world.losses.of(gang) })).filter(({ loss }) => !loss.isService);
  const known = victims.filter(hasNextSave);
  if (known.length === 0 || known.length < victims.length) return [];
  const moments = known.map(({ gang, loss }) => ({ gang, ms: loss.nextSaveMs + 1000 * (loss.saveSeconds ?? 0) }));
  const offers = moments.map(({ gang, ms }) => ({
    gang,
    ms,
    seconds: known.reduce((sum, { loss }) => sum + lostAt(loss, ms, world.nowMs), 0),
  }));
  const [best] = offers.toSorted((a, b) => a.seconds - b.seconds || a.ms - b.ms);
  if (best === undefined) return [];
  const at = new Date(best.ms).toISOString().replace(/\.\d+Z$/, 'Z');
  return [
    {
      kind: 'wait-for-save',
      title: `wait ${formatDuration(best.ms - world.nowMs)}, for the next save of ${best.gang.title}`,
      change: [`apply at ${at}, when ${best.gang.title} has saved`],
      cost: { acceleratorSeconds: best.seconds, worst: best.seconds },
      stops: main.stopped.map(({ title }) => title),
      isAtOnce: false,
    },
  ];
}

type Known = LostWork & { readonly nextSaveMs: number; readonly unsavedSeconds: number };

function hasNextSave(victim: { readonly gang: Gang; readonly loss: LostWork }): victim is { readonly gang: Gang; readonly loss: Known } {
  return victim.loss.nextSaveMs !== null && victim.loss.unsavedSeconds !== null;
}

/** What a gang loses if it stops at a moment: since its next save, or still since its last one. */
function lostAt({ nextSaveMs, unsavedSeconds, restartSeconds, saveSeconds, accelerators }: Known, ms: number, nowMs: number): number {
  const sealedMs = nextSaveMs + 1000 * (saveSeconds ?? 0);
  const since = ms >= sealedMs ? (ms - sealedMs) / 1000 : unsavedSeconds + Math.max(0, ms - nowMs) / 1000;
  return (since + (restartSeconds ?? 0)) * accelerators;
}
