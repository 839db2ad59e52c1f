import { NO_COST } from '../../loss/cost.ts';
import type { Alternative, Asked } from './alternative.ts';

/** Starts only as many pods as there is room for. Pods of a gang are of no use one by one. */
export function fewerReplicas({ makers, main, pods }: Asked): readonly Alternative[] {
  const [maker, ...others] = makers;
  if (maker === undefined || others.length > 0 || !SCALABLE.has(maker.object.kind)) return [];
  const first = main.steps.findIndex(({ placement }) => placement.node === null);
  const free = first < 0 ? pods.length : first;
  if (free === 0 || free === pods.length) return [];
  const title = `start ${free} instead of ${pods.length} for now`;
  return [{ kind: 'fewer-replicas', title, change: [`spec.replicas: ${free}`], cost: NO_COST, stops: [], isAtOnce: false }];
}

const SCALABLE = new Set(['Deployment', 'ReplicaSet', 'StatefulSet']);
