import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import { FIXES, type FixName } from './fixes.ts';
import type { Seen } from './perform.ts';

const PATH = join(ROOT, 'docs/proofs/beside-v1.md');

/** What was compared of a manifest. */
export interface Compared {
  readonly title: string;
  readonly pods: number;
  readonly services: number;
  readonly used: readonly FixName[];
}

/** The row of a manifest. */
export function jobRow({ title, pods, services, used }: Compared): string {
  return `| ${title} | ${pods} | ${services} | ${fixText(used)} |`;
}

/** The row of a play: each step with the conditions that both reached. */
export function playRow(title: string, seen: readonly Seen[]): string {
  const steps = seen.map(({ does, v1, ours }) => `${does}: ${v1 === ours ? v1 : `v1 ${v1}, ours ${ours}`}`);
  return `| ${title} | ${steps.join('<br>')} | ${fixText(seen.flatMap(({ used }) => used))} |`;
}

function fixText(used: readonly FixName[]): string {
  const titles = [...new Set(used.map((name) => FIXES[name].title))];
  return titles.length === 0 ? '–' : titles.join(', ');
}

/** Whether the recorded page has this row. */
export function isRecorded(row: string): boolean {
  return readFileSync(PATH, 'utf8').includes(`${row}\n`);
}

/** Everything that a record found. */
export interface Recorded {
  readonly kubernetes: string;
  readonly fields: number;
  readonly jobs: readonly string[];
  readonly plays: readonly string[];
}

/** Writes the page. */
export function writePage({ kubernetes, fields, jobs, plays }: Recorded): void {
  writeFileSync(
    PATH,
    `# Beside the Training Operator v1

<!-- Made by \`npm run beside:record\`: change test/kubernetes/beside, not this page. -->

The real Training Operator v1.9.4 and this operator run on one Kubernetes ${kubernetes}, each in a
namespace of its own, and get the same manifests. What they make is equal, except for what the
[list of fixes](../operator.md#what-differs-from-v1) names. CI plays a slice of both tables, and
demands the rows below.

## Manifests

These manifests set all ${fields} fields of both contracts, and most fields of a pod. Pods (with
every container and its environment), Services and HorizontalPodAutoscalers are compared field by
field. Names, labels, owners, ports and the order of variables count; the label of the attempt does
not.

| manifest | pods | Services | what differs |
|---|---:|---:|---|
${jobs.join('\n')}

## What happens to jobs

The test plays the kubelets. After each step it compares the conditions with their order, reasons
and messages, the counts of replicas, pods, Services and the autoscaler. A false condition has an
exclamation mark. PodGroups for Volcano and for scheduler-plugins, and the pods that belong to them,
are equal, too; the schedulers themselves do not run.

| play | steps, with the conditions that they lead to | what differs |
|---|---|---|
${plays.join('\n')}

## Again

    npm run beside:record
`,
  );
}
