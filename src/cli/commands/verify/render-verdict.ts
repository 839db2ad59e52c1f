import { NEEDS } from '../../../formats/reading/content.ts';
import type { CheckpointReport, ContentReport } from '../../../verify/report.ts';
import type { Verdict } from '../../../verify/verdict.ts';
import { formatBytes } from '../../../core/bytes.ts';
import type { Style } from '../../output/style.ts';

/** Returns the verdict in its colour. */
export function verdictLabel(verdict: Verdict, style: Style): string {
  const paint = {
    RESUMABLE: style.green,
    UNCHECKED: style.green,
    WEIGHTS_ONLY: style.yellow,
    IN_PROGRESS: style.yellow,
    UNKNOWN: style.yellow,
  } as const;
  const painted = verdict in paint ? paint[verdict as keyof typeof paint] : style.red;
  return painted(style.bold(verdict));
}

/** Returns what the verdict means for the reader. */
export function verdictSentence({ verdict, integrity }: CheckpointReport): string {
  switch (verdict) {
    case 'RESUMABLE':
      return 'Whole, and every stored checksum matches: a run can resume from it.';
    case 'UNCHECKED':
      return integrity.status === 'not-checked'
        ? 'Its structure is whole: a run could resume from it. Its checksums were not compared; --deep does that.'
        : 'Its structure is whole: a run could resume from it. Not all of its bytes have a checksum to compare with.';
    case 'WEIGHTS_ONLY':
      return 'Whole, but without optimizer state: it can be loaded, but a run cannot resume its training from it.';
    case 'PARTIAL':
      return 'Something is missing: a run cannot resume from it.';
    case 'CORRUPT':
      return 'Its bytes contradict each other: a run must not resume from it.';
    case 'ZOMBIE':
      return 'Pieces of several saves: it may load without an error and be wrong.';
    case 'IN_PROGRESS':
      return 'A process is writing it right now: verify again when it is done.';
    case 'UNKNOWN':
      return 'It could not be read far enough to judge it.';
  }
}

/** Lists the parts that a trainer needs, found or missing. */
export function contentLine(content: ContentReport, style: Style): string {
  if (content.isOpaque) return 'only its trainer knows what it contains';
  return NEEDS.map((need) => (content[need].found ? `${style.green('✓')} ${need}${detail(need, content)}` : style.dim(`✗ ${need}`))).join(
    '   ',
  );
}

function detail(need: (typeof NEEDS)[number], content: ContentReport): string {
  if (need === 'step') return content.step.value === null ? '' : ` ${content.step.value}`;
  if (need !== 'rng' || content.rng.expectedRanks === null || content.rng.expectedRanks < 2) return '';
  return ` (${content.rng.ranks.length} of ${content.rng.expectedRanks} ranks)`;
}

/** Says which bytes were compared with stored checksums. */
export function integrityLine({ integrity }: CheckpointReport): string {
  const { status, payloadBytes, coveredBytes, algorithms } = integrity;
  const names = algorithms.join(' and ');
  switch (status) {
    case 'checked':
      return `${names} over ${formatBytes(coveredBytes)} compared, all match`;
    case 'bad':
      return `${names} compared, and some differ`;
    case 'not-checked':
      return `${names} over ${share(coveredBytes, payloadBytes)}; not compared at this level`;
    case 'incomplete':
      return `${names} over ${share(coveredBytes, payloadBytes)} compared; nothing to compare the rest with`;
    case 'none':
      return 'no checksums are stored in it';
  }
}

function share(covered: number, payload: number): string {
  return covered >= payload ? `all ${formatBytes(payload)}` : `${formatBytes(covered)} of ${formatBytes(payload)}`;
}
