import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../findings.ts';
import type { Directory } from '../source/directory.ts';
import { stepOfName } from '../steps.ts';
import type { DcpMetadata, StoredItem } from './metadata.ts';
import { chunkFault, PairBudget } from './tiling.ts';

/** Whether the metadata is of all ranks, or of one rank that knows only its own chunks. */
export type Scope = 'global' | 'rank';

/** Compares the metadata with itself: chunks make up their tensor, and every chunk and object has a place. */
export function checkConsistency(metadata: DcpMetadata, file: string, scope: Scope, findings: Findings): void {
  const budget = new PairBudget();
  const places = new Set(metadata.stored.map(placeKey));
  for (const [name, { size, chunks }] of metadata.tensors) {
    const fault = scope === 'global' ? chunkFault(size, chunks, budget) : null;
    if (fault !== null) {
      const message = `tensor ${excerpt(name)} of shape [${excerpt(size.join(', '))}] is not made up of its chunks: ${excerpt(fault, 120)}`;
      findings.add('DCP_CHUNKS', { file, expected: `[${excerpt(size.join(', '))}]`, found: excerpt(fault, 120) }, message);
    }
    const missing = chunks.filter(({ offsets }) => !places.has(`${name}\n${offsets.join()}`)).length;
    if (missing > 0) reportMissing(name, `${missing} of ${chunks.length} chunks`, file, findings);
  }
  for (const name of metadata.objects) if (!places.has(`${name}\n`)) reportMissing(name, 'it', file, findings);
}

/** The metadata remembers the folder it was saved to. Folders are renamed and copied, so another name is only a hint. */
export function checkSavedAs({ savedAs }: DcpMetadata, directory: Directory, file: string, findings: Findings): void {
  const saved = savedAs === null ? null : stepOfName(savedAs);
  const named = stepOfName(directory.name);
  if (savedAs === null || saved === null || named === null || saved === named) return;
  const message = `the metadata was saved to a folder ${excerpt(savedAs)}, and lies in ${excerpt(directory.name)}`;
  findings.add('DCP_SAVED_ELSEWHERE', { file, expected: excerpt(directory.name), found: excerpt(savedAs) }, message);
}

/** An object has no offsets; neither has a tensor without dimensions, which is why the two look alike here. */
function placeKey({ name, offsets }: StoredItem): string {
  return `${name}\n${offsets?.join() ?? ''}`;
}

function reportMissing(name: string, what: string, file: string, findings: Findings): void {
  const message = `${excerpt(name)} is listed, but no file and offset are given for ${what}`;
  findings.add('DCP_NOT_STORED', { file, expected: excerpt(name) }, message);
}
