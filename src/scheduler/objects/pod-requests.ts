import { at, listAt } from '../../kube/objects/fields.ts';
import { type Amounts, NOTHING, amountsOf, mostOf, sumOf } from './amounts.ts';

/** What a pod asks for, as each part of Kubernetes counts it. */
export interface PodRequests {
  /** For the filters: the most that runs at one time, and the overhead. */
  readonly all: Amounts;
  /** For the score: a container that asks for no processor or memory counts for a little. */
  readonly assumedCpu: number;
  readonly assumedMemory: number;
  /** For a kubelet that evicts: overhead counts only for what the containers ask for. */
  readonly atEviction: Amounts;
}

/** What a container that asks for none counts for in the score: a tenth of a processor, 200 MiB. */
const ASSUMED = { cpu: 100, memory: 200 * 2 ** 20 } as const;
/** The resources that a pod may ask for as a whole. */
const POD_LEVEL = /^(cpu|memory|hugepages-.+)$/;

interface Container {
  readonly requests: Amounts;
  readonly isSidecar: boolean;
}

/** Reads what a pod’s spec asks for. */
export function podRequestsOf(spec: unknown, problems: string[]): PodRequests {
  const containers = containersAt(spec, 'containers', problems);
  const init = containersAt(spec, 'initContainers', problems);
  const overhead = amountsOf(at(spec, 'overhead'), 'spec.overhead', problems);
  const whole = amountsOf(at(spec, 'resources', 'requests'), 'spec.resources.requests', problems);
  const levelled = (amounts: Amounts): Amounts => withPodLevel(amounts, whole);
  const asked = levelled(concurrent(containers, init, (amounts) => amounts));
  const assumed = sumOf(levelled(concurrent(containers, init, withAssumed)), overhead);
  return {
    all: sumOf(asked, overhead),
    assumedCpu: assumed.get('cpu') ?? 0,
    assumedMemory: assumed.get('memory') ?? 0,
    atEviction: new Map([...asked].map(([name, amount]) => [name, amount === 0 ? 0 : amount + (overhead.get(name) ?? 0)])),
  };
}

function containersAt(spec: unknown, field: string, problems: string[]): readonly Container[] {
  return listAt(spec, field).map((container, index) => ({
    requests: amountsOf(requestsAt(container), `spec.${field}[${index}].resources.requests`, problems),
    isSidecar: at(container, 'restartPolicy') === 'Always',
  }));
}

/**
 * The API server fills missing requests from limits; a manifest that was not applied yet has not.
 */
function requestsAt(container: unknown): unknown {
  const [requests, limits] = [at(container, 'resources', 'requests'), at(container, 'resources', 'limits')];
  if (limits === undefined) return requests;
  return { ...(limits as object), ...(requests as object | undefined) };
}

/**
 * The most that runs at one time. An init container runs alone, beside the sidecars that were
 * started before it; the sidecars run on beside the main containers.
 */
function concurrent(containers: readonly Container[], init: readonly Container[], counted: (amounts: Amounts) => Amounts): Amounts {
  let [sidecars, most] = [NOTHING, NOTHING];
  for (const { requests, isSidecar } of init) {
    const during = sumOf(sidecars, counted(requests));
    most = mostOf(most, during);
    if (isSidecar) sidecars = during;
  }
  const main = containers.reduce<Amounts>((sum, { requests }) => sumOf(sum, counted(requests)), NOTHING);
  return mostOf(most, sumOf(sidecars, main));
}

function withAssumed(amounts: Amounts): Amounts {
  if (amounts.has('cpu') && amounts.has('memory')) return amounts;
  return new Map([['cpu', ASSUMED.cpu], ['memory', ASSUMED.memory], ...amounts]);
}

function withPodLevel(amounts: Amounts, whole: Amounts): Amounts {
  if (whole.size === 0) return amounts;
  return new Map([...amounts, ...[...whole].filter(([name]) => POD_LEVEL.test(name))]);
}
