import { at, isFields } from '../kube/objects/fields.ts';
import type { KubeObject } from '../kube/objects/object.ts';
import type { PodGrace } from '../domain/grace/pod-grace.ts';

const POLICY_KINDS: ReadonlySet<string> = new Set(['ClusterPolicy', 'Policy', 'MutatingAdmissionPolicy']);
const DEEPEST = 30;

/** The shortest grace that an admission policy among the objects sets; null if none sets it. */
export function clampAmong(objects: readonly KubeObject[]): PodGrace['clamp'] {
  const found = objects
    .filter(({ kind }) => POLICY_KINDS.has(kind))
    .flatMap(({ name, fields }) => secondsIn(at(fields, 'spec'), 0).map((seconds) => ({ seconds, by: `the policy ${name}` })));
  return found.toSorted((a, b) => a.seconds - b.seconds)[0] ?? null;
}

/**
 * Every number at the place where a policy writes the grace. A condition compares the grace with
 * texts such as `>50`, which are not numbers.
 */
function secondsIn(value: unknown, depth: number): readonly number[] {
  if (depth > DEEPEST) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => secondsIn(entry, depth + 1));
  if (typeof value === 'string') {
    const match = /terminationGracePeriodSeconds\W{1,6}(\d{1,6})\b/.exec(value.slice(0, 20_000));
    return match === null ? [] : [Number(match[1])];
  }
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    key === 'terminationGracePeriodSeconds' && typeof entry === 'number' ? [entry] : secondsIn(entry, depth + 1),
  );
}
