import { counted } from '../../../core/counted.ts';
import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { Lane } from '../../../ledger/timeline.ts';
import { displayWidth, fitWidth } from '../../output/width.ts';
import { lostWork } from './describe-event.ts';
import { drawLane, legend } from './draw-lane.ts';
import { eventLines, type Look, someNodes } from './event-lines.ts';
import type { LogReport } from './read-log.ts';
import { axisLine, dateOf, timeAxis, timeOf, type UtcOffset } from './time-axis.ts';

/** How the timeline looks. */
export interface LogLook extends Pick<Look, 'style' | 'columns' | 'offset' | 'isAll'> {
  readonly nowMs: number;
}

/** The timeline of a run: one lane per attempt on a common axis, then the events of each. */
export function renderLog({ path, lanes, files, left }: LogReport, look: LogLook): readonly string[] {
  const { style } = look;
  const lines = [heading(path, lanes, look), ''];
  lines.push(...renderLanes(lanes, look));
  for (const lane of lanes) lines.push('', ...renderAttempt(lane, look));
  const damaged = files.reduce((sum, file) => sum + file.damaged, 0);
  const problems = files.filter(({ problem }) => problem !== null);
  if (damaged + problems.length > 0 || files.some(({ isCut }) => isCut) || left > 0) lines.push('');
  if (left > 0) lines.push(style.dim(`· ${left} earlier ${left === 1 ? 'attempt is' : 'attempts are'} not shown; --all shows them`));
  if (damaged > 0) lines.push(style.dim(`· ${damaged} ${damaged === 1 ? 'line was' : 'lines were'} torn or damaged and left out`));
  for (const { name, problem } of problems) lines.push(style.dim(`· ${excerpt(name, 60)} cannot be read: ${printable(problem ?? '')}`));
  for (const { name, isCut } of files)
    if (isCut) lines.push(style.dim(`· the beginning of ${excerpt(name, 60)} was left out: it is too long`));
  return lines;
}

/** The heading above the events of an attempt: one line, or two on a narrow terminal. */
export function attemptHeading(lane: Lane, { style, offset, columns }: Pick<LogLook, 'style' | 'offset' | 'columns'>): readonly string[] {
  const { attempt, nodes, startedMs, seenMs } = lane;
  const isOver = lane.end !== null || lane.isFollowed;
  const name = `attempt ${attempt}`;
  const shown = someNodes(nodes);
  const until = isOver ? ` to ${timeOf(seenMs, offset)}, ${formatDuration(seenMs - startedMs)}` : '';
  const when = `${isOver ? '' : 'since '}${dateOf(startedMs, offset)} ${timeOf(startedMs, offset)}${until}`;
  const one = `${name} · ${shown} · ${when}`;
  if (displayWidth(one) <= columns) return [`${style.bold(name)}${style.dim(one.slice(name.length))}`];
  return [`${style.bold(name)} ${style.dim(`· ${fitWidth(shown, columns - name.length - 3)}`)}`, style.dim(`  ${when}`)];
}

function heading(path: string, lanes: readonly Lane[], { style }: LogLook): string {
  const [first, last] = [lanes[0], lanes.at(-1)];
  const span = first === undefined || last === undefined ? 0 : Math.max(...lanes.map(({ seenMs }) => seenMs)) - first.startedMs;
  const lost = lanes.reduce((sum, { end }) => sum + (end?.lostMs ?? 0), 0);
  const isKnown = lanes.every(({ end, isFollowed }) => (end === null ? !isFollowed : end.lostMs !== null));
  const facts = [
    `${counted(lanes.length, 'attempt')} in ${formatDuration(span)}`,
    counted(
      lanes.reduce((sum, { sealed }) => sum + sealed, 0),
      'save',
    ),
    lossInAll(lost, isKnown),
  ];
  return `${style.bold(printable(path))} · ${facts.join(' · ')}`;
}

function lossInAll(lostMs: number, isKnown: boolean): string {
  if (lostMs > 0) return `${isKnown ? '' : 'at least '}${formatDuration(lostMs)} of work lost`;
  return isKnown ? 'no work lost' : 'loss unknown';
}

const LABEL = 'attempt';
const GAP = '  ';
/** Below this width a lane shows nothing useful. */
const LEAST_COLUMNS = 24;

function renderLanes(lanes: readonly Lane[], { style, columns, offset, nowMs }: LogLook): readonly string[] {
  const outcomes = lanes.map((lane) => outcomeOf(lane, nowMs, offset));
  const labels = lanes.map(({ attempt }) => String(attempt));
  const margin = Math.max(LABEL.length, ...labels.map((label) => label.length)) + GAP.length;
  const beside = columns - margin - GAP.length - Math.max(...outcomes.map(displayWidth));
  // On a narrow terminal the outcome of a lane is printed below it.
  const isNarrow = beside < LEAST_COLUMNS;
  const room = isNarrow ? Math.max(LEAST_COLUMNS, columns - margin) : beside;
  const axis = timeAxis(lanes[0]?.startedMs ?? 0, Math.max(...lanes.map(({ seenMs }) => seenMs)), room);
  const drawn = lanes.map((lane) => drawLane(lane, axis, style));
  const rows = drawn.flatMap(({ text }, index) => {
    const lane = `${(labels[index] ?? '').padStart(margin - GAP.length)}${GAP}${text}`;
    const outcome = outcomes[index] ?? '';
    return isNarrow
      ? [lane, ' '.repeat(margin) + outcome]
      : [`${lane}${' '.repeat(Math.max(0, margin + room - displayWidth(lane)))}${GAP}${outcome}`];
  });
  const used = new Set(drawn.flatMap(({ signs }) => [...signs]));
  const explained = wrapSigns(legend(used, style), columns - margin);
  return [
    style.dim(`${LABEL.padEnd(margin)}${axisLine(axis, offset)}`),
    ...rows,
    '',
    ...explained.map((line) => ' '.repeat(margin) + line),
  ];
}

/** The legend in lines that fit, each sign with its meaning. */
function wrapSigns(signs: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const sign of signs) {
    const last = lines.at(-1);
    if (last === undefined || displayWidth(last) + GAP.length + displayWidth(sign) > columns) lines.push(sign);
    else lines[lines.length - 1] = `${last}${GAP}${sign}`;
  }
  return lines;
}

/** How an attempt ended, in a few words. */
function outcomeOf({ end, isFollowed, lastStep, seenMs }: Lane, nowMs: number, offset: UtcOffset): string {
  if (end?.end === 'finished') return `finished at step ${end.step ?? '?'}${(end.lostMs ?? 0) > 0 ? `, ${lostWork(end)}` : ''}`;
  if (end !== null) return `${shortEnd(end.end, end.exitCode)}, ${lostWork(end)}`;
  const quiet = nowMs - seenMs;
  const at = lastStep === null ? '' : `step ${lastStep}, `;
  if (isFollowed) return `${at}ended without a word`;
  return `${at}${quiet < 60_000 ? 'running' : `silent since ${timeOf(seenMs, offset)}`}`;
}

function shortEnd(end: 'interrupted' | 'failed' | 'killed' | 'refused', exitCode: number): string {
  return end === 'interrupted' ? 'interrupted' : `${end} (${exitCode})`;
}

function renderAttempt(lane: Lane, look: LogLook): readonly string[] {
  return [...attemptHeading(lane, look), ...eventLines(lane.events, { ...look, nodes: lane.nodes })];
}
