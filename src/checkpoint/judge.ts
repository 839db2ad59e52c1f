import { excerpt } from '../core/printable.ts';
import { type ContentBuilder, NEEDS, type Need } from './content.ts';
import type { Findings } from './findings.ts';
import type { CheckpointReport, ContentReport, IntegrityReport, Level, SecurityReport } from './report.ts';
import { stepOfName } from './steps.ts';
import type { Unit } from './unit.ts';
import { decideVerdict, type IntegrityStatus } from './verdict.ts';

/** What `--deep` compared. */
export interface Compared {
  readonly checkedBytes: number;
  readonly failures: number;
}

/** Makes the report on one checkpoint from what was found. `path` is how the user would write its place. */
export function judge(unit: Unit, findings: Findings, compared: Compared, as: { level: Level; path: string }): CheckpointReport {
  addContentEvidence(findings);
  const integrity = integrityOf(findings, compared, as.level);
  const files = unit.files();
  return {
    path: as.path,
    format: unit.format === null ? null : { id: unit.format.id, title: unit.format.title },
    kind: unit.kind,
    grouping: unit.grouping,
    files: files.size,
    bytes: [...files.values()].reduce((sum, { size }) => sum + size, 0),
    step: stepOf(unit, findings),
    verdict: decideVerdict({
      effects: new Set(findings.evidence.map(({ effect }) => effect)),
      integrity: integrity.status,
      // Of files that nobody knows the seal is all there is: it must vouch for something.
      hasOptimizer: findings.content.isOpaque ? findings.coverage.checks > 0 : findings.content.found.optimizer.length > 0,
    }),
    isLastGood: false,
    integrity,
    content: contentOf(findings.content, stepOf(unit, findings)),
    security: securityOf(findings),
    evidence: findings.evidence,
    more: Object.fromEntries(findings.suppressed),
  };
}

/** The report with one piece of evidence of each code; the others are counted. */
export function withOneOfEach(report: CheckpointReport): CheckpointReport {
  const more: Record<string, number> = { ...report.more };
  const kept = new Map<string, CheckpointReport['evidence'][number]>();
  for (const one of report.evidence) {
    if (kept.has(one.code)) more[one.code] = (more[one.code] ?? 0) + 1;
    else kept.set(one.code, one);
  }
  return { ...report, evidence: [...kept.values()], more };
}

/** A path below what the user gave, as the user would write it. */
export function joinPath(given: string, path: string): string {
  if (path === '') return given;
  return given === '.' ? path : `${given.replace(/\/+$/, '')}/${path}`;
}

/** The step inside the files when they agree, else the one in the name. */
function stepOf(unit: Unit, findings: Findings): number | null {
  const [first] = findings.content.steps;
  return first?.step ?? stepOfName(unit.path.split('/').at(-1) || unit.directory.name);
}

/** Rules over what all files together contain. */
function addContentEvidence(findings: Findings): void {
  const { found, steps } = findings.content;
  const [first] = steps;
  const other = steps.find(({ step }) => step !== first?.step);
  if (first !== undefined && other !== undefined) {
    findings.add(
      'STEP_MISMATCH',
      { file: other.file, expected: String(first.step), found: String(other.step) },
      `${excerpt(first.where)} says step ${first.step}, but ${excerpt(other.where)} says ${other.step}: pieces of two saves`,
    );
  }
  const hasState = found.optimizer.length + found.scheduler.length > 0;
  if (hasState && found.weights.length === 0 && !findings.isBroken) {
    findings.add('WEIGHTS_MISSING', { file: null }, 'training state was found, but no weights that belong to it');
  }
}

function integrityOf(findings: Findings, compared: Compared, level: Level): IntegrityReport {
  const { checks, algorithms, payloadBytes: coveredBytes } = findings.coverage;
  const { payloadBytes } = findings;
  return {
    status: integrityStatus({ ...compared, coveredBytes, payloadBytes, checks, level }),
    algorithms,
    payloadBytes,
    coveredBytes,
    checkedBytes: compared.checkedBytes,
  };
}

interface Coverage extends Compared {
  readonly coveredBytes: number;
  readonly payloadBytes: number;
  readonly checks: number;
  readonly level: Level;
}

export function integrityStatus(coverage: Coverage): IntegrityStatus {
  if (coverage.failures > 0) return 'bad';
  if (coverage.checks === 0 || (coverage.coveredBytes === 0 && coverage.payloadBytes > 0)) return 'none';
  if (coverage.level === 'quick') return 'not-checked';
  const isWhole = coverage.coveredBytes >= coverage.payloadBytes && coverage.checkedBytes >= coverage.coveredBytes;
  return isWhole ? 'checked' : 'incomplete';
}

function contentOf(content: ContentBuilder, step: number | null): ContentReport {
  const { weights, optimizer, scheduler, rng } = content.found;
  const hasStep = content.steps.length > 0;
  const isMissing = (need: Need) => (need === 'step' ? !hasStep : content.found[need].length === 0);
  return {
    weights: { found: weights.length > 0, where: weights },
    optimizer: { found: optimizer.length > 0, where: optimizer },
    scheduler: { found: scheduler.length > 0, where: scheduler },
    rng: {
      found: rng.length > 0,
      where: rng,
      ranks: [...new Set(content.rngRanks.found)].sort((a, b) => a - b),
      expectedRanks: content.rngRanks.expected,
    },
    step: { found: hasStep, value: step },
    worldSize: content.worldSize,
    isOpaque: content.isOpaque,
    missing: content.isOpaque ? [] : NEEDS.filter(isMissing),
  };
}

function securityOf(findings: Findings): SecurityReport {
  const globals = [...findings.globals].map(([name, count]) => ({ name: excerpt(name), count }));
  return { isUnsafe: findings.evidence.some(({ effect }) => effect === 'security'), globals };
}
