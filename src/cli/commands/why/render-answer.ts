import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { Answer } from '../../../why/answer.ts';
import type { Fit } from '../../../why/fit.ts';
import type { Loss } from '../../../why/loss.ts';
import type { Moment } from '../../../why/timeline.ts';
import type { Style } from '../../output/style.ts';
import { renderList, renderTable, wrap } from '../../output/table.ts';
import { fitWidth } from '../../output/width.ts';
import { dateOf, localOffset, timeOf } from '../log/time-axis.ts';

interface Look {
  readonly style: Style;
  readonly columns: number;
}

/**
 * One end on one screen: the cause, the cost and the setting first, then the evidence and the
 * timeline.
 */
export function renderAnswer(answer: Answer, look: Look): readonly string[] {
  const { style, columns } = look;
  const { judgement, setting } = answer;
  const isTold = judgement.cause !== 'CANNOT_TELL';
  const head = `${printable(answer.subject)}: ${judgement.title}`;
  const paint = isTold ? style.red : style.yellow;
  return [
    ...wrap(head, columns).map((line) => style.bold(line)),
    `${paint(judgement.cause)}${isTold ? style.dim(`, ${judgement.confidence}`) : ''}`,
    ...(answer.unfinishedBecause === null
      ? []
      : ['', ...wrap(`UNFINISHED: ${printable(answer.unfinishedBecause)}`, columns).map(style.red)]),
    '',
    ...renderList(
      [
        ...judgement.evidence.map((text, index) => [index === 0 ? style.dim('because') : '', printable(text)] as const),
        ...judgement.against.map(
          ({ cause, because }, index) => [index === 0 ? style.dim('and not') : '', `${cause}: ${printable(because)}`] as const,
        ),
        ...(judgement.candidates.length === 0 ? [] : [[style.dim('one of'), judgement.candidates.join(', ')] as const]),
        ...judgement.missing.map((text, index) => [index === 0 ? style.dim('missing') : '', text] as const),
        ...(answer.loss === null ? [] : [[style.dim('lost'), lossText(answer.loss)] as const]),
        ...(answer.fit === null ? [] : [[style.dim('the save'), fitText(answer.fit)] as const]),
        ...(setting === null ? [] : settingItems(setting, style)),
      ],
      columns,
    ),
    '',
    ...renderTimeline(answer.timeline, look),
  ];
}

/** The other ends of the same subject, one line each. */
export function renderOthers(answers: readonly Answer[], { style, columns }: Look): readonly string[] {
  if (answers.length === 0) return [];
  const rows = answers
    .slice(0, MOST_OTHERS)
    .map(({ subject, judgement, atMs }) => [
      atMs === null ? '' : `${dateOf(atMs, localOffset)} ${timeOf(atMs, localOffset)}`,
      judgement.cause,
      excerpt(subject, 60),
    ]);
  const left = answers.length - rows.length;
  return [
    '',
    ...renderTable([{ title: 'ENDED' }, { title: 'CAUSE' }, { title: 'SUBJECT' }], rows).map((line) => fitWidth(`  ${line}`, columns)),
    ...(left > 0 ? [style.dim(`  · ${left} more; --all and --json show them`)] : []),
  ];
}

const MOST_OTHERS = 12;

function lossText({ savedStep, lostSteps, lostMs, acceleratorHours, source }: Loss): string {
  if (source === 'pod') {
    const most = `at most ${formatDuration(lostMs ?? 0)}${hours(acceleratorHours)}`;
    return `${most}: the container’s run time; no record shows what it saved (--run=RUN reads a ledger)`;
  }
  const steps = lostSteps === null ? '' : `${lostSteps} ${lostSteps === 1 ? 'step' : 'steps'}`;
  const time = lostMs === null ? 'time unknown' : formatDuration(lostMs);
  const unknown = source === 'training-run' ? '' : '; nothing is saved';
  const kept = savedStep === null ? unknown : `; step ${savedStep} is saved`;
  return `${[steps, time].filter((text) => text !== '').join(', ')}${hours(acceleratorHours)}${kept}`;
}

function hours(acceleratorHours: number | null): string {
  return acceleratorHours === null ? '' : `, ${Number(acceleratorHours.toPrecision(2))} accelerator-hours`;
}

function fitText({ graceMs, because, usedMs, needMs, decidedMs, fits }: Fit): string {
  const had = graceMs === 0 ? `no time: ${printable(because)}` : `${formatDuration(graceMs)}: ${printable(because)}`;
  const used = usedMs === null || graceMs === 0 ? '' : `; the container ended after ${formatDuration(usedMs)}`;
  if (fits === null) return `there was ${had}${used}; the duration of a save is unknown`;
  const takes =
    decidedMs === null ? `it takes ${formatDuration(needMs ?? 0)} (P95)` : `the supervisor reckoned ${formatDuration(decidedMs)} for it`;
  return `${fits ? 'fitted' : 'did not fit'}: ${takes}, and there was ${had}${used}`;
}

function settingItems({ setting, value, because, gainMs }: NonNullable<Answer['setting']>, style: Style): (readonly [string, string])[] {
  const gain = gainMs === null || gainMs < 1000 ? '' : `; it would have saved up to ${formatDuration(gainMs)} here`;
  return [
    [style.green('change'), style.bold(`${printable(setting)}: ${printable(value)}`)],
    ['', `${printable(because)}${gain}`],
  ];
}

const MARKS: Readonly<Record<Moment['from'], string>> = {
  pod: 'pod',
  event: 'event',
  job: 'job',
  node: 'node',
  run: 'run',
  ledger: 'ledger',
};

/** One line per moment on a drawn axis, with the day at each change. */
function renderTimeline(moments: readonly Moment[], { style, columns }: Look): readonly string[] {
  let day = '';
  return moments.flatMap(({ atMs, from, text, isKey }, index) => {
    const today = dateOf(atMs, localOffset);
    const heading = today === day ? [] : [style.dim(`  ${today}`)];
    day = today;
    const rail = index === moments.length - 1 ? '┴' : isKey ? '●' : '│';
    const start = `  ${timeOf(atMs, localOffset)}  `;
    const line = fitWidth(`${MARKS[from].padEnd(7)}${printable(text)}`, Math.max(20, columns - start.length - 3));
    return [...heading, `${style.dim(start)}${isKey ? style.yellow(rail) : style.dim(rail)} ${isKey ? line : style.dim(line)}`];
  });
}
