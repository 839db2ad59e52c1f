import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { holdingPod, isOver, letGoOfAll, sharedFolder } from './held-run.ts';
import { JOBS, PODS, trueConditions } from './objects.ts';
import { type CronJob, lookedAt, patchedExample } from './patched-example.ts';

const CRON_JOBS = '/apis/batch/v1/namespaces/default/cronjobs';
const EVENTS = '/api/v1/namespaces/default/events';
/**
 * The controller counts from the last start. With an interval in seconds, a start becomes due
 * during a run without a wait of minutes.
 */
const SCHEDULE = '@every 20s';

export type Policy = 'Forbid' | 'Replace';

/** The result of a CronJob that was due again while its run trained. */
export interface CronOutcome {
  /** The pod that trained at that moment, as it was afterwards. */
  readonly first: KubeObject;
  /** How many Jobs the CronJob created in all. */
  readonly jobs: number;
  /** The final condition of the last Job. */
  readonly job: string;
  /** The step from which each start of the trainer continued. */
  readonly starts: readonly number[];
  readonly result: string;
}

/** The published CronJob with a schedule of seconds, and one run for all of its Jobs. */
export function cronJob(name: string, policy: Policy): CronJob {
  const example = patchedExample('cronjob/stdlib.yaml') as CronJob;
  const { jobTemplate } = example.spec;
  return {
    ...example,
    metadata: { name },
    spec: {
      ...example.spec,
      schedule: SCHEDULE,
      concurrencyPolicy: policy,
      jobTemplate: { ...jobTemplate, spec: lookedAt(jobTemplate.spec, name) },
    },
  };
}

/**
 * Makes a CronJob due again while its run waits, and lets the run continue when the CronJob has
 * applied its policy.
 */
export async function cronRun(cluster: Cluster, policy: Policy): Promise<CronOutcome> {
  const name = `cron-${policy.toLowerCase()}`;
  const shared = sharedFolder(cluster, name);
  const suspend = (isSuspended: boolean): Promise<unknown> => cluster.api.patch(`${CRON_JOBS}/${name}`, { spec: { suspend: isSuspended } });
  await cluster.api.create(CRON_JOBS, cronJob(name, policy));
  await eventually(`the first Job of ${name}`, () => jobsOf(cluster, name));
  await suspend(true);
  const [job, pod] = await eventually(`a pod of ${name} that holds`, () => holdingJob(cluster, name));
  // The controller makes up for the missed start at once.
  await suspend(false);
  if (policy === 'Forbid') await eventually(`${name} to leave its run alone`, () => wasLeftAlone(cluster, name));
  else await eventually(`the second Job of ${name}`, () => jobsOf(cluster, name, job));
  await suspend(true);
  const first = await eventually(`what became of ${pod.metadata.name}`, async () => {
    const found = await cluster.api.get(`${PODS}/${pod.metadata.name}`);
    return policy === 'Forbid' || (found !== null && isOver(found)) ? found : null;
  });
  writeFileSync(join(shared, 'go'), '');
  const [word, all] = await eventually(`the end of the Jobs of ${name}`, () => lastWord(cluster, name));
  for (const each of [...all, job]) await letGoOfAll(cluster, each.metadata.name);
  const numbers = readFileSync(join(shared, 'starts'), 'utf8').trim().split('\n').map(Number);
  return { first, jobs: all.length, job: word, starts: numbers, result: readFileSync(join(shared, 'result'), 'utf8').trim() };
}

/** The CronJob's present Jobs except one; null when there are none. */
async function jobsOf(cluster: Cluster, name: string, other?: KubeObject): Promise<readonly KubeObject[] | null> {
  const jobs = (await cluster.api.list(JOBS)).filter(({ metadata }) => metadata.name.startsWith(`${name}-`));
  const found = jobs.filter(({ metadata }) => metadata.uid !== other?.metadata.uid);
  return found.length > 0 ? found : null;
}

/** The Job whose pod waits at its step. A Job that was replaced earlier is not this one. */
async function holdingJob(cluster: Cluster, name: string): Promise<readonly [KubeObject, KubeObject] | null> {
  for (const job of (await jobsOf(cluster, name)) ?? []) {
    const pod = await holdingPod(cluster, job.metadata.name).catch(async (thrown: unknown) => {
      if ((await cluster.api.get(`${JOBS}/${job.metadata.name}`)) !== null) throw thrown;
      return null;
    });
    if (pod !== null) return [job, pod];
  }
  return null;
}

async function wasLeftAlone(cluster: Cluster, name: string): Promise<true | null> {
  const events = (await cluster.api.list(EVENTS)) as readonly (KubeObject & Readonly<Record<string, unknown>>)[];
  const isOf = (event: (typeof events)[number]): boolean => (event['involvedObject'] as { readonly name: string }).name === name;
  return events.some((event) => isOf(event) && event['reason'] === 'JobAlreadyActive') ? true : null;
}

/** Waits until all of its Jobs are over. */
async function lastWord(cluster: Cluster, name: string): Promise<readonly [string, readonly KubeObject[]] | null> {
  const jobs = (await jobsOf(cluster, name)) ?? [];
  const words = jobs.flatMap((job) => trueConditions(job).filter(({ type }) => type === 'Complete' || type === 'Failed'));
  return words.length === jobs.length && words[0] !== undefined ? [words[0].type, jobs] : null;
}
