import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../support/run-command.ts';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { sharedFolder, withManifest } from './held-run.ts';
import { JOBS, PODS, podsOf, trueConditions } from './objects.ts';
import { lookedAt, patchedExample } from './patched-example.ts';
import type { Job } from './training-job.ts';

const NAME = 'many';
const INDEX = 'batch.kubernetes.io/job-completion-index';
const AT_ONCE = ['2', '3'];

export interface IndexedOutcome {
  readonly job: KubeObject;
  /** The exit codes of each index's pods, the oldest pod first. */
  readonly exitCodes: readonly (readonly number[])[];
  readonly starts: readonly number[];
  readonly result: string;
}

/** The published indexed Job, with folders that each run shares with the test. */
export function indexedJob(): Job {
  const example = patchedExample('indexed/stdlib.yaml') as Job;
  return { ...example, spec: lookedAt(example.spec, `${NAME}/$(JOB_COMPLETION_INDEX)`) };
}

/** Interrupts one of its runs, damages the checkpoints of another, and leaves the rest alone. */
export async function indexedRuns(cluster: Cluster): Promise<IndexedOutcome> {
  const shared = sharedFolder(cluster, NAME);
  await prepareRuns(shared);
  const use = async (): Promise<IndexedOutcome> => {
    const pod = await eventually('the run of index 0 to hold', () => holding(cluster));
    await cluster.api.remove(`${PODS}/${pod.metadata.name}`);
    await eventually(`the end of ${pod.metadata.name}`, async () => exitCodeOf(await cluster.api.get(`${PODS}/${pod.metadata.name}`)));
    writeFileSync(join(shared, '0/go'), '');
    const job = await eventually('the end of the Job', async () => {
      const found = await cluster.api.get(`${JOBS}/${NAME}`);
      return trueConditions(found).some(({ type }) => type === 'Complete' || type === 'Failed') ? found : null;
    });
    const pods = (await podsOf(cluster, NAME)).toSorted((a, b) => time(a) - time(b));
    const codes = (index: string): readonly number[] =>
      pods.filter(({ metadata }) => metadata.labels?.[INDEX] === index).flatMap((each) => exitCodeOf(each) ?? []);
    const starts = readFileSync(join(shared, '0/starts'), 'utf8').trim().split('\n').map(Number);
    return { job, exitCodes: ['0', '1', '2', '3'].map(codes), starts, result: readFileSync(join(shared, '0/result'), 'utf8').trim() };
  };
  return withManifest(cluster, { name: NAME, manifest: indexedJob(), shared }, use);
}

/**
 * Index 0 has no checkpoint. Index 1 has a sealed checkpoint that is damaged. The runs of later
 * indexes do not wait.
 */
async function prepareRuns(shared: string): Promise<void> {
  const checkpoint = join(shared, '1/run/step-5');
  for (const folder of [join(shared, '0'), checkpoint, ...AT_ONCE.map((index) => join(shared, index))])
    mkdirSync(folder, { recursive: true });
  for (const index of AT_ONCE) writeFileSync(join(shared, index, 'go'), '');
  writeFileSync(join(checkpoint, 'state'), 'everything');
  const { code, stderr } = await runCommand(['seal', '--accept=anything', checkpoint]);
  if (code !== 0) throw new Error(`not sealed: ${stderr}`);
  truncateSync(join(checkpoint, 'state'), 3);
  // The pods run as another user.
  execFileSync('chmod', ['-R', 'a+rwX', shared]);
}

async function holding(cluster: Cluster): Promise<KubeObject | null> {
  const pod = (await podsOf(cluster, NAME)).find(({ metadata }) => metadata.labels?.[INDEX] === '0');
  if (pod === undefined) return null;
  return (await cluster.api.text(`${PODS}/${pod.metadata.name}/log`))?.includes('holding\n') === true ? pod : null;
}

function exitCodeOf(pod: KubeObject | null): number | null {
  const code: unknown = pod?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
  return typeof code === 'number' ? code : null;
}

const time = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp ?? '');
