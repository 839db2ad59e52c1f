import type { Effect } from '../evidence/codes/kind.ts';
import type { Verdict } from './verdict.ts';

/** The long explanation of one verdict. */
export interface VerdictMeaning {
  /** The effect of the evidence that leads to it; null if it follows from missing evidence. */
  readonly effect: Effect | null;
  /** A few words, as a heading. */
  readonly title: string;
  /** The meaning and the usual reasons. Shown by `holdfast explain VERDICT`. */
  readonly explain: string;
  /** The advice for such a checkpoint. */
  readonly advice: string;
}

/**
 * The meaning of each verdict. `decideVerdict` in verdict.ts picks one. `src/evidence/codes` has
 * its evidence, by effect, and `EVIDENCE_SOURCES` in `src/evidence/catalogue.ts` names the reader
 * that finds it.
 */
export const VERDICT_MEANINGS: Readonly<Record<Verdict, VerdictMeaning>> = {
  RESUMABLE: {
    effect: null,
    title: 'Whole, and every stored checksum matches',
    explain:
      'The checkpoint is whole, its parts agree with each other, and it has optimizer state. Holdfast compared checksums of the whole payload, and all match. Only `--deep` reads the bytes, so a quick look rarely gives this verdict for an unsealed checkpoint.',
    advice: 'Resume from it.',
  },
  UNCHECKED: {
    effect: null,
    title: 'Whole, but not all bytes were compared with a checksum',
    explain:
      'Names, sizes, headers and indexes are correct, and the checkpoint has optimizer state. Bytes inside the tensors may still be damaged: this level did not read them, or the format stores no checksum of them.',
    advice:
      'A run can resume from it. `holdfast verify --deep` compares the stored checksums; `holdfast seal` adds checksums of every byte for the next time. `--require resumable` refuses this verdict.',
  },
  WEIGHTS_ONLY: {
    effect: null,
    title: 'Whole, but without optimizer state',
    explain:
      'The model can be loaded and the save is whole, but it has no optimizer state. A run that starts from it begins with fresh moments. Exports, and saves with `save_only_model` or `save_weights_only`, look like this.',
    advice:
      'Use it for inference or fine-tuning. To resume, take an older full checkpoint, and let the trainer save its optimizer. `holdfast seal --accept=weights` seals such a checkpoint anyway.',
  },
  PARTIAL: {
    effect: 'partial',
    title: 'Something is missing',
    explain:
      'A file, a shard, a rank or the end of a file is not there. The usual reason is a save that was interrupted: the grace ended, the node went away, or the disk was full. Copies and downloads that stopped early look the same.',
    advice:
      'Do not resume from it. `holdfast verify --last-good RUN` names the newest checkpoint that is whole. If this one was copied, copy it again. Keep it until a newer one is verified.',
  },
  ZOMBIE: {
    effect: 'zombie',
    title: 'Pieces of several saves',
    explain:
      'The files are readable one by one, but they do not come from one save: counters, world sizes, shard counts or names contradict each other. Common reasons are an interrupted save over an older one, a resume with fewer ranks beside the files of the old ranks, and files of two runs in one folder. Most frameworks load such a mixture without an error and train on nonsense.',
    advice:
      'Do not resume from it. The evidence names the file and both values; an older whole checkpoint is the way back (`holdfast verify --last-good RUN`). If one leftover file is the only fault and you know its save, move it away and verify again. A trainer that saves into a new folder each time does not make such mixtures.',
  },
  CORRUPT: {
    effect: 'corrupt',
    title: 'Bytes contradict each other',
    explain:
      'A checksum does not match, or a structure contradicts itself: offsets beyond the end, overlapping tensors, an index that points to nothing. Common reasons are flipped bits on a disk, in memory or on the network, two writers of one file, and a program that overwrote a part. Some loaders notice, many do not.',
    advice:
      'Do not resume from it. Take an older checkpoint, or fetch the shipped copy (`holdfast fetch`). If it happens more than once, look at the disk and at the kernel’s log.',
  },
  IN_PROGRESS: {
    effect: 'in-progress',
    title: 'A process is writing it right now',
    explain:
      'A process on this machine has one of the files open for writing, or a file changed while it was read. The save is not finished, so its final state is not known yet.',
    advice: 'Verify again when the writer has ended. Holdfast cannot see a writer on another node.',
  },
  UNKNOWN: {
    effect: 'unreadable',
    title: 'Not read far enough to judge it',
    explain:
      'A file cannot be opened, uses a feature or a version that Holdfast does not read, or goes beyond the limits that protect the reader. The checkpoint may be whole; nothing was proven either way.',
    advice:
      'The evidence says which of these it is. Try again on the node that wrote it, with the right permissions, or with a newer Holdfast; until then resume from an older checkpoint that verifies.',
  },
};
