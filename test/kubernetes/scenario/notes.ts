import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import { cgroupVersion } from '../cluster/cgroups.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Outcome } from './interrupted-run.ts';
import { type RowKey, TABLES, type TableName } from './recorded-tables.ts';
import { type Manner, isSupervised } from './training-job.ts';

const TRAINERS: Readonly<Record<Manner, string>> = {
  bare: 'bare',
  untrapped: 'bare, without a trap',
  stubborn: 'one that stays',
  tree: 'under `holdfast run`',
  binary: 'under `holdfast run`, one executable',
};
export const PAGE = join(ROOT, 'docs/kubernetes-notes.md');

export interface Recorded extends RowKey {
  readonly outcome: Outcome;
  /** Whether the run ended with the numbers of an uninterrupted run. */
  readonly isFinished: boolean;
  /**
   * The seconds from SIGTERM to SIGKILL; null when there was no SIGTERM, absent when no test
   * measured it.
   */
  readonly grace?: number | null | undefined;
}

export interface RecordedOn {
  readonly version: string;
  /** As a node reports it: `containerd://1.6.20`. */
  readonly runtime: string;
  readonly cgroups: number;
}

/** The versions of the cluster that made the recordings. */
export async function recordedOn(cluster: Cluster): Promise<RecordedOn> {
  const [first] = await cluster.api.list('/api/v1/nodes');
  return { version: cluster.version, runtime: String(first?.status?.nodeInfo.containerRuntimeVersion), cgroups: cgroupVersion() };
}

/**
 * If asked to, replaces the table between the page's marks of this name and cgroup version. Only
 * rows whose tests passed count. If a row is missing, nothing is written, and a message says so.
 */
export async function writeNotesWhenAsked(name: TableName, recorded: readonly Recorded[], cluster: Cluster): Promise<void> {
  if (process.env['HOLDFAST_WRITE_NOTES'] !== '1') return;
  const { rows, missing } = inOrder(name, recorded);
  if (missing.length > 0) {
    const [{ cause, manner }] = missing as readonly [RowKey];
    process.stderr.write(`${PAGE}: ${name} is not written: ${missing.length} rows were not recorded; the first: ${cause}, ${manner}\n`);
    return;
  }
  const on = await recordedOn(cluster);
  writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), markOf(name, on.cgroups), notesTable(rows, on, new Date())));
}

/** Puts recorded rows into the table's order, and lists the rows that are missing. */
export function inOrder(
  name: TableName,
  recorded: readonly Recorded[],
): { readonly rows: readonly Recorded[]; readonly missing: readonly RowKey[] } {
  const isOf = (key: RowKey) => (one: RowKey) => one.cause === key.cause && one.manner === key.manner;
  const rows = TABLES[name].flatMap((key) => recorded.findLast(isOf(key)) ?? []);
  return { rows, missing: TABLES[name].filter((key) => !recorded.some(isOf(key))) };
}

export function markOf(name: TableName, cgroups: number): string {
  return `${name}, cgroup v${cgroups}`;
}

export function pageWith(page: string, mark: string, table: string): string {
  const [begin, end] = placeOf(page, mark);
  return `${page.slice(0, begin)}\n\n${table}\n\n${page.slice(end)}`;
}

/** The text between the marks; empty before the first recording. */
export function tableOn(page: string, mark: string): string {
  return page.slice(...placeOf(page, mark)).trim();
}

function placeOf(page: string, mark: string): readonly [begin: number, end: number] {
  const [BEGIN, END] = [`<!-- recorded ${mark}: begin -->`, `<!-- recorded ${mark}: end -->`];
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the page lacks the marks ${BEGIN} and ${END}`);
  return [begin + BEGIN.length, end];
}

/** The cells of a table row, as people read them. */
export interface WrittenRow {
  readonly cause: string;
  readonly trainer: string;
  readonly believed: string;
  readonly exitCode: string;
  readonly phase: string;
  readonly said: string;
  readonly training: string;
}

export function rowsIn(table: string): readonly WrittenRow[] {
  const rows = table.split('\n').filter((text) => text.startsWith('| '));
  return rows.slice(1).map((text) => {
    const [cause = '', , trainer = '', believed = '', exitCode = '', phase = '', said = '', , training = ''] = text
      .slice(2, -2)
      .split(' | ');
    return { cause, trainer, believed: believed.trim(), exitCode, phase, said, training };
  });
}

/** The cause and the trainer of each row. */
export function keysIn(table: string): readonly string[] {
  return rowsIn(table).map(({ cause, trainer }) => `${cause}: ${trainer}`);
}

export function keyOf({ cause, manner }: RowKey): string {
  return `${cause}: ${TRAINERS[manner]}`;
}

export function notesTable(recorded: readonly Recorded[], { version, runtime, cgroups }: RecordedOn, when: Date): string {
  return [
    `Kubernetes ${version}, ${runtime.replace('://', ' ')}, cgroup v${cgroups}, on ${when.toISOString().slice(0, 10)}:`,
    '',
    '| cause | seconds | trainer | believed | exit code | the pod | what else the pod reports | the Job | the training |',
    '|---|---:|---|---:|---:|---|---|---|---|',
    ...recorded.map(row),
  ].join('\n');
}

function row({ cause, manner, outcome, isFinished, grace }: Recorded): string {
  const { exitCode, phase, podReason, containerReason, disruption } = outcome;
  const said = [podReason, containerReason, disruption === null ? null : `DisruptionTarget/${disruption}`].filter(
    (each) => each !== null && each !== '',
  );
  const cells = [
    cause,
    graceCell(grace),
    TRAINERS[manner],
    believedCell(manner, outcome),
    exitCode ?? 'none',
    phase,
    said.join(', '),
    jobCell(outcome),
    trainingCell(outcome, isFinished),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** How many seconds a supervised run expected after SIGTERM, by its own ledger. */
function believedCell(manner: Manner, { ledger, exitCode }: Outcome): string {
  if (!isSupervised(manner) || exitCode === null) return '';
  const deadline = ledger?.deadline ?? null;
  return deadline === null ? 'none' : String(deadline.graceMs / 1000);
}

function graceCell(grace: Recorded['grace']): string {
  if (grace === undefined) return '';
  return grace === null ? 'none' : grace.toFixed(1);
}

function jobCell({ job, failures, isJobGone }: Outcome): string {
  return [job, ...(failures > 0 ? [`${failures} counted as failed`] : []), ...(isJobGone ? ['then gone'] : [])].join(', ');
}

function trainingCell({ nextNode, resumedWith }: Outcome, isFinished: boolean): string {
  if (!isFinished) return '**never finished**';
  return `finished, equal to its twin; ${nextNode === null ? 'was not interrupted' : `resumed at step ${resumedWith}`}`;
}
