import { eventually } from '../cluster/wait.ts';
import { act, endDeleted, type Subject } from './actions.ts';
import { type Difference, differences } from './differences.ts';
import { FIXES, type FixName } from './fixes.ts';
import type { BesideJob } from './jobs.ts';
import type { Play, State } from './plays.ts';
import { jobPath, type Side, type Snapshot, snapshot } from './snapshot.ts';

/** v1, and this operator. */
export interface Sides {
  readonly v1: Side;
  readonly ours: Side;
}

/** What both made of a step. */
export interface Seen {
  readonly does: string;
  readonly v1: string;
  readonly ours: string;
  /** What no fix explains; empty: all is equal or explained. */
  readonly unexplained: readonly Difference[];
  /** The fixes that explain a difference. */
  readonly used: readonly FixName[];
}

/** Gives the same manifest to both. */
export async function createJob({ v1, ours }: Sides, name: string, job: BesideJob): Promise<void> {
  const { kind, metadata, spec } = job;
  for (const side of [v1, ours]) {
    const path = jobPath(side, kind, '').slice(0, -1);
    await side.cluster.api.create(path, { apiVersion: 'kubeflow.org/v1', kind, metadata: { ...metadata, name }, spec });
  }
}

/** The conditions of a new job; none, where another operator manages it. */
export function firstConditions({ spec }: BesideJob): string {
  const { suspend = false, managedBy = '' } = (spec['runPolicy'] ?? {}) as { readonly suspend?: boolean; readonly managedBy?: string };
  if (managedBy.includes('multikueue')) return '';
  return suspend ? 'Created Suspended' : 'Created';
}

/** Lets a play happen under both, step by step; what stays unexplained ends it. */
export async function perform(sides: Sides, name: string, { job, steps }: Play): Promise<readonly Seen[]> {
  await createJob(sides, name, job);
  const subject = { kind: job.kind, name };
  const both = [sides.v1, sides.ours];
  const seen: Seen[] = [];
  for (const [does, wanted, ...fixes] of [[['nothing'], firstConditions(job)] as const, ...steps]) {
    await Promise.all(both.map((side) => act(side, subject, does)));
    const held = does[0] === 'delete' ? does[1] : null;
    const kubelets = async (): Promise<void> => {
      await Promise.all(both.map((side) => endDeleted(side, subject, held)));
      if (does[0] === 'run' && does.length === 1) await Promise.all(both.map((side) => act(side, subject, does)));
    };
    const found = await whenAlike(sides, subject, { wanted, fixes, kubelets });
    seen.push({ does: does.join(' '), ...found });
    if (found.unexplained.length > 0) break;
  }
  return seen;
}

interface Awaited {
  /** Null: whatever it is. */
  readonly wanted: State | null;
  readonly fixes: readonly FixName[];
  /** What kubelets do meanwhile. */
  readonly kubelets?: () => Promise<void>;
}

/** The policy of gang pods is compared with the manifests; v1 drops selectors by chance. */
const ANYWHERE: readonly FixName[] = ['in place', 'selector'];
const PAUSE_MS = 400;
const NONE = { v1: 'nothing', ours: 'nothing', unexplained: [], used: [] };

/** Waits until both have come to the same, or to what the fixes explain; gives up after a while. */
export async function whenAlike(sides: Sides, { kind, name }: Subject, { wanted, fixes, kubelets }: Awaited): Promise<Omit<Seen, 'does'>> {
  const states = typeof wanted === 'string' ? { v1: wanted, ours: wanted } : wanted;
  let found: Omit<Seen, 'does'> = NONE;
  const isAlike = async (): Promise<true | null> => {
    await kubelets?.();
    const [v1 = null, ours = null] = await Promise.all([sides.v1, sides.ours].map((side) => snapshot(side, kind, name)));
    found = { ...judge(v1, ours, fixes), v1: stateOf(v1), ours: stateOf(ours) };
    if (states !== null && (states.v1 !== found.v1 || states.ours !== found.ours))
      found = { ...found, unexplained: [{ path: 'the expected conditions', v1: states.v1, ours: states.ours }, ...found.unexplained] };
    return found.unexplained.length === 0 && fixes.every((fix) => found.used.includes(fix)) ? true : null;
  };
  await eventually(`${name} to be alike`, isAlike, { pauseMs: PAUSE_MS }).catch(() => null);
  const unused = fixes
    .filter((fix) => !found.used.includes(fix))
    .map((fix) => ({ path: `the fix "${fix}"`, v1: 'a difference', ours: 'none' }));
  return { ...found, unexplained: [...found.unexplained, ...unused] };
}

/** `Created !Running Succeeded`, or `gone`. */
function stateOf(job: Snapshot | null): string {
  if (job === null) return 'gone';
  return job.conditions.map(({ type, status }) => `${status === 'True' ? '' : '!'}${String(type)}`).join(' ');
}

function judge(v1: Snapshot | null, ours: Snapshot | null, fixes: readonly FixName[]): Pick<Seen, 'unexplained' | 'used'> {
  if (v1 === null || ours === null) return { unexplained: [], used: v1 === ours ? [] : fixes };
  const found = differences(v1, ours);
  const isExplained = ({ path }: Difference, fix: FixName): boolean => FIXES[fix].explains.some((place) => place.test(path));
  const unexplained = found.filter((each) => ![...fixes, ...ANYWHERE].some((fix) => isExplained(each, fix)));
  return { unexplained, used: fixes.filter((fix) => found.some((each) => isExplained(each, fix))) };
}
