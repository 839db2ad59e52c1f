import type { Capabilities, Trial } from '../../../volumes/capabilities.ts';
import type { PowerLoss } from '../../../volumes/file-systems.ts';
import type { Survival } from '../../../volumes/place.ts';
import type { ProbeReport, SpaceReport } from '../../../volumes/probe-report.ts';
import type { StorageWarning } from '../../../volumes/warnings.ts';
import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import { renderList, wrap } from '../../output/table.ts';

interface Look {
  readonly style: Style;
  readonly columns: number;
}

const SURVIVAL: Readonly<Record<Survival, string>> = {
  yes: 'yes',
  likely: 'likely',
  no: 'NO',
  'not-in-pod': 'not in a pod',
  unknown: 'not known',
};

const POWER_LOSS: Readonly<Record<PowerLoss, string>> = {
  survives: 'what was synced survives',
  server: 'what was synced survives if the server keeps its promises',
  lost: 'everything is lost',
  unknown: 'not known',
};

const TRIED: readonly (readonly [keyof Capabilities, string])[] = [
  ['write', 'write'],
  ['remove', 'remove'],
  ['syncFile', 'sync a file'],
  ['syncFolder', 'sync a folder'],
  ['createExclusively', 'create exclusively'],
  ['renameFolder', 'rename a folder'],
  ['replaceFile', 'replace a file'],
  ['hardLink', 'hard link'],
];

/** A checkpoint size that makes a bandwidth easy to imagine. */
const EXAMPLE_BYTES = 10 * 2 ** 30;

/** Renders the report for a person: one screen, the warnings first. */
export function renderProbe(report: ProbeReport, look: Look): readonly string[] {
  const { style, columns } = look;
  const { fileSystem, place, commit, capabilities, space } = report;
  const name =
    fileSystem.type === null || fileSystem.type === fileSystem.id
      ? fileSystem.title
      : `${fileSystem.title} (${printable(fileSystem.type)})`;
  const where = fileSystem.source === null ? '' : ` · ${printable(fileSystem.source)} at ${printable(fileSystem.mountPoint ?? '')}`;
  return [
    `${style.bold(printable(report.folder))}: ${conclusion(report, style)}`,
    '',
    ...report.warnings.flatMap((warning) => warningLines(warning, look)),
    ...(report.warnings.length > 0 ? [''] : []),
    ...renderList(
      [
        [style.dim('file system'), `${name}${where}`],
        ['', fileSystem.note],
        [style.dim('survives the pod'), `${SURVIVAL[place.survivesPod]} · ${place.title}`],
        ['', place.why],
        [style.dim('survives a power cut'), POWER_LOSS[fileSystem.powerLoss]],
        [style.dim('commit'), `${commit.protocol}: ${commit.reason}`],
        ...(capabilities === null ? [] : [[style.dim('tried'), triedText(capabilities, style)] as const]),
        [style.dim('room for saves'), roomText(space)],
        ...speedItems(report, style),
      ],
      columns,
    ),
  ];
}

function conclusion({ commit, warnings }: ProbeReport, style: Style): string {
  switch (commit.protocol) {
    case 'refuse':
      return style.red('no checkpoint can be committed here.');
    case 'manifest-last':
      return style.red('no run can be kept here, only copies of finished checkpoints.');
    case 'rename':
      return warnings.some(({ level }) => level === 'loud')
        ? style.red('not a safe place for checkpoints.')
        : style.green('checkpoints can be committed here, in one step.');
  }
}

function warningLines({ code, level, message }: StorageWarning, { style, columns }: Look): string[] {
  const paint = level === 'loud' ? style.red : style.yellow;
  const [first = '', ...more] = wrap(`${code}: ${printable(message)}`, columns - 4);
  return [`  ${paint(level === 'loud' ? '!' : '·')} ${first}`, ...more.map((line) => `    ${line}`)].map((line) =>
    line.replace(code, paint(code)),
  );
}

function triedText(capabilities: Capabilities, style: Style): string {
  return TRIED.map(([name, text]) => trialText(text, capabilities[name], style)).join(' · ');
}

function trialText(text: string, { outcome, detail }: Trial, style: Style): string {
  if (outcome === 'works') return text;
  const result = outcome === 'not-tried' ? 'not tried' : detail === null ? outcome : `${outcome}, ${detail}`;
  return style.yellow(`${text}: ${printable(result)}`);
}

function roomText({
  isReal,
  totalBytes,
  availableBytes,
  usableBytes,
  usableFiles,
  evictionLine,
  ephemeral,
  limitedBy,
}: SpaceReport): string {
  if (!isReal) return 'not known: a bucket has no size';
  const parts = [`${formatBytes(availableBytes)} free of ${formatBytes(totalBytes)}`];
  if (evictionLine !== null) parts.push(`${evictionLine.signal} line at ${evictionLine.text} = ${formatBytes(evictionLine.bytes)}`);
  if (ephemeral !== null) {
    parts.push(`ephemeral-storage limit ${formatBytes(ephemeral.limitBytes)}, at least ${formatBytes(ephemeral.usedBytes)} used`);
  }
  const down =
    limitedBy === 'eviction-line' ? ' down to the eviction line' : limitedBy === 'ephemeral-limit' ? ' up to the limit of the pod' : '';
  const files = usableFiles === null ? '' : `, ${usableFiles} files`;
  return `${formatBytes(usableBytes)}${down}${files} (${parts.join('; ')})`;
}

function speedItems({ bandwidth, syncLatency, notMeasured }: ProbeReport, style: Style): (readonly [string, string])[] {
  if (bandwidth === null || syncLatency === null) return [[style.dim('speed'), `not measured: ${notMeasured ?? ''}`]];
  const { medianBytesPerSecond, lowBytesPerSecond, rounds, bytesPerRound } = bandwidth;
  const time = (rate: number): string => formatDuration((1000 * EXAMPLE_BYTES) / rate);
  return [
    [
      style.dim('write and sync'),
      `${formatBytes(medianBytesPerSecond)}/s median, ${formatBytes(lowBytesPerSecond)}/s in the slowest tenth (${rounds.length} × ${formatBytes(bytesPerRound)})`,
    ],
    ['', `${formatBytes(EXAMPLE_BYTES)} take ${time(medianBytesPerSecond)}, or ${time(lowBytesPerSecond)} when it is slow`],
    [
      style.dim('sync of 4 KiB'),
      `${syncLatency.p50Ms} ms median, ${syncLatency.p95Ms} ms for the slowest twentieth (${syncLatency.samples} times)`,
    ],
  ];
}
