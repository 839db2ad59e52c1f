import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import { startCluster } from '../cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from '../cluster/facility.ts';
import { CLASSES } from '../foretold/small-cluster.ts';
import { EXAMPLES, provideRuns } from '../scenario/example.ts';
import { OPERATOR_IMAGE, startOperator } from '../scenario/operator-process.ts';
import { GRACE_SECONDS, NODE_GPUS, SAVE_SECONDS, STEP_SECONDS } from './gangs.ts';
import { GANGS, type Manner, playRound, type Round } from './round.ts';

/**
 * Lets the same inference pod come to three gangs, with ordinary preemption and with making room.
 * Writes the table between the marks of the page.
 */
const PAGE = join(ROOT, 'docs/preemption.md');
const [START, END] = ['<!-- Written by `npm run room:record`. -->', '<!-- End of what `npm run room:record` writes. -->'];

const whyNot = whyNoNamespaces() ?? (await buildFacility());
if (whyNot !== null) throw new Error(whyNot);
const node = { diskMiB: 1500, resources: { 'nvidia.com/gpu': NODE_GPUS } };
await using cluster = await startCluster({ nodes: GANGS.map(() => node), images: [OPERATOR_IMAGE] });
await provideRuns(cluster);
await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
for (const [name, value, preemptionPolicy] of CLASSES)
  await cluster.api.create('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value, preemptionPolicy });
await using operator = await startOperator(cluster);
const rounds: Round[] = [];
try {
  // Of equal priorities the scheduler evicts the youngest, here the one with the most to lose.
  for (const manner of ['ordinary', 'room'] as const) {
    const round = await playRound(cluster, manner, 'stale');
    rounds.push(round);
    console.log(JSON.stringify(round));
    write(rounds);
  }
} catch (thrown) {
  console.error(operator.said());
  throw thrown;
}

/** The rounds so far stand between the marks. */
function write(all: readonly Round[]): void {
  const text = readFileSync(PAGE, 'utf8');
  const [before, after] = [text.slice(0, text.indexOf(START)), text.slice(text.indexOf(END))];
  writeFileSync(PAGE, `${before}${START}\n\n${table(all)}\n\n${after}`);
}

function table(all: readonly Round[]): string {
  const words: Readonly<Record<Manner, string>> = { ordinary: 'ordinary preemption', room: 'making room' };
  const rows = all.map(({ manner, youngest, unsaved, left, lostSteps, waitSeconds }) =>
    [words[manner], youngest, unsaved.join(', '), left.join(', '), lostSteps, waitSeconds.toFixed(1)].join(' | '),
  );
  return `A step takes ${STEP_SECONDS} s, a save ${SAVE_SECONDS} s, and the grace is ${GRACE_SECONDS} s; Kubernetes ${cluster.version}.

| | started last | unsaved steps of ${GANGS.map(({ name }) => name).join(', ')} | who left | steps lost | seconds until the pod ran |
|---|---|---|---|---:|---:|
${rows.map((row) => `| ${row} |`).join('\n')}`;
}
