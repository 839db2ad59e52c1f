import type { Effect, EvidenceKind } from '../../../evidence/codes/kind.ts';
import { ERROR_CODES } from '../../../core/error-codes.ts';
import { EXIT_ADVICE, type JobAction } from '../../../core/exit-advice.ts';
import { EXIT, EXIT_MEANINGS } from '../../../core/exit-codes.ts';
import type { Severity } from '../../../lint/source/finding.ts';

interface AnyEntry {
  /** What a user gives to `explain`. */
  readonly code: string;
  /** What it does to a verdict, and for a verdict what leads to it; null for all else. */
  readonly effect: Effect | null;
  /** The exit code; null for what has none. */
  readonly exit: number | null;
  readonly title: string;
  readonly explain: string;
}

/** A code of evidence. */
interface EvidenceEntry extends AnyEntry {
  readonly kind: 'evidence';
  readonly effect: Effect;
}

/** A code of an error. */
interface ErrorEntry extends AnyEntry {
  readonly kind: 'error';
  readonly exit: number;
}

/** A rule of `lint`. */
interface RuleEntry extends AnyEntry {
  readonly kind: 'rule';
  readonly severity: Severity;
  readonly advice: string;
}

/** A verdict of `verify`. */
export interface VerdictEntry extends AnyEntry {
  readonly kind: 'verdict';
  readonly advice: string;
  /** The evidence that leads to it, under what it is about. */
  readonly evidence: readonly { readonly about: string; readonly codes: readonly string[] }[];
}

/** An exit code, Holdfast's own or another. */
export interface ExitEntry extends AnyEntry {
  readonly kind: 'exit';
  readonly exit: number;
  /** As `help exit-codes --json` names it; null for one that Holdfast never gives by itself. */
  readonly name: string | null;
  /** For a script that called the command, or for a person. */
  readonly advice: string;
  /** What a Job should do about it; null where `run` does not end with it. */
  readonly job: JobAction | null;
}

/** A cause of an interruption, or of an advice to save. */
export interface CauseEntry extends AnyEntry {
  readonly kind: 'cause';
  readonly advice: string;
  readonly terminating: boolean;
  /** Null: what the process was promised. */
  readonly usualGraceSeconds: number | null;
}

/** A cause that ended a pod, as `why` names it. */
export interface EndEntry extends AnyEntry {
  readonly kind: 'end';
}

/** Something that `explain` knows, whichever table it is from. */
export type Entry = EvidenceEntry | RuleEntry | ErrorEntry | VerdictEntry | ExitEntry | CauseEntry | EndEntry;

/** Everything that has a name, in the order in which it is listed. */
export async function readEntries(): Promise<readonly Entry[]> {
  const exits = [...(await exitEntries()), ...(await signalEntries())].sort((a, b) => a.exit - b.exit);
  return [
    ...(await verdictEntries()),
    ...(await evidenceEntries()),
    ...(await ruleEntries()),
    ...errorEntries(),
    ...exits,
    ...(await causeEntries()),
    ...(await endEntries()),
  ];
}

/** What any number from 0 to 255 means as an exit code; null for other numbers and for words. */
export async function exitEntry(text: string): Promise<ExitEntry | null> {
  const code = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(code <= 255)) return null;
  return (await exitEntries()).find(({ exit }) => exit === code) ?? (await foreignEntry(code));
}

async function verdictEntries(): Promise<readonly VerdictEntry[]> {
  const { VERDICT_MEANINGS } = await import('../../../verify/verdict-meanings.ts');
  const { codesByEffect } = await import('../../../evidence/catalogue.ts');
  return Object.entries(VERDICT_MEANINGS).map(([code, { effect, ...words }]) => ({
    code,
    kind: 'verdict',
    effect,
    exit: null,
    ...words,
    evidence: effect === null ? [] : codesByEffect(effect),
  }));
}

async function evidenceEntries(): Promise<readonly EvidenceEntry[]> {
  const { EVIDENCE_CODES } = await import('../../../evidence/catalogue.ts');
  return Object.entries<EvidenceKind>(EVIDENCE_CODES).map(([code, { effect, title, explain }]) => ({
    code,
    kind: 'evidence',
    effect,
    exit: null,
    title,
    explain,
  }));
}

async function ruleEntries(): Promise<readonly RuleEntry[]> {
  const { RULES } = await import('../../../lint/catalogue.ts');
  return RULES.map(({ code, severity, title, why, fix }) => ({
    code,
    kind: 'rule',
    effect: null,
    exit: null,
    title,
    explain: why,
    severity,
    advice: fix,
  }));
}

function errorEntries(): readonly ErrorEntry[] {
  return Object.entries(ERROR_CODES).map(([code, { exit, title, explain }]) => ({
    code,
    kind: 'error',
    effect: null,
    exit,
    title,
    explain,
  }));
}

async function exitEntries(): Promise<readonly ExitEntry[]> {
  const { RUN_ENDS } = await import('../../../domain/exit/exit-contract.ts');
  return (Object.keys(EXIT) as (keyof typeof EXIT)[]).map((name) => {
    const { title, script, job } = EXIT_ADVICE[name];
    const end = Object.values(RUN_ENDS).find(({ code }) => code === String(EXIT[name]));
    const underRun = end === undefined ? '' : ` \`run\`: ${end.means}. ${end.when}.`;
    const explain = `${EXIT_MEANINGS[name]}${underRun}`;
    return { code: String(EXIT[name]), kind: 'exit', effect: null, exit: EXIT[name], title, explain, name, advice: script, job };
  });
}

async function signalEntries(): Promise<readonly ExitEntry[]> {
  const { SIGNAL_EXITS } = await import('../../../domain/exit/foreign-exits.ts');
  return Promise.all(Object.keys(SIGNAL_EXITS).map((code) => foreignEntry(Number(code))));
}

async function foreignEntry(code: number): Promise<ExitEntry> {
  const { foreignExit } = await import('../../../domain/exit/foreign-exits.ts');
  return { code: String(code), kind: 'exit', effect: null, exit: code, name: null, ...foreignExit(code), job: 'Count' };
}

async function causeEntries(): Promise<readonly CauseEntry[]> {
  const { CAUSES } = await import('../../../domain/grace/notice.ts');
  const { CAUSE_MEANINGS } = await import('../../../domain/grace/cause-meanings.ts');
  return (Object.keys(CAUSES) as (keyof typeof CAUSES)[]).map((code) => {
    const { label, terminating, usualGraceMs } = CAUSES[code];
    return {
      code,
      kind: 'cause',
      effect: null,
      exit: null,
      title: `${label[0]?.toUpperCase()}${label.slice(1)}`,
      ...CAUSE_MEANINGS[code],
      terminating,
      usualGraceSeconds: usualGraceMs === null ? null : usualGraceMs / 1000,
    };
  });
}

async function endEntries(): Promise<readonly EndEntry[]> {
  const { END_CAUSES } = await import('../../../domain/causes/catalogue.ts');
  return Object.entries(END_CAUSES).map(([code, { title, explain }]) => ({ code, kind: 'end', effect: null, exit: null, title, explain }));
}
