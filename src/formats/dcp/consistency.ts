import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { stepOfName } from '../reading/steps.ts';
import type { DcpMetadata } from './dcp-metadata.ts';
import type { Places } from './item-places.ts';
import { chunkFault, PairBudget } from './tiling.ts';

/** Whether the metadata covers all ranks, or comes from one rank that knows only its own chunks. */
export type Scope = 'global' | 'rank';

/**
 * Checks the metadata against itself: chunks fill their tensor, and every chunk and object has a
 * place.
 */
export function checkConsistency(metadata: DcpMetadata, places: Places, where: { file: string; scope: Scope }, findings: Findings): void {
  const budget = new PairBudget();
  const { file, scope } = where;
  for (const [name, { size, chunks }] of metadata.tensors) {
    const fault = scope === 'global' ? chunkFault(size, chunks, budget) : null;
    if (fault !== null) {
      const message = `tensor ${excerpt(name)} of shape [${excerpt(size.join(', '))}] is not made up of its chunks: ${excerpt(fault, 120)}`;
      findings.add('DCP_CHUNKS', { file, expected: `[${excerpt(size.join(', '))}]`, found: excerpt(fault, 120) }, message);
    }
    const missing = places.match(name, chunks);
    if (missing > 0 && places.isComplete) reportMissing(name, `${missing} of ${chunks.length} chunks`, file, findings);
  }
  for (const name of metadata.objects) if (!places.has(name, []) && places.isComplete) reportMissing(name, 'it', file, findings);
  if (places.isComplete) return;
  const message = `the names and offsets in ${printable(file)} were made to slow down a reader`;
  findings.add('LIMIT_EXCEEDED', { file }, message);
}

/**
 * Compares the folder's name with the name recorded in the metadata. People rename and copy
 * folders, so a different name is only a hint.
 */
export function checkSavedAs({ savedAs }: DcpMetadata, directory: Directory, file: string, findings: Findings): void {
  const saved = savedAs === null ? null : stepOfName(savedAs);
  const named = stepOfName(directory.name);
  if (savedAs === null || saved === null || named === null || saved === named) return;
  const message = `the metadata was saved to a folder ${excerpt(savedAs)}, and lies in ${excerpt(directory.name)}`;
  findings.add('DCP_SAVED_ELSEWHERE', { file, expected: excerpt(directory.name), found: excerpt(savedAs) }, message);
}

function reportMissing(name: string, what: string, file: string, findings: Findings): void {
  const message = `${excerpt(name)} is listed, but no file and offset are given for ${what}`;
  findings.add('DCP_NOT_STORED', { file, expected: excerpt(name) }, message);
}
