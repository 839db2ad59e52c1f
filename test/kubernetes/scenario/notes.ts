import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import type { Outcome } from './interrupted-run.ts';
import type { Manner } from './training-job.ts';

const PAGE = join(ROOT, 'docs/kubernetes-notes.md');
const [BEGIN, END] = ['<!-- recorded: begin -->', '<!-- recorded: end -->'];

export interface Recorded {
  readonly cause: string;
  readonly manner: Manner;
  readonly outcome: Outcome;
  /** With the numbers of a run that was never interrupted. */
  readonly isFinished: boolean;
}

interface RecordedOn {
  readonly version: string;
  /** As a node tells it: `containerd://1.6.20`. */
  readonly runtime: string;
  readonly cgroups: number;
}

/** Puts what was seen in place of what stood between the marks of the page. */
export function writeNotes(recorded: readonly Recorded[], on: RecordedOn): void {
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} lacks the marks ${BEGIN} and ${END}`);
  writeFileSync(PAGE, `${page.slice(0, begin + BEGIN.length)}\n\n${notesTable(recorded, on)}\n\n${page.slice(end)}`);
}

export function notesTable(recorded: readonly Recorded[], { version, runtime, cgroups }: RecordedOn): string {
  return [
    `Kubernetes ${version}, ${runtime.replace('://', ' ')}, cgroup v${cgroups}:`,
    '',
    '| cause | trainer | exit code | the pod | what else the pod says | the Job | the training |',
    '|---|---|---:|---|---|---|---|',
    ...recorded.map(row),
  ].join('\n');
}

function row({ cause, manner, outcome, isFinished }: Recorded): string {
  const { exitCode, phase, podReason, containerReason, disruption, job, resumedWith } = outcome;
  const said = [podReason, containerReason, disruption === null ? null : `DisruptionTarget/${disruption}`].filter(
    (each) => each !== null && each !== '',
  );
  const training = isFinished ? `finished, equal to its twin; went on with step ${resumedWith}` : '**never finished**';
  const cells = [cause, manner === 'bare' ? 'bare' : 'under `holdfast run`', exitCode ?? 'none', phase, said.join(', '), job, training];
  return `| ${cells.join(' | ')} |`;
}
