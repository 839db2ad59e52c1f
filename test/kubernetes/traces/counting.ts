import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import { pageWith } from '../scenario/notes.ts';
import type { Trace } from './reduce.ts';
import { readScenario } from './scenario.ts';
import { storedTrace } from './store.ts';

const PAGE = join(ROOT, 'docs/kubernetes-notes.md');
const TRACES = '../test/kubernetes/traces/recorded';

/**
 * A scenario; the number of its Job if it has two; the number of the Job's next pod if that does
 * not follow directly.
 */
type Seen = readonly [scenario: string, job?: number, next?: number];

interface Row {
  readonly pod: string;
  readonly exitsWith: string;
  readonly plain: Seen;
  readonly policy: Seen;
}

/** Every way in which a pod can end, each with the traces that show it. */
export const ROWS: readonly Row[] = [
  { pod: 'is deleted', exitsWith: '0, a while later', plain: ['job-delete-exit-0'], policy: ['job-delete-exit-0-policy'] },
  { pod: 'is deleted', exitsWith: '0, at once', plain: ['job-delete-exit-0-at-once'], policy: ['job-delete-exit-0-at-once-policy'] },
  { pod: 'is deleted', exitsWith: '7', plain: ['job-delete-exit-7'], policy: ['job-delete-exit-7-policy'] },
  {
    pod: 'is deleted with a grace of 2 s',
    exitsWith: '137: it does not hear SIGTERM, and is killed',
    plain: ['job-delete-short-grace'],
    policy: ['job-delete-short-grace', 2],
  },
  { pod: 'is deleted by force', exitsWith: '0', plain: ['job-force-exit-0'], policy: ['job-force-exit-0-policy'] },
  { pod: 'is deleted by force', exitsWith: '7', plain: ['job-force-exit-7'], policy: ['job-force-exit-7-policy'] },
  {
    pod: 'is evicted through the API, as by a drain',
    exitsWith: '0, a while later',
    plain: ['job-evict-exit-0'],
    policy: ['job-evict-exit-0-policy'],
  },
  {
    pod: 'is evicted through the API, as by a drain',
    exitsWith: '0, at once',
    plain: ['kubectl-drain-budget'],
    policy: ['job-evict-exit-0-at-once-policy'],
  },
  { pod: 'is evicted through the API, as by a drain', exitsWith: '7', plain: ['job-evict-exit-7'], policy: ['job-evict-exit-7-policy'] },
  {
    pod: 'is evicted through the API, as by a drain',
    exitsWith: '137: it does not hear SIGTERM, and is killed',
    plain: ['job-evict-killed'],
    policy: ['job-evict-killed-policy'],
  },
  { pod: 'is preempted by the scheduler', exitsWith: '0', plain: ['preemption-exit-0'], policy: ['preemption-exit-0', 2] },
  { pod: 'is preempted by the scheduler', exitsWith: '7', plain: ['preemption-no-policy'], policy: ['preemption', 1, 3] },
  {
    pod: 'is on a node that gets a taint with `NoExecute`',
    exitsWith: '0',
    plain: ['node-taint-exit-0'],
    policy: ['node-taint-exit-0', 2],
  },
  {
    pod: 'is on a node that gets a taint with `NoExecute`',
    exitsWith: '7',
    plain: ['node-taint-exit-7'],
    policy: ['node-taint-exit-7', 2],
  },
  {
    pod: 'makes room for a critical pod (kubelet)',
    exitsWith: '0',
    plain: ['node-critical-pod-exit-0'],
    policy: ['node-critical-pod-exit-0', 2],
  },
  {
    pod: 'makes room for a critical pod (kubelet)',
    exitsWith: '7',
    plain: ['node-critical-pod-no-policy'],
    policy: ['node-critical-pod', 1, 3],
  },
  { pod: 'is on a machine that is shut down', exitsWith: '0', plain: ['node-shutdown-exit-0'], policy: ['node-shutdown-exit-0', 2] },
  { pod: 'is on a machine that is shut down', exitsWith: '7', plain: ['node-shutdown-no-policy'], policy: ['node-shutdown'] },
  {
    pod: 'is evicted for disk pressure',
    exitsWith: '0',
    plain: ['node-disk-pressure-exit-0'],
    policy: ['node-disk-pressure-exit-0', 2],
  },
  { pod: 'is evicted for disk pressure', exitsWith: '7', plain: ['node-disk-pressure-no-policy'], policy: ['node-disk-pressure'] },
  {
    pod: 'is evicted for memory pressure (soft)',
    exitsWith: '0',
    plain: ['node-memory-pressure-exit-0'],
    policy: ['node-memory-pressure-exit-0', 2],
  },
  {
    pod: 'is evicted for memory pressure (soft)',
    exitsWith: '7',
    plain: ['node-memory-pressure-exit-7'],
    policy: ['node-memory-pressure-exit-7', 2],
  },
  { pod: 'outgrows its `emptyDir`', exitsWith: '0', plain: ['job-empty-dir-no-policy'], policy: ['job-empty-dir'] },
  { pod: 'outgrows its `emptyDir`', exitsWith: '7', plain: ['job-empty-dir-exit-7'], policy: ['job-empty-dir-exit-7', 2] },
  {
    pod: 'outgrows its limit of ephemeral storage',
    exitsWith: '0',
    plain: ['node-ephemeral-storage-exit-0'],
    policy: ['node-ephemeral-storage-exit-0', 2],
  },
  {
    pod: 'outgrows its limit of ephemeral storage',
    exitsWith: '7',
    plain: ['node-ephemeral-storage-no-policy'],
    policy: ['node-ephemeral-storage'],
  },
  { pod: 'is refused by the kubelet', exitsWith: 'nothing: it never runs', plain: ['node-rejects-no-policy'], policy: ['node-rejects'] },
  { pod: 'uses too much memory', exitsWith: '137', plain: ['job-oom-no-policy'], policy: ['job-oom'] },
  { pod: 'fails by itself', exitsWith: '1', plain: ['job-crash-no-limit-left'], policy: ['job-crash-policy'] },
  { pod: 'is on a node that loses its power', exitsWith: 'nothing', plain: ['node-power-lost-no-policy'], policy: ['node-power-lost'] },
  {
    pod: 'is given up, and its kubelet comes back',
    exitsWith: '0',
    plain: ['node-kubelet-stopped-exit-0'],
    policy: ['node-kubelet-stopped-exit-0', 2],
  },
  {
    pod: 'is given up, and its kubelet comes back',
    exitsWith: '7',
    plain: ['node-kubelet-stopped-no-policy'],
    policy: ['node-kubelet-stopped'],
  },
  { pod: 'is on a node whose object is deleted', exitsWith: '0', plain: ['node-deleted-no-policy'], policy: ['node-deleted'] },
  {
    pod: 'is on a node whose object is deleted',
    exitsWith: '7',
    plain: ['node-deleted-exit-7'],
    policy: ['node-deleted-exit-7', 2],
  },
  { pod: 'belongs to a Job that is suspended', exitsWith: '0', plain: ['job-suspend'], policy: ['job-suspend-exit-0-policy'] },
  { pod: 'belongs to a Job that is suspended', exitsWith: '7', plain: ['job-suspend-exit-7'], policy: ['job-suspend-exit-7-policy'] },
];

