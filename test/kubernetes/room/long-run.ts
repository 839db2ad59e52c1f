import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrap } from '../../../src/cli/output/table.ts';
import { ROOT } from '../../support/run-process.ts';
import { startCluster } from '../cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from '../cluster/facility.ts';
import { installTorch } from '../cluster/torch.ts';
import { CLASSES } from '../foretold/small-cluster.ts';
import { EXAMPLES, provideRuns } from '../scenario/example.ts';
import { OPERATOR_IMAGE, startOperator } from '../scenario/operator-process.ts';
import { tellingState } from '../scenario/state.ts';
import { findTorch } from '../scenario/torch-environment.ts';
import { GRACE_SECONDS, NODE_GPUS, STEP_SECONDS } from './gangs.ts';
import { PLAYS, type Play } from './plays.ts';
import { type Manner, playRound, type Round } from './round.ts';

/**
 * Lets the same inference pod come to three gangs, with ordinary preemption and with making room.
 * Writes the tables between the marks of the page.
 */
const PAGE = join(ROOT, 'docs/preemption.md');
const [START, END] = ['<!-- Written by `npm run room:record`. -->', '<!-- End of what `npm run room:record` writes. -->'];
const COLUMNS = 100;
const WORDS: Readonly<Record<Manner, string>> = { ordinary: 'ordinary preemption', room: 'making room' };

const whyNot = whyNoNamespaces() ?? (await buildFacility()) ?? (await installTorch());
const environment = findTorch();
if (whyNot !== null || environment === null) throw new Error(whyNot ?? 'torch is not where it was installed');
const nodes = new Set(PLAYS.flatMap(({ gangs }) => gangs.flatMap((gang) => gang.nodes)));
const node = { diskMiB: 1500, resources: { 'nvidia.com/gpu': NODE_GPUS } };
await using cluster = await startCluster({ nodes: [...nodes].map(() => node), images: [OPERATOR_IMAGE] });
await provideRuns(cluster);
await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
for (const [name, value, preemptionPolicy] of CLASSES)
  await cluster.api.create('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value, preemptionPolicy });
await using operator = await startOperator(cluster);
const tables: string[] = [];
try {
  for (const play of PLAYS) {
    const rounds: Round[] = [];
    for (const manner of ['ordinary', 'room'] as const) {
      const round = await tellingState(cluster, () => playRound(cluster, play, manner, environment));
      rounds.push(round);
      console.log(JSON.stringify(round));
    }
    tables.push(table(play, rounds));
  }
} catch (thrown) {
  console.error(operator.said());
  throw thrown;
}
const text = readFileSync(PAGE, 'utf8');
const [before, after] = [text.slice(0, text.indexOf(START)), text.slice(text.indexOf(END))];
const common = `A step takes ${STEP_SECONDS} s, and the grace is ${GRACE_SECONDS} s; Kubernetes ${cluster.version}.`;
writeFileSync(PAGE, `${before}${START}\n\n${[common, ...tables].join('\n\n')}\n\n${after}`);

function table({ about, gangs }: Play, rounds: readonly Round[]): string {
  const rows = rounds.map(({ manner, unsaved, left, lostSteps, lostGpuSeconds, waitSeconds }) =>
    [WORDS[manner], ...unsaved, left, lostSteps, lostGpuSeconds, waitSeconds.toFixed(1)].join(' | '),
  );
  const heads = gangs.map(({ name, saveSeconds, nodes: { length } }) => `${name} (${length * NODE_GPUS} GPUs, save ${saveSeconds} s)`);
  return `${wrap(about, COLUMNS).join('\n')}

| | ${heads.join(' | ')} | who left | steps lost | GPU-seconds lost | seconds until the pod ran |
|---|${'---:|'.repeat(gangs.length)}---|---:|---:|---:|
${rows.map((row) => `| ${row} |`).join('\n')}`;
}
