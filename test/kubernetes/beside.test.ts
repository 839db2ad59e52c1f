import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sliceOfCommit } from '../support/slice.ts';
import { createPlayedNode, PATIENT } from './beside/actions.ts';
import { definedFields, setFields } from './beside/covered-fields.ts';
import { BESIDE_JOBS } from './beside/jobs.ts';
import { isRecorded, jobRow, playRow, writePage } from './beside/page.ts';
import { createJob, firstConditions, perform, type Sides, whenAlike } from './beside/perform.ts';
import { PLAYS } from './beside/plays.ts';
import { applyPodGroups, GANG_SCHEDULERS, GROUPED_JOBS } from './beside/pod-groups.ts';
import { podGroupOf, snapshot } from './beside/snapshot.ts';
import { applyV1Kinds, findV1, startV1 } from './beside/v1-process.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNotBuilt } from './cluster/facility.ts';
import { eventually } from './cluster/wait.ts';
import { defineTrainingRuns, type OperatorProcess, runOperator } from './scenario/operator-process.ts';
import type { SideProcess } from './scenario/side-process.ts';

const v1 = whyNotBuilt() === null ? findV1() : { reason: whyNotBuilt() ?? '' };
const reason = 'reason' in v1 ? v1.reason : null;
const folder = 'folder' in v1 ? v1.folder : '';
const isRecording = process.env['UPDATE_DOCS'] === '1';
const INIT_IMAGE = 'registry.example.com/wait:1';
async function createNamespace({ api }: Cluster, name: string): Promise<void> {
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}

/** Keeps a row for the page, which must have it already unless it is being recorded. */
function keep(rows: Map<string, string>, title: string, row: string): void {
  rows.set(title, row);
  if (!isRecording) expect(isRecorded(row) ? row : `the recorded page lacks ${row}`).toBe(row);
}

/** How many of each table CI plays. */
const [SOME_JOBS, SOME_PLAYS] = [10, 8];
const KINDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

