import type { KubeObject } from '../cluster/api.ts';
import { timeTold } from './times.ts';

/** One change from a watch, with the object after it. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly object: KubeObject & { readonly reason?: string; readonly involvedObject?: { readonly kind: string; readonly name: string } };
  /** The revision of the whole store, which orders the changes of all objects. */
  readonly revision: number;
  readonly seconds: number;
}

export interface Fact {
  readonly text: string;
  readonly revision: number;
  /** When the watch reported it, in seconds from the start of the play. */
  readonly seconds: number;
  /** The object's own time for it, to the second, if it has one. */
  readonly told?: number | undefined;
}

/** Words that pods and Jobs can show. For these the trace also lists what never happened. */
const POD_REASONS = ['Evicted', 'Preempting', 'Terminated'];
const POD_VOCABULARY = [
  ...['phase Succeeded', 'phase Failed', 'terminating', 'condition DisruptionTarget'],
  ...POD_REASONS.map((reason) => `reason ${reason}`),
];
const JOB_CONDITIONS = ['Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet', 'Suspended'];
const JOB_VOCABULARY = [...JOB_CONDITIONS.map((type) => `condition ${type}`), 'failed 1', 'succeeded 1'];
const COUNTERS = ['active', 'ready', 'succeeded', 'failed', 'terminating'] as const;
const INDEX = 'batch.kubernetes.io/job-completion-index';
/** Five letters at the end, as for a Job's pod; or the minute, as for a CronJob's Job. */
const MADE_UP = /-([a-z0-9]{5}|\d{6,})$/;

const SHOWN_BY: Readonly<Record<string, (object: KubeObject) => readonly string[]>> = {
  Pod: podFacts,
  Job: jobFacts,
  CronJob: cronFacts,
  Node: nodeFacts,
};

/**
 * Gives every object a name that is the same in every play: `pod 1` was created first; `pod 2.1` is
 * the first pod of index 2 of an indexed Job.
 */
export class Roles {
  readonly #names = new Map<string, string>();
  readonly #objects = new Map<string, KubeObject>();
  readonly #counts = new Map<string, number>();

  roleOf(kind: string, object: KubeObject): string {
    const { uid } = object.metadata;
    const role = this.#names.get(uid) ?? this.#name(kind, object);
    this.#names.set(uid, role);
    this.#objects.set(role, object);
    return role;
  }

  objectOf(role: string): KubeObject {
    const found = this.#objects.get(role);
    if (found === undefined) throw new Error(`there is no ${role}`);
    return found;
  }

