import type { KubeObject } from '../cluster/api.ts';

interface Timed {
  readonly deletionGracePeriodSeconds?: number;
}

interface Terminated {
  readonly finishedAt?: string | null;
}

/**
 * When something was so, in whole seconds since 1970, by what the object itself says: for when it was made, told to end, and ended. When this process
 * hears of it is later, by as much as the machine is busy; of two such times the difference may be any, of two of these it is what it was.
 */
export function timeTold({ metadata, status }: KubeObject, text: string): number | undefined {
  if (text === 'phase Pending') return secondsOf(metadata.creationTimestamp);
  if (text === 'terminating') {
    const { deletionGracePeriodSeconds: grace = 0 } = metadata as Timed;
    const end = secondsOf(metadata.deletionTimestamp);
    return end === undefined ? undefined : end - grace;
  }
  if (!text.startsWith('exit ')) return undefined;
  const containers = (status?.containerStatuses ?? []) as readonly { readonly state?: { readonly terminated?: Terminated } }[];
  const [ended, ...more] = containers.flatMap(({ state }) => (state?.terminated === undefined ? [] : [state.terminated]));
  return more.length > 0 ? undefined : secondsOf(ended?.finishedAt);
}

function secondsOf(time: string | null | undefined): number | undefined {
  const found = Date.parse(time ?? '');
  return Number.isNaN(found) ? undefined : found / 1000;
}
