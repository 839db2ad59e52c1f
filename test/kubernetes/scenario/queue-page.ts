import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { wrap } from '../../../src/cli/output/table.ts';
import { formatDuration } from '../../../src/core/duration.ts';
import { ROOT } from '../../support/run-process.ts';

const PAGE = join(ROOT, 'examples/queue/README.md');
const HEADING = '## A real run\n';
/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

/** What a run of the example on a cluster has shown. */
export interface RunNumbers {
  /** Of Kubernetes. */
  readonly version: string;
  readonly items: number;
  readonly done: number;
  readonly aside: number;
  readonly workers: number;
  /** The nodes that ran workers. */
  readonly nodes: number;
  readonly deleted: number;
  readonly evicted: number;
  readonly onLostNode: number;
  readonly givenBack: number;
  readonly lost: number;
  readonly lostMs: number;
  readonly seconds: number;
}

/** Writes the numbers into the page of the examples, if the pages are recorded. */
export function recordRun(numbers: RunNumbers): void {
  if (process.env['UPDATE_DOCS'] !== '1') return;
  const [before = ''] = readFileSync(PAGE, 'utf8').split(HEADING);
  writeFileSync(PAGE, `${before}${runPart(numbers)}`);
}

function runPart(run: RunNumbers): string {
  const { version, items, done, aside, workers, nodes, deleted, evicted, onLostNode, givenBack, lost, lostMs, seconds } = run;
  return `${HEADING}
<!-- Written by \`npm run queue:record\`. -->

${paragraph(`A real Kubernetes ${version}, the Job of \`workers.yaml\` with ${workers} pods on ${nodes} nodes, and the server with SQLite on another node. Each item takes 0.1 seconds. Meanwhile pods were deleted and evicted, and one node lost its power and came back. Machine: ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, which also did other work.`)}

| | |
|---|---:|
| items | ${items} |
| items with one result | ${done} |
| items set aside or failed | ${aside} |
| deaths counted against items | 0 |
| pods deleted | ${deleted} |
| pods evicted | ${evicted} |
| pods on the lost node | ${onLostNode} |
| leases given back, or ended with a reason | ${givenBack} |
| leases lost without a reason | ${lost} |
| work done again, at most | ${formatDuration(Math.round(lostMs))} |
| time from the first pod to the last result | ${formatDuration(Math.round(seconds) * 1000)} |
`;
}

function paragraph(text: string): string {
  return wrap(text, COLUMNS).join('\n');
}
