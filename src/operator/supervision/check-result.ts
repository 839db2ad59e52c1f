import { listAt, textAt } from '../../kube/objects/fields.ts';
import type { Pod } from '../../kube/objects/pod.ts';
import { CONTAINERS } from './names.ts';
import type { Refusal } from './refusals.ts';

/** What the init containers of a supervised pod have found out. */
export type CheckResult =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'passed' }
  | { readonly kind: 'refused'; readonly reason: Refusal };

const WORDS = /^(NOEXEC|NOT_RUNNABLE): ([^\n]{1,300})$/;

/** Reads what the launcher left in their termination messages; null: the pod has none of them. */
export function checkResultOf({ initContainers, object }: Pod): CheckResult | null {
  const own = listAt(object.fields, 'spec', 'initContainers');
  if (!own.some((each) => textAt(each, 'name') === CONTAINERS.check)) return null;
  const ends = [CONTAINERS.install, CONTAINERS.check].map((name) => initContainers.find((each) => each.name === name)?.terminated ?? null);
  for (const end of ends) {
    const [, code, what] = WORDS.exec(end?.message?.trim() ?? '') ?? [];
    if ((code === 'NOEXEC' || code === 'NOT_RUNNABLE') && what !== undefined) return { kind: 'refused', reason: { code, what } };
  }
  return { kind: ends.every((end) => end?.exitCode === 0) ? 'passed' : 'waiting' };
}
