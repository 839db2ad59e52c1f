import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVIDENCE_CODES } from '../../src/evidence/catalogue.ts';
import { DIRECTORY_FORMATS, FILE_FORMATS, FILE_SET_FORMATS } from '../../src/formats/table.ts';
import { VERDICTS } from '../../src/verify/verdict.ts';
import type { Operand, Option, OptionTable } from '../../src/cli/frame/command.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { GLOBAL_OPTIONS } from '../../src/cli/frame/global-options.ts';
import { ERROR_CODES } from '../../src/core/error-codes.ts';
import { EXIT } from '../../src/core/exit-codes.ts';
import { END_CAUSES } from '../../src/domain/causes/catalogue.ts';
import { POD_FAILURE_POLICY, RUN_ENDS } from '../../src/domain/exit/exit-contract.ts';
import { CAUSES } from '../../src/domain/grace/notice.ts';
import { EVENT_KINDS } from '../../src/ledger/events.ts';
import type { Fields } from '../../src/ledger/field-types.ts';
import { RULES } from '../../src/lint/catalogue.ts';
import { METRICS } from '../../src/supervisor/status/metrics.ts';
import { ROOT } from '../support/run-process.ts';
import type { Tree } from './compare.ts';

/**
 * Every name that a program may depend on and that is in a table of the source: commands, codes,
 * kinds, names.
 */
export async function readTables(): Promise<Readonly<Record<string, Tree>>> {
  const commands = await Promise.all(COMMANDS.map(async (entry) => [entry.name, commandOf(await entry.load())] as const));
  const formats = [...FILE_FORMATS, ...DIRECTORY_FORMATS, ...FILE_SET_FORMATS];
  return {
    commands: Object.fromEntries(commands),
    globalOptions: optionsOf(GLOBAL_OPTIONS),
    errorCodes: mapValues(ERROR_CODES, ({ exit }) => String(exit)),
    exitCodes: mapValues(EXIT, String),
    runEnds: Object.keys(RUN_ENDS),
    podFailurePolicy: POD_FAILURE_POLICY.split('\n').map((line) => line.replace(/ +#.*/, '')),
    evidenceCodes: mapValues(EVIDENCE_CODES, ({ effect }) => effect),
    verdicts: VERDICTS,
    formats: formats.map(({ id }) => id),
    causes: mapValues(CAUSES, ({ terminating }) => (terminating ? 'ends the attempt' : 'advises a save')),
    endCauses: Object.keys(END_CAUSES),
    lintRules: RULES.map(({ code }) => code),
    ledgerEvents: mapValues<Fields>(EVENT_KINDS, (fields) => mapValues(fields, ({ type }) => type)),
    metrics: mapValues(Object.fromEntries(METRICS.map((metric) => [metric.name, metric])), ({ type }) => type),
    schemas: wordsOf(/(?<![\w.])holdfast\.[a-z][a-z-]*\/\d+/g),
    annotations: wordsOf(/\bholdfast\.dev\/[a-z-]+/g),
    variables: wordsOf(/\bHOLDFAST_[A-Z_]*[A-Z]\b/g),
  };
}

function commandOf({ operand, options }: { readonly operand: Operand | null; readonly options: OptionTable }): Tree {
  return { operands: operand?.count ?? 'none', options: optionsOf(options) };
}

function optionsOf(options: OptionTable): Tree {
  return mapValues(options, (option) => ({
    kind: option.kind,
    short: option.short ?? 'none',
    ...(option.kind === 'flag' ? {} : { default: option.default ?? 'none' }),
    ...wordsOfOption(option),
  }));
}

function wordsOfOption(option: Option): Readonly<Record<string, Tree>> {
  if (option.kind === 'choice') return { choices: option.choices };
  return option.kind === 'value' ? { value: option.value } : {};
}

/** The matches of a pattern in the sources of the commands, the launcher and the Python package. */
function wordsOf(pattern: RegExp): readonly string[] {
  const files = ['src', 'python/holdfast', 'bin'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(ROOT, folder, name)),
  );
  const sources = files.filter((file) => /(?<!\.test)\.ts$|\.py$|bin\/holdfast$/.test(file));
  return [...new Set(sources.flatMap((file) => readFileSync(file, 'utf8').match(pattern) ?? []))].sort();
}

function mapValues<T>(table: Readonly<Record<string, T>>, pick: (value: T) => Tree): Readonly<Record<string, Tree>> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, pick(value)]));
}
