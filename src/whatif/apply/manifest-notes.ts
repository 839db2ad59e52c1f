import { textAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { SYSTEM_CLASSES } from '../../scheduler/objects/cluster-input.ts';
import { DEFAULT_SCHEDULER, type SchedulerPod } from '../../scheduler/objects/pod.ts';
import { snapshotsIn } from '../snapshot/cluster-snapshot.ts';
import { type Note, someOf } from '../world/note.ts';
import { volumeNotes } from '../world/tied-claims.ts';

/** A pod of a manifest, as an object and as the scheduler reads it. */
export interface MadePod {
  readonly object: KubeObject;
  readonly pod: SchedulerPod;
}

/**
 * What of the pods of manifests is not modelled, and what the API server or the scheduler would
 * object to. `known` are the objects of the cluster and of the manifests.
 */
export function manifestNotes(made: readonly MadePod[], known: readonly KubeObject[]): readonly Note[] {
  const pods = made.map(({ pod }) => pod);
  return [...notModelled(made), ...volumeNotes(known, pods), ...missingObjects(made, known), ...unreadable(made)];
}

function notModelled(made: readonly MadePod[]): readonly Note[] {
  const schedulers = byText(made, ({ pod }) => (pod.schedulerName === DEFAULT_SCHEDULER ? [] : [pod.schedulerName]));
  const reasons = byText(made, ({ pod }) => pod.notModelled);
  return [
    ...schedulers.map(([name, whom]) => `the scheduler ${name}: ${whom} counts as if kube-scheduler placed it`),
    ...reasons.map(([reason, whom]) => `${whom}: ${reason}`),
  ].map((text) => ({ kind: 'not-modelled', text }));
}

/** Objects that the pods name, and without which they never run. */
function missingObjects(made: readonly MadePod[], known: readonly KubeObject[]): readonly Note[] {
  const names = (kind: string): ReadonlySet<string> => new Set(known.filter((each) => each.kind === kind).map(({ name }) => name));
  const [namespaces, classes] = [names('Namespace'), new Set([...names('PriorityClass'), ...SYSTEM_CLASSES.map(([name]) => name)])];
  const claims = new Set(known.filter(({ kind }) => kind === CLAIM).map((each) => `${each.namespace ?? 'default'}/${each.name}`));
  const wereClaimsRead = snapshotsIn(known).every(({ leftOut }) => leftOut.every(({ resource }) => resource !== 'persistentvolumeclaims'));
  const lacking = [
    ...byText(made, ({ pod }) => (namespaces.size === 0 || namespaces.has(pod.namespace) ? [] : [pod.namespace])).map(
      ([name, whom]) => `there is no namespace ${name} in the input: without it the API server refuses ${whom}`,
    ),
    ...byText(made, ({ object }) => textAt(object.fields, 'spec', 'priorityClassName') ?? []).flatMap(([name, whom]) =>
      classes.has(name)
        ? []
        : [`there is no PriorityClass ${name} in the input: without it the API server refuses ${whom}; its priority counts as 0`],
    ),
    ...byText(made, ({ pod }) => pod.claims.map((name) => `${pod.namespace}/${name}`)).flatMap(([key, whom]) =>
      claims.has(key) || !wereClaimsRead ? [] : [`there is no claim ${key} in the input: without it the scheduler gives ${whom} no node`],
    ),
  ];
  return lacking.map((text) => ({ kind: 'bad-input', text }));
}

const CLAIM = 'PersistentVolumeClaim';

function unreadable(made: readonly MadePod[]): readonly Note[] {
  return byText(made, ({ pod }) => pod.problems).map(([problem, whom]) => ({ kind: 'bad-input', text: `${whom}: ${problem}` }));
}

/** Each text once, with the pods that have it. */
function byText(made: readonly MadePod[], textsOf: (each: MadePod) => string | readonly string[]): readonly (readonly [string, string])[] {
  const found = new Map<string, string[]>();
  for (const each of made) {
    for (const text of [textsOf(each)].flat()) {
      const whom = found.get(text);
      if (whom === undefined) found.set(text, [each.pod.key]);
      else whom.push(each.pod.key);
    }
  }
  return [...found].map(([text, whom]) => [text, someOf(whom)]);
}
