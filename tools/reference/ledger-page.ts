import { EVENT_KINDS, EVENT_MEANINGS, type EventKind, SYNCED_KINDS } from '../../src/ledger/events.ts';
import type { Fields } from '../../src/ledger/fields.ts';
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
    'What happens to a run is appended to `RUN/.holdfast/ledger/ATTEMPT-NODE.jsonl`, one file per attempt and node. `holdfast log RUN` shows it.',
    'A line is a JSON object: any tool that reads JSON lines reads it.',
    '',
    '```json',
    encodeLine(EXAMPLE).toString().trimEnd(),
    '```',
    '',
    '- `crc32c` is the checksum (hexadecimal) of the bytes of the line behind `"crc32c":"…",`, up to and with the closing brace. A line that does',
    '  not match was torn (its writer was killed, the disk was full) and is left out.',
    '- `v` is 1. `seq` counts the events of the file. `atMs` is the clock of the node, in milliseconds since 1970; so is every instant. What ends in',
    '  `Ms` otherwise is a length in milliseconds.',
    '- Lines are at most 64 KiB, and longer texts are cut. Nothing is ever changed or deleted.',
    '- Readers keep kinds, fields and versions that they do not know. Over all files the order is: attempt, then time, then node, and within a',
    '  file the order of its lines.',
    `- These are synced to the disk at once: ${[...SYNCED_KINDS].map((kind) => `\`${kind}\``).join(', ')}.`,
    '',
    ...(Object.keys(EVENT_KINDS) as EventKind[]).flatMap(section),
  ].join('\n');
}

function section(kind: EventKind): readonly string[] {
  const fields: Fields = EVENT_KINDS[kind];
  return [
    `## ${kind}`,
    '',
    EVENT_MEANINGS[kind],
    '',
    '| field | value |',
    '|---|---|',
    ...Object.entries(fields).map(([name, { type }]) => `| \`${name}\` | ${type} |`),
    '',
  ];
}
