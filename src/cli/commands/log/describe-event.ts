import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { excerpt } from '../../../core/printable.ts';
import { CAUSES } from '../../../domain/grace/notice.ts';
import { scheduledText } from '../../../domain/sweep/scheduled.ts';
import type { EventKind, EventOf, Recorded, UnknownEvent } from '../../../ledger/events.ts';
import type { Style } from '../../output/style.ts';

/** An event as a line for people: its label, its text, and its colour. */
export interface Described {
  readonly label: string;
  readonly text: string;
  readonly paint: keyof Style | null;
}

type Describers = { readonly [Kind in EventKind]: (event: EventOf<Kind>, atMs: number) => Described };

/**
 * Shortens a sentence from the ledger, which may come from a stranger, and removes control
 * characters.
 */
const told = (sentence: string): string => excerpt(sentence, 400);
const plain = (label: string, text: string): Described => ({ label, text, paint: null });
const step = (number: number | null): string => (number === null ? 'no step' : `step ${number}`);

const DESCRIBE: Describers = {
  'attempt-started': ({ command, resumeStep }) =>
    plain(
      'started',
      `${excerpt(command.join(' '), 200)}, ${resumeStep === null ? 'from the beginning' : `resumes from step ${resumeStep}`}`,
    ),
  scheduled: ({ scheduledMs }) => plain('scheduled', `for ${scheduledText(scheduledMs)}`),
  trial: ({ index, count, parameters }) =>
    plain('trial', `${index} of 0…${count - 1}: ${excerpt(parameters.map(({ name, value }) => `${name}=${value}`).join(', '), 200)}`),
  'trainer-started': ({ pid, restart }) => plain('trainer', `process ${pid}${restart > 0 ? `, restart ${restart}` : ''}`),
  'sdk-attached': ({ rank, worldSize, framework }) =>
    plain('sdk', `rank ${rank} of ${worldSize} attached${framework === null ? '' : `, ${excerpt(framework, 40)}`}`),
  progress: ({ step: at, stepMs, loss, unsavedMs }) => {
    const pace = stepMs === null ? '' : `, ${formatDuration(stepMs)} a step`;
    const unsaved = unsavedMs === null ? '' : `, ${formatDuration(unsavedMs)} unsaved`;
    return plain('progress', `step ${at}${pace}${loss === null ? '' : `, loss ${Number(loss.toPrecision(4))}`}${unsaved}`);
  },
  'cadence-planned': ({ sentence }) => plain('cadence', told(sentence)),
  'save-started': ({ step: at, reason }) => plain('save', `step ${at} begins (${reason})`),
  'save-ended': describeSave,
  'save-overdue': ({ sentence }) => ({ label: 'overdue', text: told(sentence), paint: 'red' }),
  shipped: ({ step: at, url, totalMs }) =>
    plain('shipped', `step ${at} to ${excerpt(url, 80)}${totalMs === null ? '' : ` in ${formatDuration(totalMs)}`}`),
  'ship-failed': ({ url, problem }) => ({ label: 'shipping', text: `to ${excerpt(url, 80)} failed: ${told(problem)}`, paint: 'red' }),
  fetched: ({ step: at, url, bytes, totalMs }) =>
    plain('fetched', `step ${at} from ${excerpt(url, 80)}, ${formatBytes(bytes)} in ${formatDuration(totalMs)}`),
  notice: ({ cause, deadlineMs, terminating, detail }, atMs) => {
    const when = deadlineMs === null ? '' : `, ${formatDuration(Math.max(0, deadlineMs - atMs))} ahead`;
    const what = `${CAUSES[cause].label}${detail === null ? '' : `: ${excerpt(detail, 100)}`}${when}`;
    return { label: terminating ? 'notice' : 'advice', text: what, paint: 'yellow' };
  },
  'notice-withdrawn': ({ cause }) => plain('withdrawn', CAUSES[cause].label),
  deadline: ({ graceMs, confidence, reasons }) =>
    plain(
      'grace',
      `${formatDuration(graceMs)}${confidence === 'guess' ? ' (a guess)' : ''}: ${reasons
        .slice(0, 8)
        .map(({ reason }) => told(reason))
        .join('; shorter, because ')}`,
    ),
  decision: ({ outcome, sentence }) => ({
    label: 'decision',
    text: told(sentence),
    paint: outcome === 'keep-last-good' ? 'red' : 'cyan',
  }),
  'flush-ended': describeFlush,
  hang: ({ sentence }) => ({ label: 'hang', text: told(sentence), paint: 'red' }),
  'trainer-ended': ({ code, signal, saidFinished }) => {
    const how = signal === null ? `exit code ${code}` : `killed by ${excerpt(signal, 20)}`;
    return plain('trainer', `ended: ${how}${saidFinished ? ', after it said that the run is finished' : ''}`);
  },
  'attempt-ended': describeEnd,
  note: ({ level, code, sentence }) => ({
    label: level === 'info' ? 'note' : level,
    text: `${told(sentence)}${code === null ? '' : ` [${excerpt(code, 40)}]`}`,
    paint: level === 'info' ? null : level === 'warning' ? 'yellow' : 'red',
  }),
};

