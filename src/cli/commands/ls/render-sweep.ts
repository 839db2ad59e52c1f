import { counted } from '../../../core/counted.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import { renderTable } from '../../output/table.ts';
import type { ListedTrial, SweepReport, TrialState } from './list-sweep.ts';

const PAINT: Readonly<Record<TrialState, keyof Style>> = {
  finished: 'green',
  training: 'cyan',
  silent: 'yellow',
  interrupted: 'yellow',
  failed: 'red',
};

/** Renders the trials of a sweep for the terminal, the smallest loss first. */
export function renderSweep({ path, count, trials }: SweepReport, style: Style): readonly string[] {
  const states = Object.keys(PAINT).flatMap((state) => {
    const number = trials.filter((trial) => trial.state === state).length;
    return number === 0 ? [] : [`${number} ${state}`];
  });
  const started = count === null ? counted(trials.length, 'trial') : `${trials.length} of ${counted(count, 'trial')} started`;
  const head = [`${style.bold(printable(path))} · ${[started, ...states].join(' · ')}`];
  if (trials.length === 0) return [...head, '', 'No trial has started here.'];
  // One column for each parameter, in the order of the grid.
  const names = [...new Set(trials.flatMap(({ parameters }) => parameters.map(({ name }) => name)))];
  const titles = [
    ['LOSS', 'right'],
    ['STEP', 'right'],
    ['LAST GOOD', 'right'],
    ['STATE', 'left'],
    ...names.map((name) => [printable(name), 'right'] as const),
    ['TRIAL', 'left'],
  ] as const;
  const header = titles.map(([title, align]) => ({ title: style.dim(title), align }));
  return [
    ...head,
    '',
    ...renderTable(
      header,
      trials.map((trial) => row(trial, names, style)),
    ),
  ];
}

function row(
  { loss, step, lastGoodStep, state, parameters, name }: ListedTrial,
  names: readonly string[],
  style: Style,
): readonly string[] {
  const number = (value: number | null): string => (value === null ? '–' : String(value));
  const valueOf = (wanted: string): string => printable(parameters.find((parameter) => parameter.name === wanted)?.value ?? '–');
  return [
    loss === null ? '–' : String(Number(loss.toPrecision(4))),
    number(step),
    number(lastGoodStep),
    style[PAINT[state]](state),
    ...names.map(valueOf),
    printable(name),
  ];
}
