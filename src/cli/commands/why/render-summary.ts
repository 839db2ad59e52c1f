import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { Summary } from '../../../why/summary.ts';
import type { Style } from '../../output/style.ts';
import { renderTable, wrap } from '../../output/table.ts';
import { dateOf, localOffset, timeOf } from '../log/time-axis.ts';
import type { Found } from './find-answers.ts';

interface Look {
  readonly style: Style;
  readonly columns: number;
  readonly nowMs: number;
}

/** All ends of a period: by cause, by node pool, and the settings that would have saved most. */
export function renderSummary(
  summary: Summary,
  { since, hasLedger, runs, about }: Found,
  { style, columns, nowMs }: Look,
): readonly string[] {
  const { fromMs, toMs, ends } = summary;
  const when = (ms: number): string => `${dateOf(ms, localOffset)} ${timeOf(ms, localOffset)}`;
  const asked = `${when(nowMs - (since ?? 0))} to now`;
  const covered = fromMs === null || toMs === null ? 'no end has a known time' : `the known ends are from ${when(fromMs)} to ${when(toMs)}`;
  return [
    ...wrap(`${ends} ${ends === 1 ? 'end' : 'ends'} in ${printable(about)}, ${asked}`, columns).map(style.bold),
    ...(hasLedger ? [] : wrap(`${coverageOf(runs)}: ${covered}.`, columns).map(style.dim)),
    '',
    ...indented(groupTable('CAUSE', summary.byCause)),
    '',
    ...indented(groupTable('NODES', summary.byPool)),
    ...(summary.settings.length === 0 ? [] : ['', style.bold('What would have saved most:'), ...indented(settingsTable(summary.settings))]),
  ];
}

/** Why ends may be missing: the operator and the cluster keep only the last ones. */
function coverageOf(runs: number): string {
  if (runs === 0) return 'Without a ledger, this covers only what the cluster still has';
  const records =
    runs === 1 ? '1 TrainingRun records the last 20 attempts of its run' : `${runs} TrainingRuns record the last 20 attempts of each run`;
  return `${records}; of other pods, this covers only those that the cluster still has`;
}

function groupTable(title: string, groups: Summary['byPool'] | Summary['byCause']): readonly string[] {
  const rows = groups.map(({ key, ends, lostMs, acceleratorHours }) => [
    excerpt(key, 50),
    String(ends),
    lostMs === 0 ? '' : formatDuration(lostMs),
    acceleratorHours === 0 ? '' : String(Number(acceleratorHours.toPrecision(3))),
  ]);
  return renderTable(
    [{ title }, { title: 'ENDS', align: 'right' }, { title: 'LOST', align: 'right' }, { title: 'ACCELERATOR-HOURS', align: 'right' }],
    rows,
  );
}

function settingsTable(settings: Summary['settings']): readonly string[] {
  const rows = settings.map(({ setting, value, ends, gainMs }) => [
    excerpt(setting, 50),
    excerpt(value, 30),
    String(ends),
    formatDuration(gainMs),
  ]);
  return renderTable(
    [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'ENDS', align: 'right' }, { title: 'SAVES UP TO', align: 'right' }],
    rows,
  );
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}
