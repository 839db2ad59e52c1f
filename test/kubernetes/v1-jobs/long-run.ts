import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import { applyV1Kinds, findV1, startV1 } from '../beside/v1-process.ts';
import { startCluster } from '../cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from '../cluster/facility.ts';
import { inParallel } from '../cluster/in-parallel.ts';
import { installTorch } from '../cluster/torch.ts';
import { EXAMPLES, provideRuns } from '../scenario/example.ts';
import { RECORDED_PLAYS } from '../scenario/gang-causes.ts';
import { torchGang } from '../scenario/torch-gang.ts';
import { whyNoPython } from '../scenario/host-trees.ts';
import { GRANTED_SECONDS } from '../scenario/kubelet-causes.ts';
import { pageWith, recordedOn, tableOn } from '../scenario/notes.ts';
import { OPERATOR_IMAGE } from '../scenario/operator-process.ts';
import { findTorch } from '../scenario/torch-environment.ts';
import { ONE_POD } from '../scenario/training-job.ts';
import { QUIET_MS } from './fate.ts';
import { playUnderV1, type V1Row } from './gang-under-v1.ts';

/**
 * Lets every cause of `npm run jobs:record` strike a PyTorchJob that the real Training Operator v1
 * runs, and writes what became of it into the page, row by row. With words as arguments it plays
 * only the causes with one of them in their title, and keeps the other rows.
 */
const PAGE = join(ROOT, 'docs/operator.md');
/** Gangs that are played side by side, on nodes of their own, with room for replacements. */
const LANES = 2;
const STEPS = '1000000';
/**
 * The control plane notices a lost node soon, and gives up its pods soon; by default that takes 40
 * seconds, and five minutes more.
 */
const TIMERS = { 'node-monitor-grace-period': '15s', 'node-eviction-rate': '10', 'unhealthy-zone-threshold': '1' };
const TOLERATIONS = { 'default-not-ready-toleration-seconds': '30', 'default-unreachable-toleration-seconds': '30' };

const whyNot = whyNoNamespaces() ?? whyNoPython() ?? (await buildFacility()) ?? (await installTorch());
if (whyNot !== null) throw new Error(whyNot);
const [torch, v1] = [findTorch(), findV1()];
if (torch === null) throw new Error('torch was installed and is not found');
if ('reason' in v1) throw new Error(v1.reason);
const words = process.argv.slice(2);
const all = RECORDED_PLAYS.flatMap(({ causes }) => causes);
const causes = all.filter(({ title }) => words.length === 0 || words.some((word) => title.includes(word)));

const node = { diskMiB: 2500, kubelet: ONE_POD, shutdownGraceSeconds: GRANTED_SECONDS };
const nodes = Array.from({ length: 3 * LANES }, () => node);
await using cluster = await startCluster({ nodes, images: [OPERATOR_IMAGE], controllerManager: TIMERS, apiServer: TOLERATIONS });
await provideRuns(cluster);
await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
await applyV1Kinds(cluster, v1.folder);
await using _operator = await startV1(cluster, v1.folder, { namespace: 'default', initImage: OPERATOR_IMAGE.name });
const on = await recordedOn(cluster);
const mark = `gang v1, cgroup v${on.cgroups}`;

await inParallel([...causes.entries()], LANES, async ([index, cause]) => {
  const manifest = torchGang({
    job: `gang-${index}`,
    environment: torch,
    steps: STEPS,
    resources: { limits: { memory: '2Gi', 'ephemeral-storage': '600Mi' } },
    annotations: {},
    env: { PYTHONPATH: join(ROOT, 'python') },
  });
  try {
    const row = await playUnderV1(cluster, cause, manifest);
    console.log(rowText(row));
    write(row);
  } catch (thrown) {
    console.error(`${cause.title}: ${String(thrown)}`);
    process.exitCode = 1;
  }
});

/** Replaces the row of a cause, or adds it; the rows have the order of the causes. */
function write(row: V1Row): void {
  const page = readFileSync(PAGE, 'utf8');
  const old = tableOn(page, mark).split('\n');
  const rows = all.flatMap(({ title }) => (title === row.title ? [rowText(row)] : old.filter((line) => line.startsWith(`| ${title} |`))));
  const table = [
    `Kubernetes ${on.version}, ${on.runtime.replace('://', ' ')}, cgroup v${on.cgroups}, on ${new Date().toISOString().slice(0, 10)}:`,
    '',
    '| what happened | the job | its master | its worker | seconds |',
    '|---|---|---|---|---:|',
    ...rows,
  ];
  writeFileSync(PAGE, pageWith(page, mark, table.join('\n')));
}

function rowText({ title, fate, stories, seconds, afterwards }: V1Row): string {
  const isForGood = fate === 'hangs' || fate === 'trains on';
  const said = afterwards === null ? `**${fate}**` : `**${fate}**; afterwards: ${afterwards}`;
  const time = isForGood ? `no change for ${QUIET_MS / 1000}` : seconds;
  return `| ${title} | ${said} | ${stories.master} | ${stories.worker} | ${time} |`;
}
