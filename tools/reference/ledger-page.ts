import { EVENT_KINDS, EVENT_MEANINGS, type EventKind, SYNCED_KINDS } from '../../src/ledger/events.ts';
import { wrap } from '../../src/cli/output/table.ts';
import type { Fields } from '../../src/ledger/field-types.ts';
import { encodeLine } from '../../src/ledger/line.ts';

const EXAMPLE = {
  attempt: 3,
  node: 'gpu-a',
  seq: 17,
  atMs: Date.UTC(2026, 10, 15, 9, 43, 15),
  event: { kind: 'trainer-started', pid: 4242, restart: 0 },
} as const;

/** The format of the ledger, and every kind of event with its fields. */
export function ledgerPage(): string {
  return [
    '# The ledger',
    '',
    '<!-- Made by `npm run docs` from the tables in the source: change those, not this page. -->',
    '',
    'Holdfast appends every event of a run to `RUN/.holdfast/ledger/ATTEMPT-NODE.jsonl`, one file per',
    'attempt and node. `holdfast log RUN` shows the events. Each line is a JSON object, so any tool that',
    'reads JSON lines can read it.',
    '',
    '```json',
    encodeLine(EXAMPLE).toString().trimEnd(),
    '```',
    '',
    '- `crc32c` is a hexadecimal checksum of the line: of the bytes after `"crc32c":"…",`, including the',
    '  closing brace. A line that does not match was torn (its writer was killed, the disk was full);',
    '  readers skip it.',
    '- `v` is 1. `seq` counts the events of the file. `atMs` is the time on the clock of the node, in',
    '  milliseconds since 1970. Every other instant has the same unit. A duration is in milliseconds, and',
    '  its name also ends in `Ms`.',
    '- A line has at most 64 KiB; Holdfast cuts longer texts. It never changes or deletes a line.',
    '- Readers keep kinds, fields and versions that they do not know. Across files they order events by',
    '  attempt, then time, then node; within a file, by line.',
    ...wrap(`- These kinds are synced to the disk at once: ${[...SYNCED_KINDS].map((kind) => `\`${kind}\``).join(', ')}.`, 98).map(
      (line, index) => (index === 0 ? line : `  ${line}`),
    ),
    '',
    ...(Object.keys(EVENT_KINDS) as EventKind[]).flatMap(section),
  ].join('\n');
}

function section(kind: EventKind): readonly string[] {
  const fields: Fields = EVENT_KINDS[kind];
  return [
    `## ${kind}`,
    '',
    ...wrap(EVENT_MEANINGS[kind], 100),
    '',
    '| field | value |',
    '|---|---|',
    ...Object.entries(fields).map(([name, { type }]) => `| \`${name}\` | ${type} |`),
    '',
  ];
}
