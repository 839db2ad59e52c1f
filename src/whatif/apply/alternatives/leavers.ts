import { choicesOf } from '../../../operator/kinds/choices.ts';
import type { Leaver } from '../../../operator/room/choose.ts';
import { acceleratorSecondsLost, type LeavingCost } from '../../../operator/room/leaving-cost.ts';
import type { Cluster } from '../../../scheduler/cluster/cluster.ts';
import { type Gang, podKey } from '../../gangs/gang.ts';
import type { World } from '../../world/world.ts';

/** A gang that the operator may ask to leave, as far as the input shows it. */
export interface LeavingGang extends Leaver {
  readonly gang: Gang;
  /** Whether its save was measured. As everywhere, a restart counts where it was. */
  readonly isMeasured: boolean;
}

/** The operator’s own deadline; its option cannot be seen. */
const DEADLINE_MS = 60_000;
const KUEUE = 'kueue.x-k8s.io/';

/**
 * The gangs whose save and leaving the operator would compare: it looks after them, all their pods
 * run, Kueue does not manage them, and they have run for their `min-runtime`. The pods that an
 * elastic gang could spare cannot be seen: it counts as a whole.
 */
export function leavingGangs(world: World, cluster: Cluster): readonly LeavingGang[] {
  const found = world.gangs.all.filter((gang) => mayLeave(world, cluster, gang)).map((gang) => ({ gang, cost: costOf(world, gang) }));
  const costs = found.map(({ cost }) => cost);
  return found.map(({ gang, cost }) => {
    const pods = gang.pods.map(podKey);
    return {
      gang,
      run: `${gang.namespace}/${gang.name}`,
      title: gang.title,
      priority: Math.max(...pods.map((key) => cluster.pod(key)?.priority ?? 0)),
      pods,
      spare: null,
      cost: acceleratorSecondsLost(cost, DEADLINE_MS, costs),
      isMeasured: cost.saveSeconds !== null,
    };
  });
}

function mayLeave(world: World, cluster: Cluster, gang: Gang): boolean {
  const { kind, object, pods } = gang;
  if (object === null || !world.losses.isSupervised(gang)) return false;
  const choices = choicesOf(Object.fromEntries(object.annotations));
  if (kind !== 'PyTorchJob' && kind !== 'TFJob' && !(kind === 'Job' && choices.maySuspend)) return false;
  if ([object, ...pods].some(({ labels }) => [...labels.keys()].some((name) => name.startsWith(KUEUE)))) return false;
  if (!pods.every((pod) => cluster.nodeOf(podKey(pod)) !== null)) return false;
  const { startedMs } = world.losses.of(gang);
  return startedMs !== null && world.nowMs - startedMs >= choices.minRuntimeMs;
}

function costOf(world: World, gang: Gang): LeavingCost {
  const { accelerators, restartSeconds, saveSeconds, unsavedSeconds } = world.losses.of(gang);
  return { accelerators, restartSeconds, saveSeconds, unsavedSeconds, teardownSeconds: null };
}