export function readNotes(): string {
  return readFileSync(PAGE, 'utf8');
}

export function writeNotes(): void {
  writeFileSync(PAGE, notesWithCounting(readNotes()));
}

/** The notes, with the table of which exits count made from the stored traces. */
export function notesWithCounting(page: string): string {
  const lines = ROWS.map(({ pod, exitsWith, plain, policy }) => `| ${pod} | ${exitsWith} | ${cell(plain)} | ${cell(policy)} |`);
  const head = ['| the pod | exits with | a Job without policy | a Job that ignores disruptions |', '|---|---|---|---|'];
  return pageWith(page, 'which exits count', [...head, ...lines].join('\n'));
}

function cell([name, job = 1, next = job + 1]: Seen): string {
  const trace = storedTrace(name);
  if (trace === null) return `not recorded: ${name}`;
  const often = readScenario(name).chance === null ? '' : ` in all ${trace.plays} plays`;
  const verdict = verdictOf(trace, { job, next });
  return `${verdict}${verdict.endsWith('by chance') ? '' : often} ([trace](${TRACES}/${name}.json))`;
}

interface Asked {
  readonly job: number;
  /** The number of the pod that comes when the first does not count. */
  readonly next: number;
}

/** No Job ever did this: ignore its pod's end. */
export const FORGOTTEN = 'not counted, and no pod comes';

/** What a Job makes of its first pod, judged by the facts about the Job and its next pod. */
function verdictOf({ always, sometimes }: Pick<Trace, 'always' | 'sometimes'>, { job, next }: Asked): string {
  const often = (fact: string): 'always' | 'sometimes' | 'never' => {
    if (always.includes(fact)) return 'always';
    return sometimes.includes(fact) ? 'sometimes' : 'never';
  };
  const [succeeded, failed, replaced] = [`job ${job}: succeeded 1`, `job ${job}: failed 1`, `pod ${next}: phase Pending`].map(often);
  if (succeeded === 'always' && failed === 'always') return 'counted, and **complete** later';
  if (succeeded === 'always') return failed === 'never' ? '**complete**' : '**complete**, counted before that by chance';
  if (failed === 'always') return succeeded === 'never' ? 'counted' : 'counted, **complete** later by chance';
  if (succeeded === 'sometimes' && failed === 'sometimes') return '**complete** or counted, by chance';
  // A Job that does not count the end must start another pod, always, or in the plays in which it
  // did not count.
  if (replaced === 'never') return FORGOTTEN;
  if (succeeded === 'sometimes') return '**complete** or not counted, by chance';
  if (failed === 'sometimes') return 'counted or not counted, by chance';
  return replaced === 'always' ? 'not counted' : FORGOTTEN;
}
