import { listAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { ClusterInput } from '../../scheduler/objects/cluster-input.ts';
import { DEFAULT_SCHEDULER } from '../../scheduler/objects/pod.ts';
import type { Gangs } from '../gangs/find-gangs.ts';
import type { ClusterSnapshot } from '../snapshot/cluster-snapshot.ts';
import { SNAPSHOT_KINDS } from '../snapshot/kinds.ts';
import { type Note, someOf } from './note.ts';
import { volumeNotes } from './tied-claims.ts';

interface Facts {
  readonly objects: readonly KubeObject[];
  readonly input: ClusterInput;
  readonly gangs: Gangs;
  readonly snapshot: ClusterSnapshot | null;
  readonly strays: readonly string[];
}

/** What of the input is missing, not modelled, or wrong, and what that means for the answers. */
export function inputNotes(facts: Facts): readonly Note[] {
  return [...missingKinds(facts), ...notModelled(facts), ...badInput(facts)];
}

/**
 * A snapshot shows which kinds it does not hold; in a dump, a kind without an object is missing.
 */
function missingKinds({ objects, snapshot }: Facts): readonly Note[] {
  const there = new Set(objects.map(({ kind }) => kind));
  const isMissing = (kind: string, plural: string, groups: readonly string[]): boolean => {
    if (there.has(kind)) return false;
    if (snapshot === null) return ALWAYS_THERE.has(kind);
    return groups.some((group) => snapshot.leftOut.some(({ resource }) => resource === resourceName(plural, group)));
  };
  return SNAPSHOT_KINDS.flatMap(({ kind, plural, groups, without }): readonly Note[] =>
    without !== null && isMissing(kind, plural, groups) ? [{ kind: 'missing', text: `no ${plural} were read: ${without}` }] : [],
  );
}

/** Every cluster has objects of these kinds, so that a dump without one left them out. */
const ALWAYS_THERE = new Set(['Namespace', 'PriorityClass']);

/** `podgroups.scheduling.volcano.sh`, as kubectl names it; `pods` for the core API. */
export function resourceName(plural: string, group: string): string {
  const name = group.startsWith('apis/') ? group.slice('apis/'.length).replace(/\/[^/]*$/, '') : '';
  return name === '' ? plural : `${plural}.${name}`;
}

function notModelled({ objects, input }: Facts): readonly Note[] {
  const pods = input.pods.filter(({ isOver }) => !isOver);
  const others = new Map<string, number>();
  for (const { schedulerName } of pods) {
    if (schedulerName !== DEFAULT_SCHEDULER) others.set(schedulerName, (others.get(schedulerName) ?? 0) + 1);
  }
  const limited = pods.filter((pod) => pod.notModelled.length > 0);
  const reasons = new Set(limited.flatMap((pod) => pod.notModelled));
  const composite = input.groups.filter(({ parent }) => parent !== null);
  const note = (text: string): Note => ({ kind: 'not-modelled', text });
  return [
    ...[...others].map(([name, count]) =>
      note(
        `the scheduler ${name}, which places ${count} ${count === 1 ? 'pod' : 'pods'}: they take room, and are placed as by kube-scheduler`,
      ),
    ),
    ...[...reasons].map((reason) => {
      const whom = limited.filter((pod) => pod.notModelled.includes(reason)).map(({ key }) => key);
      return note(`${someOf(whom)}: ${reason}`);
    }),
    ...volumeNotes(objects, pods),
    ...(composite.length === 0 ? [] : [note(`composite PodGroups: ${someOf(composite.map(({ key }) => key))}`)]),
  ];
}

function badInput({ objects, input, gangs, strays }: Facts): readonly Note[] {
  const broken = [...input.nodes.map((node) => ({ key: `node/${node.name}`, problems: node.problems })), ...input.pods].filter(
    ({ problems }) => problems.length > 0,
  );
  const note = (text: string): Note => ({ kind: 'bad-input', text });
  const empty = objects
    .filter(({ kind, fields }) => kind === 'Pod' && listAt(fields, 'spec', 'containers').length === 0)
    .map(({ namespace, name }) => `${namespace ?? 'default'}/${name}`);
  return [
    ...(input.nodes.length === 0 ? [note('there is no node: no pod fits anywhere')] : []),
    ...(strays.length === 0
      ? []
      : [
          note(
            `${strays.length === 1 ? 'a pod is' : `${strays.length} pods are`} on a node that is not in the input, and ${strays.length === 1 ? 'takes' : 'take'} no room: ${someOf(strays)}`,
          ),
        ]),
    ...broken.slice(0, MOST_BROKEN).map(({ key, problems }) => note(`${key}: ${someOf(problems, 2)}`)),
    ...(broken.length > MOST_BROKEN ? [note(`${broken.length - MOST_BROKEN} more objects have quantities that cannot be read`)] : []),
    ...(empty.length === 0 ? [] : [note(`no container can be read: ${someOf(empty)} ${empty.length === 1 ? 'takes' : 'take'} no room`)]),
    ...(gangs.cycles.length === 0 ? [] : [note(`owners that own each other: ${someOf(gangs.cycles)}; the pods count one by one`)]),
    ...(gangs.unknownJobs.length === 0
      ? []
      : [note(`the Job of ${someOf(gangs.unknownJobs)} is not in the input: whether it is a gang is unknown`)]),
  ];
}

const MOST_BROKEN = 10;
