import type { Action } from './actions.ts';
import type { FixName } from './fixes.ts';
import { type BesideJob, gang, pytorch, role, servers, tf } from './jobs.ts';

/**
 * The conditions of a job in their order, a false one with an exclamation mark; `gone`: it is
 * deleted.
 */
export type State = string | { readonly v1: string; readonly ours: string };

/** What happens to one job under both operators, and what becomes of it each time. */
export interface Play {
  readonly job: BesideJob;
  readonly steps: readonly (readonly [Action, State, ...FixName[]])[];
}

const torch = (replicas: number, more = {}) => role('pytorch', replicas, more);
const tensor = (replicas: number, more = {}) => role('tensorflow', replicas, more);
const METRICS = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }];
const [RUNS, DONE, RESTARTS, FAILS] = ['Created Running', 'Created !Running Succeeded', 'Created Restarting', 'Created !Running Failed'];
/** v1 replaces one pod and says that the job runs, while a peer of it does. */
const LEFT_ALONE = { v1: RUNS, ours: RESTARTS };
const SUCCESS: Play['steps'] = [
  [['run'], RUNS],
  [['exit', 'worker-0', 0], RUNS],
  [['exit', 'master-0', 0], DONE],
];

/** Success, failure, suspension and resumption, scale and every limit, in jobs of both kinds. */
export const PLAYS: Readonly<Record<string, Play>> = {
  'a gang succeeds with its master': { job: gang(), steps: SUCCESS },
  'a gang succeeds, and keeps its pods': { job: gang({ cleanPodPolicy: 'None' }), steps: SUCCESS },
  'a gang succeeds, and the pods that run go': { job: gang({ cleanPodPolicy: 'Running' }), steps: SUCCESS },
  'a gang succeeds, and all pods go': { job: gang({ cleanPodPolicy: 'All' }), steps: SUCCESS },
  'workers alone succeed with the last of them': {
    job: pytorch({ Worker: torch(2) }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 0], RUNS],
      [['exit', 'worker-1', 0], DONE],
    ],
  },
  'elastic workers succeed with the first of them': {
    job: pytorch({ Worker: torch(2) }, { elasticPolicy: { minReplicas: 1 } }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-1', 0], DONE],
    ],
  },
  'a gang starts pod by pod': {
    job: gang(),
    steps: [
      [['run', 'master-0'], { v1: RUNS, ours: 'Created' }, 'running'],
      [['run'], RUNS],
    ],
  },
  'a gang with the annotation for v1’s Running starts pod by pod': {
    job: { ...gang(), metadata: { annotations: { 'holdfast.dev/running': 'v1' } } },
    steps: [
      [['run', 'worker-0'], 'Created'],
      [['run', 'master-0'], RUNS],
    ],
  },
  'a worker with OnFailure fails': {
    job: gang({}, { restartPolicy: 'OnFailure' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], LEFT_ALONE, 'gang'],
    ],
  },
  'a worker with ExitCode fails for good': {
    job: gang({}, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], FAILS, 'completion', 'words'],
    ],
  },
  'a worker with ExitCode is killed': {
    job: gang({}, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 137], LEFT_ALONE, 'gang'],
    ],
  },
  'a worker with Never fails, and the pods that run go': {
    job: gang({ cleanPodPolicy: 'Running' }, { restartPolicy: 'Never' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], FAILS, 'words'],
    ],
  },
  'a worker vanishes': {
    job: gang(),
    steps: [
      [['run'], RUNS],
      [['vanish', 'worker-0'], LEFT_ALONE, 'gang'],
      [['run'], RUNS],
    ],
  },
  'a worker with Never is deleted': {
    job: gang({}, { restartPolicy: 'Never' }),
    steps: [
      [['run'], RUNS],
      [['delete', 'worker-0'], { v1: FAILS, ours: RESTARTS }, 'deletion'],
    ],
  },
  'a gang is suspended, resumed, and succeeds': {
    job: gang(),
    steps: [
      [['run'], RUNS],
      [['suspend', true], 'Created !Running Suspended'],
      [['suspend', false], 'Created !Running !Suspended'],
      [['run'], 'Created !Suspended Running'],
      [['exit', 'master-0', 0], 'Created !Suspended !Running Succeeded'],
    ],
  },
  'a gang is created suspended, and resumed': {
    job: gang({ suspend: true }),
    steps: [
      [['nothing'], 'Created Suspended'],
      [['suspend', false], 'Created !Suspended'],
      [['run'], 'Created !Suspended Running'],
    ],
  },
  'a gang lives two seconds after its success': {
    job: gang({ ttlSecondsAfterFinished: 2 }),
    steps: [
      [['run'], RUNS],
      [['exit', 'master-0', 0], 'gone'],
    ],
  },
  'a gang lives two seconds after a permanent error': {
    job: gang({ ttlSecondsAfterFinished: 2 }, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], { v1: FAILS, ours: 'gone' }, 'completion'],
    ],
  },
  'a gang runs into its deadline': {
    job: gang({ cleanPodPolicy: 'All' }),
    steps: [
      [['run'], RUNS],
      [['deadline in', 3], { v1: RUNS, ours: FAILS }, 'deadline'],
      [['touch'], FAILS],
    ],
  },
  'an elastic job reaches its limit of restarts in place': {
    job: pytorch({ Worker: torch(2) }, { runPolicy: { backoffLimit: 1 }, elasticPolicy: { minReplicas: 1 } }),
    steps: [
      [['run'], RUNS],
      [['restart in place', 'worker-0', 1], FAILS],
    ],
  },
  'a gang without a budget fails': {
    job: gang({ backoffLimit: 0 }, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 137], FAILS, 'budget'],
    ],
  },
  'a gang fails once more than its limit': {
    job: gang({ backoffLimit: 1 }, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 137], LEFT_ALONE, 'gang'],
      [['run'], RUNS],
      [['exit', 'worker-0', 137], { v1: RUNS, ours: FAILS }, 'budget'],
    ],
  },
  'an elastic job is scaled, suspended, resumed, and succeeds': {
    job: pytorch({ Worker: torch(2) }, { elasticPolicy: { minReplicas: 1, maxReplicas: 3, metrics: METRICS } }),
    steps: [
      [['run'], RUNS],
      [['scale', 3], RUNS],
      [['run', 'worker-2'], RUNS],
      [['scale', 1], RUNS],
      [['suspend', true], 'Created !Running Suspended'],
      [['suspend', false], 'Created !Running !Suspended'],
      [['run'], 'Created !Suspended Running'],
      [['exit', 'worker-0', 0], 'Created !Suspended !Running Succeeded'],
    ],
  },
  'a TFJob succeeds with its chief': {
    job: servers(),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 0], RUNS],
      [['exit', 'chief-0', 0], DONE],
    ],
  },
  'a TFJob without a chief succeeds with its first worker': {
    job: tf({ PS: tensor(1), Worker: tensor(2) }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-1', 0], RUNS],
      [['exit', 'worker-0', 0], DONE],
    ],
  },
  'a TFJob succeeds with all its workers': {
    job: tf({ Worker: tensor(2) }, { successPolicy: 'AllWorkers' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 0], RUNS],
      [['exit', 'worker-1', 0], DONE],
    ],
  },
  'a worker of a TFJob with Never fails': {
    job: servers(),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], FAILS, 'words'],
    ],
  },
  'a worker of a TFJob with OnFailure fails': {
    job: servers({}, { restartPolicy: 'OnFailure' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], LEFT_ALONE, 'gang'],
    ],
  },
  'a worker of a TFJob with ExitCode fails for good': {
    job: servers({}, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 1], FAILS, 'words'],
    ],
  },
  'a worker of a TFJob with ExitCode is killed': {
    job: servers({}, { restartPolicy: 'ExitCode' }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 137], LEFT_ALONE, 'gang'],
    ],
  },
  'a worker of a TFJob with OnFailure is deleted': {
    job: servers({}, { restartPolicy: 'OnFailure' }),
    steps: [
      [['run'], RUNS],
      [['delete', 'worker-0'], { v1: FAILS, ours: RESTARTS }, 'deletion'],
    ],
  },
  'a dynamic worker with Never fails': {
    job: tf({ PS: tensor(1), Worker: tensor(2) }, { enableDynamicWorker: true }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-1', 1], RUNS],
      [['exit', 'worker-0', 0], DONE],
    ],
  },
  'an evaluator with Never fails': {
    job: tf({ Chief: tensor(1), Evaluator: tensor(1) }),
    steps: [
      [['run'], RUNS],
      [['exit', 'evaluator-0', 1], FAILS, 'words'],
    ],
  },
  'a TFJob is suspended and resumed': {
    job: servers(),
    steps: [
      [['run'], RUNS],
      [['suspend', true], 'Created !Running Suspended'],
      [['suspend', false], 'Created !Running !Suspended'],
      [['run'], 'Created !Suspended Running'],
    ],
  },
  'a TFJob lives a second after its success': {
    job: tf({ Worker: tensor(1) }, { runPolicy: { ttlSecondsAfterFinished: 1, cleanPodPolicy: 'All' } }),
    steps: [
      [['run'], RUNS],
      [['exit', 'worker-0', 0], 'gone'],
    ],
  },
};
