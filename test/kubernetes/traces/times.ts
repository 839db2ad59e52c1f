import type { KubeObject } from '../cluster/api.ts';

interface Timed {
  readonly deletionGracePeriodSeconds?: number;
}

interface Transition {
  readonly type: string;
  readonly lastTransitionTime?: string;
}

interface Terminated {
  readonly finishedAt?: string | null;
}

/**
 * The object's own time for a fact, in whole seconds since 1970: its creation, deletion and end;
 * for a Job, its start and its conditions. Our process learns of a fact later, by as much as the
 * machine is busy. So only differences between objects' own times are reliable.
 */
export function timeTold(object: KubeObject, text: string): number | undefined {
  const { metadata, status } = object;
  if (text === 'phase Pending') return secondsOf(metadata.creationTimestamp);
  if (text === 'terminating') return whenToldToEnd(object);
  if (text === 'active 1') return secondsOf(status?.startTime);
  if (text.startsWith('exit ')) return whenEnded(object);
  const [, type] = /^condition ([^/]*)/.exec(text) ?? [];
  const conditions = (status?.conditions ?? []) as readonly Transition[];
  return secondsOf(conditions.find((condition) => condition.type === type)?.lastTransitionTime);
}

function whenToldToEnd({ metadata }: KubeObject): number | undefined {
  const { deletionGracePeriodSeconds: grace = 0 } = metadata as Timed;
  const end = secondsOf(metadata.deletionTimestamp);
  return end === undefined ? undefined : end - grace;
}

function whenEnded({ status }: KubeObject): number | undefined {
  const containers = (status?.containerStatuses ?? []) as readonly { readonly state?: { readonly terminated?: Terminated } }[];
  const [ended, ...more] = containers.flatMap(({ state }) => (state?.terminated === undefined ? [] : [state.terminated]));
  return more.length > 0 ? undefined : secondsOf(ended?.finishedAt);
}

function secondsOf(time: string | null | undefined): number | undefined {
  const found = Date.parse(time ?? '');
  return Number.isNaN(found) ? undefined : found / 1000;
}