/** Describes an event of any kind for people. */
export function describeEvent({ event, atMs }: Recorded): Described {
  if (event.kind === 'unknown') return describeUnknown(event);
  // The table holds for each kind the function that takes it.
  return (DESCRIBE[event.kind] as (event: Recorded['event'], atMs: number) => Described)(event, atMs);
}

/**
 * The cost of an attempt, in time and ranks: `2m 54s × 8 lost`. The field is named for
 * accelerators, because Holdfast assumes one for each rank. The line says ranks, because a machine
 * may have no accelerator.
 */
export function lostWork({ lostMs, accelerators }: Pick<EventOf<'attempt-ended'>, 'lostMs' | 'accelerators'>, unit = ''): string {
  if (lostMs === null) return 'loss unknown';
  if (lostMs <= 0) return 'nothing lost';
  return `${formatDuration(lostMs)}${accelerators !== null && accelerators > 1 ? ` × ${accelerators}${unit}` : ''} lost`;
}

function describeSave({ outcome, step: at, bytes, totalMs, stallMs, problem }: EventOf<'save-ended'>): Described {
  const size = bytes === null ? '' : `, ${formatBytes(bytes)}`;
  const stall = stallMs === null ? '' : `, stall ${formatDuration(stallMs)}`;
  if (outcome === 'sealed') return { label: 'sealed', text: `step ${at} in ${formatDuration(totalMs)}${size}${stall}`, paint: 'green' };
  const why = problem === null ? '' : `: ${told(problem)}`;
  return { label: 'save', text: `of step ${at} ${outcome} after ${formatDuration(totalMs)}${why}`, paint: 'red' };
}

function describeFlush({ outcome, step: at, tookMs, predictedMs, leftMs, sentence }: EventOf<'flush-ended'>): Described {
  const isMade = outcome === 'made' || outcome === 'staged-sealed';
  if (!isMade) return { label: 'no flush', text: told(sentence), paint: 'red' };
  const predicted = predictedMs === null ? '' : ` (predicted ${formatDuration(predictedMs)})`;
  const spare = leftMs === null ? '' : leftMs >= 0 ? `, ${formatDuration(leftMs)} to spare` : `, ${formatDuration(-leftMs)} late`;
  const what = outcome === 'made' ? 'made' : 'staged save sealed';
  return { label: 'flush', text: `${what}: ${step(at)} in ${formatDuration(tookMs)}${predicted}${spare}`, paint: 'green' };
}

function describeEnd({ end, exitCode, lastGoodStep, sentence, ...lost }: EventOf<'attempt-ended'>): Described {
  const code = end === 'finished' || sentence.includes(String(exitCode)) ? '' : ` (${exitCode})`;
  const good = lastGoodStep === null ? 'nothing is sealed' : `last good step ${lastGoodStep}`;
  const loss = end === 'finished' && (lost.lostMs ?? 0) <= 0 ? '' : ` · ${lostWork(lost, ' ranks')}`;
  return {
    label: 'end',
    text: `${told(sentence)}${code} · ${good}${loss}`,
    paint: end === 'finished' ? 'green' : end === 'interrupted' ? 'yellow' : 'red',
  };
}

function describeUnknown({ name, fields }: UnknownEvent): Described {
  return { label: excerpt(name, 12), text: excerpt(JSON.stringify(fields), 120), paint: 'dim' };
}
