import { existsSync } from 'node:fs';
import { formatBytes } from '../src/core/bytes.ts';
import { LARGE_BYTES, roundsOr } from './support/size.ts';
import { MEMORY, StagedRun } from './support/staged-run.ts';
import type { Suite } from './support/suite.ts';

const PLAIN = 'plain tmpfs';
const SAVE = 'save block, staged';

/**
 * How long a trainer waits for a save that goes to memory first, compared with the same write into
 * memory alone.
 */
export async function runStall(): Promise<Suite | string> {
  if (!existsSync(MEMORY)) return `there is no ${MEMORY}`;
  const run = await StagedRun.start(LARGE_BYTES);
  return {
    name: 'stall of a staged save',
    description: `A Python trainer under \`holdfast run\` writes ${formatBytes(LARGE_BYTES)} in blocks of 8 MiB: from \`run.step()\` to the end of the save block, beside the same write into a folder in memory. Nothing else is being sealed or deleted meanwhile.`,
    rounds: roundsOr(9),
    reference: PLAIN,
    bytes: LARGE_BYTES,
    variants: [
      { name: PLAIN, prepare: () => run.rest(), run: async () => ({ seconds: await run.plain() }) },
      { name: SAVE, prepare: () => run.rest(), run: async () => ({ seconds: await run.save() }) },
    ],
    bounds: [
      {
        text: `"${SAVE}" takes at most 1.10 × "${PLAIN}"`,
        isMet: (results) => (results.get(SAVE)?.seconds.median ?? Number.NaN) <= 1.1 * (results.get(PLAIN)?.seconds.median ?? 0),
      },
    ],
    dispose: () => void run.dispose(),
  };
}
