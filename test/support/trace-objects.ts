import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { objectOf, type KubeObject } from '../../src/kube/objects/object.ts';
import { ROOT } from './run-process.ts';

const FOLDER = join(ROOT, 'test/kubernetes/traces');

/** What the plays of a scenario on a real cluster had in common, with its manifests. */
export interface RecordedTrace {
  readonly name: string;
  readonly always: readonly string[];
  readonly sometimes: readonly string[];
  readonly manifests: readonly Manifest[];
}

interface Manifest {
  readonly kind: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** All stored traces. */
export function recordedTraces(): readonly RecordedTrace[] {
  return readdirSync(join(FOLDER, 'recorded'))
    .map((file) => file.replace(/\.json$/, ''))
    .map((name) => {
      const { always, sometimes } = JSON.parse(readFileSync(join(FOLDER, 'recorded', `${name}.json`), 'utf8')) as RecordedTrace;
      const { objects } = parse(readFileSync(join(FOLDER, 'scenarios', `${name}.yaml`), 'utf8')) as {
        readonly objects?: readonly Manifest[];
      };
      return { name, always, sometimes, manifests: objects ?? [] };
    });
}

/** The pods of a trace by their roles, as `pod 1`, with the ways in which they ended. */
export function podsOf({ always, sometimes }: RecordedTrace): readonly string[] {
  const roles = [...always, ...sometimes].flatMap(
    (text) => /^(pod [\d.]+): (?:exit|reason|terminating|condition DisruptionTarget)/.exec(text)?.[1] ?? [],
  );
  return [...new Set(roles)].sort();
}

/** The facts about a pod from one play. */
export interface Way {
  /**
   * The kubelet has deleted the pod a second time, without grace, after its containers ended. A
   * finalizer keeps it.
   */
  readonly isFinal: boolean;
  readonly exit: { readonly code: number; readonly reason: string } | null;
  readonly disruption: string | null;
  readonly hasReason: boolean;
}

/**
 * The ways in which the plays saw the pod end: each exit, with and without the condition if both
 * occurred.
 */
export function waysOf(trace: RecordedTrace, role: string): readonly Way[] {
  const own = factsOf(trace, role);
  const exits = own.flatMap(({ text }) => {
    const [, code, reason = ''] = /^exit (\d+) (\S+)$/.exec(text) ?? [];
    return code === undefined ? [] : [{ code: Number(code), reason }];
  });
  const disruption = own.find(({ text }) => text.startsWith('condition DisruptionTarget/'));
  const conditions = disruption === undefined ? [null] : disruption.isAlways ? [disruption.text] : [disruption.text, null];
  const isReasonSure = own.some(({ text, isAlways }) => isAlways && text.startsWith('reason '));
  return (exits.length === 0 ? [null] : exits)
    .flatMap((exit) =>
      conditions.flatMap((text) =>
        FINAL.map((isFinal) => ({
          isFinal,
          exit,
          disruption: text?.split('/')[1] ?? null,
          // A pod that succeeds shows no reason.
          hasReason: isReasonSure || exit?.code !== 0,
        })),
      ),
    )
    .filter(({ isFinal, exit }) => !isFinal || (exit !== null && own.some(({ text }) => text === 'terminating')));
}

/**
 * The messages of one play's objects. Traces keep only reasons, so these are the kubelet's texts
 * for them.
 */
export interface Words {
  readonly eviction: string;
}

const ENDING = new Set(['Killing', 'Evicted', 'Preempting', 'Preempted', 'TaintManagerEviction']);
const FINAL = [false, true];
const START_MS = Date.UTC(2026, 10, 18, 9, 0, 0);
const GRACE_SECONDS = 30;
const iso = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString().replace('.000', '');

/** The objects of one play at its end, as `kubectl get -o json` shows them. */
export function objectsOf(trace: RecordedTrace, role: string, way: Way, words: Words): readonly KubeObject[] {
  const all = [...trace.always, ...trace.sometimes];
  const facts = textsOf(trace, role);
  const isAbout = isTouched(facts) || !podsOf(trace).some((other) => isTouched(textsOf(trace, other)));
  const isTold = way.disruption !== null || way.exit === null || (isAbout && all.includes('event Pod Killing'));
  const isOfJob = all.some((text) => text.startsWith('job 1: '));
  const job = trace.manifests.find(({ kind }) => kind === 'Job' || kind === 'CronJob') ?? (isOfJob ? { kind: 'Job', spec: {} } : undefined);
  const play: Play = { facts, way, words, isTold, isDeleted: facts.includes('terminating') };
  const pod = {
    kind: 'Pod',
    metadata: metadataOf(play, job),
    spec: { nodeName: 'node-1', ...templateOf(trace, job) },
    status: statusOf(play),
  };
  const others = [...jobObjects(trace, job), ...nodeObjects(trace), ...eventObjects(trace, words, isAbout)];
  return [pod, ...others].flatMap((value) => objectOf(value) ?? []);
}

/** The facts about a pod in one play. */
interface Play {
  readonly facts: readonly string[];
  readonly way: Way;
  readonly words: Words;
  /** Whether it got SIGTERM instead of ending by itself. */
  readonly isTold: boolean;
  readonly isDeleted: boolean;
}

function metadataOf({ way, isTold, isDeleted }: Play, job: Manifest | undefined): object {
  const asked = { deletionTimestamp: iso(60 + GRACE_SECONDS), deletionGracePeriodSeconds: GRACE_SECONDS };
  const deleted = isTold && !way.isFinal ? asked : { deletionTimestamp: iso(120), deletionGracePeriodSeconds: 0 };
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid: 'job-1', controller: true };
  return {
    name: 'victim',
    namespace: 'play',
    uid: 'victim-1',
    generation: isDeleted ? 2 : 1,
    creationTimestamp: iso(0),
    ...(isDeleted ? deleted : {}),
    ...(job === undefined ? {} : { ownerReferences: [owner] }),
  };
}

