import type { Clock } from '../../../core/clock.ts';
import { printableJson } from '../../../core/printable.ts';
import type { Recorded } from '../../../ledger/events.ts';
import { LedgerReader } from '../../../ledger/reader.ts';
import { isFinished, lanesOf } from '../../../ledger/timeline.ts';
import type { Output } from '../../output/output.ts';
import { watchReader } from '../../output/reader-gone.ts';
import { eventLine } from './event-lines.ts';
import { followLedger } from './follow-log.ts';
import { eventData, logData, logReport } from './read-log.ts';
import { attemptHeading, type LogLook, renderLog } from './render-log.ts';
import { localOffset } from './time-axis.ts';

/** How to show a ledger. */
export interface ShowOptions {
  readonly output: Output;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly isAll: boolean;
  /** How many attempts to show; null: all. */
  readonly last: number | null;
  readonly isFollowing: boolean;
}

/** Shows the ledger of a run, then follows it if asked. Returns the number of events shown. */
export async function showLog(path: string, options: ShowOptions): Promise<number> {
  const { output, clock, isFollowing } = options;
  const reader = new LedgerReader(path);
  const reading = reader.readMore();
  const report = logReport(path, reading, options.last);
  const look: LogLook = { style: output.style, columns: output.columns, offset: localOffset, isAll: options.isAll, nowMs: clock.now() };
  const isEmpty = report.lanes.length === 0;
  if (output.json && !isFollowing) output.printJson(logData(report));
  else if (output.json) printLines(output, report.lanes.flatMap(({ events }) => events).map(jsonLine));
  else if (!isEmpty) printLines(output, renderLog(report, look));
  if (!isFollowing || isFinished(report.lanes)) return reading.events.length;
  if (isEmpty && !output.json) output.note('nothing is recorded yet; waiting for the first attempt');
  return follow(reader, reading.events, { ...options, look });
}

async function follow(
  reader: LedgerReader,
  shown: readonly Recorded[],
  options: ShowOptions & { readonly look: LogLook },
): Promise<number> {
  const { output, clock, signal, look } = options;
  const all = [...shown];
  let current = all.at(-1)?.attempt ?? null;
  const reading = watchReader();
  const following = followLedger(reader, {
    clock,
    signal,
    isUnread: () => reading.isGone,
    onEvents(events) {
      all.push(...events);
      const lanes = lanesOf(all);
      for (const recorded of events) {
        if (output.json) {
          printLines(output, [jsonLine(recorded)]);
          continue;
        }
        const lane = lanes.find(({ attempt }) => attempt === recorded.attempt);
        if (lane === undefined) continue;
        if (recorded.attempt !== current) output.print('', ...attemptHeading(lane, look));
        current = recorded.attempt;
        printLines(output, eventLine(recorded, { ...look, nodes: lane.nodes }));
      }
      return isFinished(lanes);
    },
  });
  await following.finally(() => reading.close());
  return all.length;
}

function jsonLine(recorded: Recorded): string {
  return printableJson(JSON.stringify(eventData(recorded)));
}

/** Pushes in a loop, because there can be more lines than a call may have arguments. */
function printLines(output: Output, lines: readonly string[]): void {
  if (lines.length > 0) output.print(lines.join('\n'));
}
