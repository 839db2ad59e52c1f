import { numberAt, textAt } from '../../kube/objects/fields.ts';
import { shapesOf } from '../loss/fragmentation.ts';
import type { World } from '../world/world.ts';
import { type Audited, type Risk, RISK_SEVERITIES, RISKS, type Rule } from './risk.ts';
import { classUnused, podWithoutClass, policyUnknown } from './rules/class-rules.ts';
import { budgetNotProtecting, gangStopsWithOne, serviceBelowTraining, trainingEvictable } from './rules/eviction-rules.ts';
import { fragmented, mayEvictFirst, waitsBehindLessImportant } from './rules/room-rules.ts';

const RULES: readonly Rule[] = [
  policyUnknown,
  waitsBehindLessImportant,
  serviceBelowTraining,
  trainingEvictable,
  mayEvictFirst,
  budgetNotProtecting,
  podWithoutClass,
  gangStopsWithOne,
  fragmented,
  classUnused,
];

/** The standing risks of a cluster, the worst first. */
export function auditCluster(world: World): readonly Risk[] {
  const audited: Audited = {
    world,
    classes: world.objects
      .filter(({ kind }) => kind === 'PriorityClass')
      .map(({ name, fields }) => ({ name, value: numberAt(fields, 'value') ?? 0, policy: textAt(fields, 'preemptionPolicy') })),
    shapes: shapesOf(world.input.pods),
  };
  const found = RULES.flatMap((rule) => rule(audited));
  return found.toSorted((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ code }: Risk): number {
  return RISK_SEVERITIES.indexOf(RISKS[code].severity);
}
