import type { SchedulerPod } from '../objects/pod.ts';
import type { Columns } from './columns.ts';

/** A pod whose requests lie in columns, ready to be counted. */
export interface CountedPod {
  readonly pod: SchedulerPod;
  /** The columns that it asks anything of, and how much. */
  readonly columns: readonly number[];
  readonly amounts: readonly number[];
}

/** Puts a pod’s requests into columns. */
export function countedPod(pod: SchedulerPod, columns: Columns): CountedPod {
  const asked = [...pod.requests.all].flatMap(([name, amount]) => (amount > 0 ? [[columns.of(name), amount] as const] : []));
  asked.sort(([first], [second]) => first - second);
  return { pod, columns: asked.map(([column]) => column), amounts: asked.map(([, amount]) => amount) };
}
