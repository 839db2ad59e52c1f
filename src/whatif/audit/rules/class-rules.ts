import { at, isFields, textAt } from '../../../kube/objects/fields.ts';
import { titleOf } from '../../../kube/objects/object.ts';
import { someOf } from '../../world/note.ts';
import type { Risk, Rule } from '../risk.ts';

const POLICIES = new Set(['PreemptLowerPriority', 'Never']);
const DEEPEST = 12;

/** Finds values of preemptionPolicy that Kubernetes does not have, wherever they stand. */
export const policyUnknown: Rule = ({ world }) =>
  world.objects.flatMap((object): readonly Risk[] => {
    const policy = unknownPolicy(object.fields, 0);
    if (policy === null) return [];
    return [
      {
        code: 'POLICY_UNKNOWN',
        subject: titleOf(object),
        evidence: `preemptionPolicy is ${policy}`,
        fix: 'use PreemptLowerPriority (the default) or Never; Kubernetes has no other',
      },
    ];
  });

function unknownPolicy(value: unknown, depth: number): string | null {
  if (depth > DEEPEST || typeof value !== 'object' || value === null) return null;
  const own = isFields(value) ? textAt(value, 'preemptionPolicy') : null;
  if (own !== null && !POLICIES.has(own)) return own;
  for (const each of Object.values(value)) {
    const found = unknownPolicy(each, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** Finds classes that no pod and no template names. */
export const classUnused: Rule = ({ world, classes }) => {
  const used = new Set<string>();
  for (const { fields } of world.objects) collectClasses(fields, used, 0);
  return classes
    .filter(({ name }) => !name.startsWith('system-') && !used.has(name))
    .filter(
      ({ name }) =>
        !world.objects.some(
          (object) => object.kind === 'PriorityClass' && object.name === name && at(object.fields, 'globalDefault') === true,
        ),
    )
    .map(
      ({ name, value }): Risk => ({
        code: 'CLASS_UNUSED',
        subject: `priorityclass/${name}`,
        evidence: `no pod and no template names it (value ${value})`,
        fix: `kubectl delete priorityclass ${name}, if no manifest elsewhere needs it`,
      }),
    );
};

function collectClasses(value: unknown, used: Set<string>, depth: number): void {
  if (depth > DEEPEST || typeof value !== 'object' || value === null) return;
  const own = isFields(value) ? textAt(value, 'priorityClassName') : null;
  if (own !== null) used.add(own);
  for (const each of Object.values(value)) collectClasses(each, used, depth + 1);
}

/** Finds gangs and pods with accelerators whose pods name no class. */
export const podWithoutClass: Rule = ({ world }) =>
  world.gangs.all.flatMap((gang): readonly Risk[] => {
    const bare = gang.pods.filter(({ fields }) => textAt(fields, 'spec', 'priorityClassName') === null);
    if (bare.length === 0 || world.losses.of(gang).accelerators === 0) return [];
    const priority = at(bare[0]?.fields, 'spec', 'priority');
    return [
      {
        code: 'POD_WITHOUT_CLASS',
        subject: gang.title,
        evidence: `${someOf(
          bare.map(({ name }) => name),
          2,
        )} ${bare.length === 1 ? 'names' : 'name'} no class: priority ${typeof priority === 'number' ? priority : 0}`,
        fix: 'name a class in the pod template: priorityClassName',
      },
    ];
  });
