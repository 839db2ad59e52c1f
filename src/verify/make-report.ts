import { excerpt } from '../core/printable.ts';
import { type ContentBuilder, NEEDS, type Need } from '../formats/reading/content.ts';
import type { Findings } from '../formats/reading/findings.ts';
import type { CheckpointReport, ContentReport, IntegrityReport, Level, SecurityReport } from './report.ts';
import { stepOfName } from '../formats/reading/steps.ts';
import type { Unit } from '../formats/reading/unit.ts';
import type { Manifest } from '../seal/manifest.ts';
import { decideVerdict, type IntegrityStatus } from './verdict.ts';

/** What `--deep` compared. */
export interface Compared {
  readonly checkedBytes: number;
  readonly failures: number;
}

/** How a report is put together. */
export interface ReportOptions {
  readonly level: Level;
  readonly path: string;
  /** The content of its seal; null without a seal. */
  readonly seal: Pick<Manifest, 'step' | 'origin'> | null;
}

/**
 * Makes the report on one checkpoint from its findings. `path` is its place as the user would write
 * it.
 */
export function makeReport(unit: Unit, findings: Findings, compared: Compared, as: ReportOptions): CheckpointReport {
  addContentEvidence(findings);
  const integrity = integrityOf(findings, compared, as.level);
  const files = unit.files();
  // A seal names the step from which the run resumes; files may count epochs or batches of their
  // own.
  const step = as.seal?.step ?? stepOf(unit, findings);
  return {
    path: as.path,
    format: unit.format === null ? null : { id: unit.format.id, title: unit.format.title },
    kind: unit.kind,
    grouping: unit.grouping,
    files: files.size,
    bytes: [...files.values()].reduce((sum, { size }) => sum + size, 0),
    step,
    verdict: decideVerdict({
      effects: new Set(findings.evidence.map(({ effect }) => effect)),
      integrity: integrity.status,
      hasOptimizer: hasOptimizer(findings, as.seal),
    }),
    isLastGood: false,
    isExport: false,
    integrity,
    content: contentOf(findings.content, step, as.seal !== null),
    security: securityOf(findings),
    evidence: findings.evidence,
    more: Object.fromEntries(findings.suppressed),
  };
}

/** Whether a run could resume with it, as far as its content shows. */
function hasOptimizer({ content, coverage }: Findings, seal: ReportOptions['seal']): boolean {
  // For files without a reader the seal is the only evidence: it must vouch for at least one byte.
  if (content.isOpaque) return coverage.checks > 0;
  // A trainer made the save to resume from it, and some optimizers keep no state.
  return seal?.origin === 'save' || content.found.optimizer.length > 0;
}

/** The report has one piece of evidence for each code, and counts the others. */
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

/** The step inside the files if they agree, else the step in the name. */
function stepOf(unit: Unit, findings: Findings): number | null {
  const [first] = findings.content.steps;
  return first?.step ?? stepOfName(unit.path.split('/').at(-1) || unit.directory.name);
}

/** Rules for the content of all files together. */
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

/** How far checksums cover the payload, in one word. */
export function integrityStatus(coverage: Coverage): IntegrityStatus {
  if (coverage.failures > 0) return 'bad';
  if (coverage.checks === 0 || (coverage.coveredBytes === 0 && coverage.payloadBytes > 0)) return 'none';
  if (coverage.level === 'quick') return 'not-checked';
  const isWhole = coverage.coveredBytes >= coverage.payloadBytes && coverage.checkedBytes >= coverage.coveredBytes;
  return isWhole ? 'checked' : 'incomplete';
}

function contentOf(content: ContentBuilder, step: number | null, isSealed: boolean): ContentReport {
  const { weights, optimizer, scheduler, rng } = content.found;
  const hasStep = isSealed || content.steps.length > 0;
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
