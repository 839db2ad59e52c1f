import { arch, cpus, release, totalmem } from 'node:os';
import { wrap } from '../../src/cli/output/table.ts';
import { formatBytes } from '../../src/core/bytes.ts';
import type { SuiteResult, VariantResult } from './suite.ts';

/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

/** One suite as a section of RESULTS.md. */
export function renderSuite({ suite, results }: SuiteResult, date: string): string {
  const reference = results.get(suite.reference);
  const rows = [...results.values()].map((result) => renderRow(result, reference, suite.bytes));
  const rate = suite.bytes > 0 ? ' GB/s |' : '';
  return [
    `## ${suite.name}`,
    '',
    ...wrap(suite.description, COLUMNS),
    '',
    `| variant | median s | min–max s |${rate} × ${suite.reference} | peak memory |`,
    `|---|---|---|${suite.bytes > 0 ? '---|' : ''}---|---|`,
    ...rows,
    '',
    ...suite.bounds.map((bound) => `- ${wrap(`${bound.isMet(results) ? 'met' : '**missed**'}: ${bound.text}`, COLUMNS - 2).join('\n  ')}`),
    '',
    ...wrap(`Measured ${date}, ${suite.rounds} interleaved rounds, ${machine()}.`, COLUMNS),
    '',
  ].join('\n');
}

function renderRow({ name, seconds, peakBytes }: VariantResult, reference: VariantResult | undefined, bytes: number): string {
  const ratio = reference === undefined ? Number.NaN : seconds.median / reference.seconds.median;
  const rate = bytes > 0 ? ` ${(bytes / seconds.median / 1e9).toFixed(2)} |` : '';
  const spread = `${seconds.min.toFixed(3)}–${seconds.max.toFixed(3)}`;
  return `| ${name} | ${seconds.median.toFixed(3)} | ${spread} |${rate} ${ratio.toFixed(2)} | ${peakBytes === null ? '–' : formatBytes(peakBytes)} |`;
}

function machine(): string {
  const [cpu] = cpus();
  return `Node ${process.versions.node}, Linux ${release()} ${arch()}, ${cpus().length} × ${cpu?.model ?? 'unknown'}, ${formatBytes(totalmem())} of memory`;
}

/** Replaces one suite's section in RESULTS.md, or appends it. Other sections stay. */
export function replaceSection(document: string, name: string, section: string): string {
  const parts = document.split(/^(?=## )/m);
  const at = parts.findIndex((part) => part.startsWith(`## ${name}\n`));
  if (at === -1) parts.push(section);
  else parts[at] = section;
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}
