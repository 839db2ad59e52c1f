import { formatDuration } from '../../../core/duration.ts';
import { falseEnds, outcomeOf, stepsLost } from '../../../demo/claims.ts';
import type { DemoReport } from '../../../demo/demo.ts';
import { type Keeper, UNBORN } from '../../../demo/life.ts';
import type { Lane } from '../../../demo/play.ts';
import { type Scene, TRAINING } from '../../../demo/scenes.ts';
import type { Style } from '../../output/style.ts';
import { displayWidth, fitWidth } from '../../output/width.ts';
import { describeLife } from './describe-life.ts';
import { drawLife } from './draw-life.ts';

/** The colours and the width of the output. */
export interface DemoLook {
  readonly style: Style;
  readonly columns: number;
}

const LABEL = 10;
const WORDS = 45;
const INDENT = '   ';

/** The lines before the first scene. */
export function openingLines(python: string, { style, columns }: DemoLook): readonly string[] {
  const { steps, every } = TRAINING;
  const legend = `${INDENT}━ steps  ● checkpoint  ◐ half a save  ✕ ended too early  ✔ finished`;
  return [
    style.bold('A training run is interrupted four times: bare, and under holdfast run.'),
    `The trainer (Python ${python}) does ${steps} steps and saves every ${every}. After each`,
    'interruption the same command line is started again. In the end its result must',
    'equal the result of the same training without an interruption (the twin).',
    style.dim(fitWidth(legend, columns)),
  ];
}

/** The current state of a scene: both keepers, with a row for each life on the axis of steps. */
export function sceneLines(
  number: number,
  { scene, lanes, twin }: { readonly scene: Scene; readonly lanes: Readonly<Record<Keeper, Lane | null>>; readonly twin: string },
  { style, columns }: DemoLook,
): readonly string[] {
  const width = Math.max(20, Math.min(45, columns - INDENT.length - LABEL - WORDS - 3));
  const rows = (['bare', 'holdfast'] as const).flatMap((keeper) =>
    [0, 1].map((index) => {
      const lane = lanes[keeper];
      const label = (index === 0 ? keeper : '').padEnd(LABEL);
      const bar = drawLife(lane?.lives[index] ?? UNBORN, width, style);
      if (lane === null) return `${INDENT}${label}`;
      const { text, tone } = describeLife(index, { scene, lane, twin });
      const words = fitWidth(text, columns - INDENT.length - LABEL - width - 3);
      const painted = tone === 'bad' ? style.red(words) : tone === 'good' ? style.green(words) : words;
      return `${INDENT}${keeper === 'holdfast' ? style.bold(label) : label}${bar}  ${painted}`.trimEnd();
    }),
  );
  const title = fitWidth(scene.title, columns - 3);
  const how = fitWidth(`${INDENT}${scene.how}`, columns);
  return ['', style.bold(`${number}  ${title}`), style.dim(how), ...rows];
}

/** The outcome: both keepers beside each other, and the claims that failed. */
export function closingLines(report: DemoReport, { style }: DemoLook): readonly string[] {
  const { scenes, twin, elapsedMs, folder } = report;
  const failed = scenes.flatMap(({ scene, claims }) => claims.filter(({ held }) => !held).map(({ claim }) => `${scene.id}: ${claim}`));
  const sides = { bare: scenes.map(({ bare }) => bare), holdfast: scenes.map(({ holdfast }) => holdfast) };
  const rows = [
    ['', 'bare', 'holdfast run'],
    ['ended like the twin, bit for bit', equalCount(sides.bare, twin), equalCount(sides.holdfast, twin)],
    ['stuck until a person helps', stuckCount(sides.bare, twin), stuckCount(sides.holdfast, twin)],
    ['exit 0, but unfinished or wrong', falseCount(sides.bare, twin), falseCount(sides.holdfast, twin)],
    ['work that was repeated', lostText(sides.bare), lostText(sides.holdfast)],
  ];
  const table = rows.map(([what = '', bare = '', holdfast = ''], index) => {
    const line = `${INDENT}${pad(what, 36)}${pad(bare, 22)}${holdfast}`;
    return index === 0 ? style.bold(line) : line;
  });
  const verdict =
    failed.length === 0
      ? [style.green(`Holdfast kept every promise, in ${formatDuration(elapsedMs)}.`), 'Three lines protect your own trainer: README.md']
      : ['These did not hold:', ...failed.map((claim) => style.red(`${INDENT}✗ ${claim}`))];
  const kept = folder === null ? [] : [`The runs are in ${folder}; look at one with: holdfast log ${folder}/short-grace-holdfast`];
  return ['', ...table, '', ...verdict, ...kept];
}

function equalCount(lanes: readonly Lane[], twin: string): string {
  return `${lanes.filter((lane) => outcomeOf(lane, twin) === 'equal').length} of ${lanes.length}`;
}

function stuckCount(lanes: readonly Lane[], twin: string): string {
  return countOf(lanes.filter((lane) => outcomeOf(lane, twin) === 'stuck').length);
}

function falseCount(lanes: readonly Lane[], twin: string): string {
  return countOf(lanes.reduce((sum, lane) => sum + falseEnds(lane, twin), 0));
}

function countOf(count: number): string {
  return count === 0 ? 'none' : String(count);
}

/** Repeated steps are known only for a run that continued. */
function lostText(lanes: readonly Lane[]): string {
  const lost = lanes.map(stepsLost).filter((steps) => steps !== null);
  const stuck = lanes.length - lost.length;
  const most = `at most ${Math.max(0, ...lost)} steps each`;
  return stuck === 0 ? most : stuck === lanes.length ? 'all of it' : `all of it, in ${stuck} runs`;
}

function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(1, columns - displayWidth(text)));
}