function statusOf({ facts, way, words, isTold, isDeleted }: Play): object {
  const shown = facts.find((text) => text.startsWith('reason '))?.slice('reason '.length);
  const reason = way.hasReason ? shown : undefined;
  const message = messageFor(reason ?? way.disruption ?? '', words);
  const disruption = { type: 'DisruptionTarget', status: 'True', reason: way.disruption, message, lastTransitionTime: iso(60) };
  const isRejected = reason === 'Evicted' && way.exit === null && !facts.includes('ready');
  return {
    phase: phaseOf(facts, way),
    startTime: iso(1),
    ...(reason === undefined ? {} : { reason, message }),
    conditions: [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: iso(0) },
      { type: 'Ready', status: 'False', lastTransitionTime: iso(62) },
      { type: 'ContainersReady', status: 'False', lastTransitionTime: iso(62), observedGeneration: isDeleted && isTold ? 2 : 1 },
      ...(way.disruption === null ? [] : [disruption]),
    ],
    containerStatuses: isRejected ? [] : [containerOf(way, isTold)],
  };
}

function textsOf(trace: RecordedTrace, role: string): readonly string[] {
  return factsOf(trace, role).map(({ text }) => text);
}

function factsOf({ always, sometimes }: RecordedTrace, role: string): readonly { readonly text: string; readonly isAlways: boolean }[] {
  const own = (texts: readonly string[], isAlways: boolean) =>
    texts.filter((text) => text.startsWith(`${role}: `)).map((text) => ({ text: text.slice(role.length + 2), isAlways }));
  return [...own(always, true), ...own(sometimes, false)];
}

function messageFor(reason: string, { eviction }: Words): string | undefined {
  if (reason === 'Terminated') return 'Pod was terminated in response to imminent node shutdown.';
  if (reason === 'Preempting') return 'Pod was preempted by Kubelet to accommodate a critical pod.';
  if (reason === 'Evicted' || reason === 'TerminationByKubelet') return eviction;
  return {
    PreemptionByScheduler: 'default-scheduler: preempting to accommodate a higher priority pod',
    EvictionByEvictionAPI: 'Eviction API: evicting',
    DeletionByTaintManager: 'Taint manager: deleting due to NoExecute taint',
    DeletionByPodGC: 'PodGC: node no longer exists',
  }[reason];
}

function phaseOf(facts: readonly string[], { exit }: Way): string {
  if (exit === null) return facts.includes('phase Failed') ? 'Failed' : 'Running';
  // Pods of a deleted node are marked as failed, whatever they exit with.
  if (exit.code === 0 && facts.includes('phase Succeeded')) return 'Succeeded';
  return exit.code === 0 && !facts.includes('phase Failed') ? 'Running' : 'Failed';
}

function containerOf({ exit }: Way, isTold: boolean): unknown {
  const state =
    exit === null
      ? { running: { startedAt: iso(2) } }
      : { terminated: { exitCode: exit.code, reason: exit.reason, startedAt: iso(2), finishedAt: iso(isTold ? 62 : 58) } };
  return { name: 'trainer', restartCount: 0, state };
}