  get all(): readonly string[] {
    return [...this.#objects.keys()];
  }

  /** The generated names, which differ in every play, with our names for them. */
  get madeUp(): readonly (readonly [name: string, role: string])[] {
    const named = [...this.#objects].map(([role, { metadata }]) => [metadata.name, role] as const);
    return named.filter(([name]) => MADE_UP.test(name));
  }

  #name(kind: string, { metadata }: KubeObject): string {
    const word = kind.toLowerCase();
    const index = metadata.labels?.[INDEX];
    const series = index === undefined ? `${word} ` : `${word} ${index}.`;
    const count = (this.#counts.get(series) ?? 0) + 1;
    this.#counts.set(series, count);
    return `${series}${count}`;
  }
}

/** The facts that a change shows, in words. */
export function factsOf({ type, kind, object, revision, seconds }: Change, roles: Roles): readonly Fact[] {
  if (kind === 'Event') return [{ text: `event ${object.involvedObject?.kind} ${object.reason}`, revision, seconds }];
  const role = roles.roleOf(kind, object);
  const told = [
    ...(type === 'DELETED' ? ['gone'] : []),
    ...(object.metadata.deletionTimestamp === undefined ? [] : ['terminating']),
    ...(SHOWN_BY[kind]?.(object) ?? []),
  ];
  return told.map((text) => ({ text: `${role}: ${text}`, revision, seconds, told: timeTold(object, text) }));
}

/**
 * True for a fact that stays true, so that a look is never too late. A fact that passes, like
 * everything a node reports, may be over before it is reported.
 */
export function isLasting(text: string): boolean {
  if (text.startsWith('kubectl ')) return true;
  return (
    !text.startsWith('node ') &&
    /: (gone|resumed|terminating|phase (Succeeded|Failed)|(reason|condition|exit|completedIndexes|failedIndexes) .*)$/.test(text)
  );
}

/** The counter in a fact and its count, or null if the fact is no growing counter. */
export function growing(text: string): { readonly counter: string; readonly count: number } | null {
  const [, counter, count] = /^(.*: (?:failed|succeeded|restarted)) (\d+)$/.exec(text) ?? [];
  return counter === undefined ? null : { counter, count: Number(count) };
}

/** The highest count of each such counter. */
export function highestCounts(texts: readonly string[]): ReadonlyMap<string, number> {
  const highest = new Map<string, number>();
  for (const { counter, count } of texts.flatMap((text) => growing(text) ?? []))
    highest.set(counter, Math.max(count, highest.get(counter) ?? 0));
  return highest;
}

/** Every fact that these objects could show. */
export function vocabularyOf(roles: readonly string[]): readonly string[] {
  return roles.flatMap((role) => {
    if (role.startsWith('pod ')) return POD_VOCABULARY.map((text) => `${role}: ${text}`);
    return role.startsWith('job ') ? JOB_VOCABULARY.map((text) => `${role}: ${text}`) : [];
  });
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

function podFacts({ status }: KubeObject): readonly string[] {
  const {
    phase,
    reason,
    conditions = [],
    containerStatuses = [],
    nominatedNodeName,
  } = (status ?? {}) as {
    readonly phase?: string;
    readonly reason?: string;
    readonly nominatedNodeName?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly state?: { readonly terminated?: { readonly exitCode: number; readonly reason: string } };
    }[];
  };
  const ended = containerStatuses.flatMap(({ state }) => (state?.terminated === undefined ? [] : [state.terminated]));
  const isReady = conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  return [
    ...(phase === undefined ? [] : [`phase ${phase}`]),
    ...(reason === undefined ? [] : [`reason ${reason}`]),
    ...(isReady ? ['ready'] : []),
    ...(nominatedNodeName === undefined || nominatedNodeName === '' ? [] : ['nominated']),
    ...trueOnes(conditions.filter(({ type }) => type === 'DisruptionTarget')),
    ...ended.map(({ exitCode, reason: why }) => `exit ${exitCode} ${why}`),
    ...containerStatuses.filter(({ restartCount }) => restartCount > 0).map(({ restartCount }) => `restarted ${restartCount}`),
  ];
}

function jobFacts({ status }: KubeObject): readonly string[] {
  const { conditions = [], ...counts } = (status ?? {}) as Readonly<Record<string, number | string>> & {
    readonly conditions?: readonly Condition[];
  };
  const resumed = conditions.filter(({ type, status: is }) => type === 'Suspended' && is === 'False').map(() => 'resumed');
  return [
    ...trueOnes(conditions),
    ...resumed,
    ...COUNTERS.filter((name) => Number(counts[name] ?? 0) > 0).map((name) => `${name} ${counts[name]}`),
    ...(['completedIndexes', 'failedIndexes'] as const)
      .filter((name) => (counts[name] ?? '') !== '')
      .map((name) => `${name} ${counts[name]}`),
  ];
}

function cronFacts({ status }: KubeObject): readonly string[] {
  const active = (status?.active ?? []) as readonly unknown[];
  return active.length === 0 ? [] : [`active ${active.length}`];
}

function nodeFacts({ spec, status }: KubeObject): readonly string[] {
  const conditions = (status?.conditions ?? []) as readonly Condition[];
  const taints = (spec?.taints ?? []) as readonly { readonly key: string; readonly effect: string }[];
  const isReady = conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  return [
    isReady ? 'ready' : 'not ready',
    ...(spec?.unschedulable === true ? ['unschedulable'] : []),
    ...conditions.filter(({ type, status: is }) => type !== 'Ready' && is === 'True').map(({ type }) => `pressure ${type}`),
    ...taints.map(({ key, effect }) => `taint ${key}:${effect}`),
  ];
}

/** Conditions that are true, by type, and by type and reason. */
function trueOnes(conditions: readonly Condition[]): readonly string[] {
  return conditions
    .filter(({ status }) => status === 'True')
    .flatMap(({ type, reason = '' }) => [`condition ${type}`, ...(reason === '' ? [] : [`condition ${type}/${reason}`])]);
}