describe.skipIf(reason !== null)(`beside the Training Operator v1${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let before: SideProcess;
  let after: OperatorProcess;
  let sides: Sides;
  const rows = { jobs: new Map<string, string>(), plays: new Map<string, string>() };

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [], controllerManager: PATIENT });
    await applyV1Kinds(cluster, folder);
    await defineTrainingRuns(cluster);
    await createPlayedNode({ cluster });
    await applyPodGroups(cluster, folder);
    for (const name of ['before', 'after']) await createNamespace(cluster, name);
    const limits = ['--kube-api-qps=200', '--kube-api-burst=400', '--controller-threads=4'];
    before = await startV1(cluster, folder, { namespace: 'before', initImage: INIT_IMAGE, more: limits });
    after = runOperator(cluster, ['--watch-namespace=after', `--pytorch-init-container-image=${INIT_IMAGE}`]);
    sides = { v1: { cluster, namespace: 'before' }, ours: { cluster, namespace: 'after' } };
  });
  afterAll(async () => {
    await after?.end();
    await before?.[Symbol.asyncDispose]();
    const { version } = cluster;
    await cluster[Symbol.asyncDispose]();
    const recorded = (kept: ReadonlyMap<string, string>, all: object): readonly string[] =>
      Object.keys(all).flatMap((title) => kept.get(title) ?? []);
    const [jobs, plays] = [recorded(rows.jobs, BESIDE_JOBS), recorded(rows.plays, PLAYS)];
    const isAll = jobs.length === Object.keys(BESIDE_JOBS).length && plays.length === Object.keys(PLAYS).length;
    if (isRecording && isAll) writePage({ kubernetes: version, fields: fields.size, jobs, plays });
  });

  const fields = new Set(Object.values(BESIDE_JOBS).flatMap((job) => setFields(job).map((field) => `${job.kind} ${field}`)));

  it.each(['PyTorchJob', 'TFJob'])('sets every field of a %s that v1 defines', async (kind) => {
    const defined = definedFields(await cluster.api.get(`${KINDS}/${kind.toLowerCase()}s.kubeflow.org`));
    expect(defined.length).toBeGreaterThan(10);
    expect(defined.filter((field) => !fields.has(`${kind} ${field}`))).toEqual([]);
  });

  const someJobs = sliceOfCommit(Object.keys(BESIDE_JOBS), SOME_JOBS);
  it.concurrent.each(Object.entries(BESIDE_JOBS).filter(([title]) => someJobs.has(title)))(
    '%s gets the same pods and Services',
    async (title, job) => {
      const name = `job-${Object.keys(BESIDE_JOBS).indexOf(title)}`;
      await createJob(sides, name, job);
      const found = await whenAlike(sides, { kind: job.kind, name }, { wanted: firstConditions(job), fixes: job.fixes ?? [] });
      expect(found.unexplained).toEqual([]);
      const made = await snapshot(sides.ours, job.kind, name);
      const [pods, services] = [made?.pods ?? {}, made?.services ?? {}].map((objects) => Object.keys(objects).length);
      keep(rows.jobs, title, jobRow({ title, pods: pods ?? 0, services: services ?? 0, used: found.used }));
    },
  );

  const somePlays = sliceOfCommit(Object.keys(PLAYS), SOME_PLAYS);
  it.concurrent.each(Object.entries(PLAYS).filter(([title]) => somePlays.has(title)))(
    '%s, with the same conditions',
    async (title, play) => {
      const seen = await perform(sides, `play-${Object.keys(PLAYS).indexOf(title)}`, play);
      expect(seen.filter(({ unexplained }) => unexplained.length > 0)).toEqual([]);
      expect(seen).toHaveLength(play.steps.length + 1);
      keep(rows.plays, title, playRow(title, seen));
    },
  );

  describe.each(GANG_SCHEDULERS)('with $name', ({ name: scheduler, api }) => {
    it('makes the same PodGroups, and the same pods for them', async () => {
      const namespaces = ['before', 'after'].map((word) => `${word}-${scheduler}`);
      for (const name of namespaces) await createNamespace(cluster, name);
      const [older = '', newer = ''] = namespaces;
      const flag = `--gang-scheduler-name=${scheduler}`;
      const ports = ['--metrics-bind-address=:0', '--health-probe-bind-address=:0', '--webhook-server-port=9444'];
      await using _v1 = await startV1(cluster, folder, { namespace: older, initImage: INIT_IMAGE, more: [flag, ...ports] });
      await using _ours = runOperator(cluster, [`--watch-namespace=${newer}`, `--pytorch-init-container-image=${INIT_IMAGE}`, flag]);
      const both = { v1: { cluster, namespace: older }, ours: { cluster, namespace: newer } };
      for (const [index, [title, job]] of GROUPED_JOBS.entries()) {
        const name = `grouped-${index}`;
        await createJob(both, name, job);
        const groups = async (): Promise<readonly unknown[]> =>
          Promise.all([both.v1, both.ours].map((side) => podGroupOf(side, api, name)));
        await eventually(`the groups of ${title}`, async () => ((await groups()).every((group) => group !== null) ? true : null));
        const [one, other] = await groups();
        expect({ title, group: other }).toEqual({ title, group: one });
        for (const { namespace } of Object.values(both)) {
          const status = { phase: 'Inqueue' };
          await cluster.api.patch(`/apis/${api}/namespaces/${namespace}/podgroups/${name}/status`, { status });
        }
        const found = await whenAlike(both, { kind: job.kind, name }, { wanted: 'Created', fixes: job.fixes ?? [] });
        expect(found.unexplained).toEqual([]);
      }
    });
  });

  it('ends calmly when it is told to, as at a roll-out', async () => {
    expect(await after.end()).toBe(0);
    expect(after.said()).not.toContain('TERMINATED');
  });
});