function templateOf(trace: RecordedTrace, job: Manifest | undefined): object {
  const spec = job?.spec as
    | {
        readonly template?: { readonly spec?: object };
        readonly jobTemplate?: { readonly spec: { readonly template: { readonly spec: object } } };
      }
    | undefined;
  const found = (spec?.template?.spec ??
    spec?.jobTemplate?.spec.template.spec ??
    trace.manifests.find(({ kind }) => kind === 'Pod')?.spec ??
    {}) as {
    readonly containers?: readonly object[];
  };
  return { ...found, containers: (found.containers ?? []).map((container) => ({ name: 'trainer', ...container })) };
}

function jobObjects({ always }: RecordedTrace, job: Manifest | undefined): readonly unknown[] {
  if (job === undefined) return [];
  const facts = always.filter((text) => text.startsWith('job 1: ')).map((text) => text.slice(7));
  // A deleted Job is gone before its pods are.
  const isGone = facts.includes('gone') && !facts.some((text) => text.startsWith('condition '));
  if (isGone) return [{ kind: 'Job', metadata: { name: 'another', namespace: 'play', uid: 'job-2' } }];
  const conditions = facts.flatMap((text) => {
    const [, type, reason] = /^condition (\w+)\/(\w+)$/.exec(text) ?? [];
    if (type === undefined) return [];
    const isResumed = type === 'Suspended' && facts.includes('resumed');
    return [{ type, status: isResumed ? 'False' : 'True', reason, lastTransitionTime: iso(isResumed ? 75 : 60) }];
  });
  const failed = Math.max(0, ...facts.flatMap((text) => /^failed (\d+)$/.exec(text)?.[1] ?? []).map(Number));
  return [
    {
      kind: 'Job',
      metadata: {
        name: 'job',
        namespace: 'play',
        uid: 'job-1',
        ...(facts.includes('terminating') && !facts.includes('condition Complete') ? { deletionTimestamp: iso(59) } : {}),
      },
      spec: { ...job.spec },
      status: { startTime: iso(0), failed, conditions },
    },
  ];
}

function nodeObjects({ always }: RecordedTrace): readonly unknown[] {
  const facts = always.filter((text) => text.startsWith('node 1: ')).map((text) => text.slice(8));
  if (facts.includes('gone')) return [{ kind: 'Node', metadata: { name: 'another' } }];
  const taints = facts.flatMap((text) => {
    const [, key, effect] = /^taint (.+):(\w+)$/.exec(text) ?? [];
    return key === undefined ? [] : [{ key, effect }];
  });
  const pressures = facts.flatMap((text) => /^pressure (\w+)$/.exec(text)?.[1] ?? []).map((type) => ({ type, status: 'True' }));
  return [
    {
      kind: 'Node',
      metadata: { name: 'node-1' },
      spec: { taints, unschedulable: facts.includes('unschedulable') },
      status: {
        conditions: [...pressures, { type: 'Ready', status: taints.some(({ key }) => key.endsWith('/unreachable')) ? 'Unknown' : 'True' }],
      },
    },
  ];
}

/** Whether the pod shows that it was disrupted. */
function isTouched(facts: readonly string[]): boolean {
  return facts.some((text) => /^(terminating|reason |condition DisruptionTarget)/.test(text));
}

/** Messages about the start of a pod come before messages about its end. */
function saidAt(kind: string | undefined, reason: string): number {
  return kind === 'Pod' && !ENDING.has(reason) ? 1 : 60;
}

/**
 * Traces name only the kind of an event's object. Events that end pods are taken to be about the
 * pod that shows the end.
 */
function eventObjects({ always }: RecordedTrace, words: Words, isAbout: boolean): readonly unknown[] {
  return always.flatMap((text, index) => {
    const [, kind, reason = ''] = /^event (\w+) (\w+)$/.exec(text) ?? [];
    const name = { Pod: 'victim', Job: 'job', Node: 'node-1' }[kind ?? ''];
    if (name === undefined || (kind === 'Pod' && !isAbout && ENDING.has(reason))) return [];
    const message =
      reason === 'Evicted'
        ? words.eviction
        : reason === 'Killing'
          ? 'Stopping container trainer'
          : reason === 'Preempting'
            ? 'Preempted in order to admit critical pod'
            : '';
    return [
      {
        kind: 'Event',
        metadata: { name: `event-${index}`, namespace: 'play', creationTimestamp: iso(saidAt(kind, reason)) },
        involvedObject: { kind, name, ...(kind === 'Node' ? {} : { namespace: 'play' }) },
        reason,
        message,
      },
    ];
  });
}
