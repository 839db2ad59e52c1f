import type { PodCase, Resources } from './scheduling.ts';

type Asking = Pick<PodCase, 'requests' | 'init' | 'overhead'>;

const NOTHING: Resources = { cpu: 0, memory: 0, gpu: 0, disk: 0 };
export const RESOURCES = ['cpu', 'memory', 'gpu', 'disk'] as const satisfies readonly (keyof Resources)[];

/**
 * What we believe a pod asks for: the most that runs at one time, and its overhead. Who only prepares runs alone, beside the sidecars that were started before; the sidecars run on beside the
 * main container. `counted` is what a container counts for.
 */
export function requestsOf(pod: Asking, counted: (amounts: Resources) => Resources = (amounts) => amounts): Resources {
  return sum(requestsWithoutOverhead(pod, counted), pod.overhead ?? NOTHING);
}

/** A kubelet that evicts takes the overhead into account only of what the containers ask for as well. */
export function requestsAtEviction(pod: Asking): Resources {
  const asked = requestsWithoutOverhead(pod, (amounts) => amounts);
  return combined(asked, pod.overhead ?? NOTHING, (own, overhead) => (own === 0 ? 0 : own + overhead));
}

function requestsWithoutOverhead({ requests, init }: Asking, counted: (amounts: Resources) => Resources): Resources {
  let [sidecars, most] = [NOTHING, NOTHING];
  for (const each of init) {
    const during = sum(sidecars, counted(each.requests));
    most = combined(most, during, Math.max);
    if (each.isSidecar) sidecars = during;
  }
  return combined(most, sum(sidecars, counted(requests)), Math.max);
}

function sum(first: Resources, second: Resources): Resources {
  return combined(first, second, (one, other) => one + other);
}

function combined(first: Resources, second: Resources, how: (one: number, other: number) => number): Resources {
  return {
    cpu: how(first.cpu, second.cpu),
    memory: how(first.memory, second.memory),
    gpu: how(first.gpu, second.gpu),
    disk: how(first.disk, second.disk),
  };
}
