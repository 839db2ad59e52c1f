import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { wrap } from '../../../src/cli/output/table.ts';
import { ROOT } from '../../support/run-process.ts';
import { buildFacility, whyNoNamespaces } from '../cluster/facility.ts';
import { type Played, playSmallCluster, startForSmallClusters } from './play.ts';
import { type Pressed, pressNode } from './pressed.ts';
import { drawSmallCluster, SEEDS } from './small-cluster.ts';

/**
 * Asks `whatif apply` in every small cluster, applies the same file, and writes the page. With
 * `--seed=7` it plays that one alone and writes nothing.
 */
const PAGE = join(ROOT, 'docs/proofs/foretold-evictions.md');
const COLUMNS = 100;

const { values } = parseArgs({ options: { seed: { type: 'string' } } });
const seeds = values.seed === undefined ? SEEDS : [Number(values.seed)];
const whyNot = whyNoNamespaces() ?? (await buildFacility());
if (whyNot !== null) throw new Error(whyNot);
await using cluster = await startForSmallClusters();
const started = performance.now();
const played: Played[] = [];
for (const seed of seeds) {
  const each = await playSmallCluster(cluster, drawSmallCluster(seed));
  played.push(each);
  console.log(`${seed}: ${each.verdict.kind}, ${each.evicted} evicted`);
  for (const fault of each.verdict.faults) console.error(`  ${fault}`);
}
let isPressedAsForetold = true;
if (values.seed === undefined) {
  const pressed = await pressNode(cluster);
  isPressedAsForetold = pressed.evicted.every((pod, index) => pod === pressed.foretold[index]);
  writeFileSync(PAGE, page(played, pressed));
}
process.exitCode = isPressedAsForetold && played.every(({ verdict }) => verdict.kind !== 'wrong') ? 0 : 1;

function page(all: readonly Played[], pressed: Pressed): string {
  const { version } = cluster;
  const seconds = Math.round((performance.now() - started) / 1000);
  const of = (kind: Played['verdict']['kind']): number => all.filter(({ verdict }) => verdict.kind === kind).length;
  const evictions = all.filter(({ evicted }) => evicted > 0);
  const summary = `**${all.length} small clusters: ${of('exact')} answers came true exactly, ${of('one of several')} as one of the sets that the answer listed, and ${of('wrong')} did not.** In ${evictions.length} of them pods were evicted, ${evictions.reduce((sum, { evicted }) => sum + evicted, 0)} in all.`;
  const method = `Each small cluster is drawn from its seed: two to four open nodes with 2, 4 or 8 GPUs, some with a taint; pods, Deployments and indexed Jobs of five priorities that fill them; budgets. When all pods have settled, we ask \`holdfast whatif apply -f FILE\` on the live cluster, then \`kubectl apply -f FILE\`. Kubernetes ${version} with its own kubelets decides. The GPUs are numbers that we give to the nodes. We compare the nodes, the evicted pods, the grace of each, and the scheduler’s first words about every pod that found no room. Where the answer lists several sets, one of them must come true; with several new pods, every victim must be in one of the sets. Evictions for a pod that a controller creates anew in place of a victim are not counted.`;
  const machine = `Machine: ${availableParallelism()} processors; ${seconds} s.`;
  const rows = all.map(
    ({ seed, asked, evicted, nowhere, verdict }) =>
      `| ${seed} | ${asked} | ${evicted} | ${nowhere} | ${[verdict.kind, ...verdict.faults].join('; ')} |`,
  );
  const paragraphs = [summary, method, machine].map((text) => wrap(text, COLUMNS).join('\n'));
  return `# Evictions that \`whatif\` foretold, on a real cluster

<!-- Written by \`npm run foretold:record\`. -->

${paragraphs.join('\n\n')}

| seed | the file makes | evictions foretold | pods without a node | what happened |
|---:|---|---:|---:|---|
${rows.join('\n')}

## A kubelet under disk pressure

Four pods write into \`emptyDir\` volumes. We ask \`whatif pressure --resource=disk --node-proxy\`, fill
the disk, and wait until the kubelet has made enough room.

| | in this order |
|---|---|
| foretold | ${pressed.foretold.join(', ')} |
| evicted | ${pressed.evicted.join(', ')} |
`;
}
