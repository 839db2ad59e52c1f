import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { formatBytes } from '../src/core/bytes.ts';
import { readLedger } from '../src/ledger/reader.ts';
import { measureProcess } from './support/process.ts';
import { LARGE_BYTES, roundsOr } from './support/size.ts';
import { summarise } from './support/statistics.ts';
import { MEMORY, StagedRun } from './support/staged-run.ts';
import type { Suite, Variant } from './support/suite.ts';

const RAW = 'raw write + fsync';
const DIRECT = 'raw direct write + fsync';
const SEALED = 'SIGTERM → sealed';

/**
 * The time until saves that SIGTERM finds in memory are sealed. For comparison, the same bytes are
 * written to the same disk through the page cache and past it.
 */
export async function runFlush(): Promise<Suite | string> {
  if (!existsSync(MEMORY)) return `there is no ${MEMORY}`;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const image = mkdtempSync(join(MEMORY, 'holdfast-bench-'));
  spawnSync('sh', ['-c', `head -c ${LARGE_BYTES} /dev/urandom > ${image}/state`]);
  const raw = (name: string, flags: readonly string[]): Variant => ({
    name,
    prepare: () => {
      rmSync(join(folder, 'raw'), { force: true });
      spawnSync('sync');
    },
    run: () => measureProcess(['dd', `if=${image}/state`, `of=${folder}/raw`, 'bs=8M', ...flags, 'conv=fsync', 'status=none']),
  });
  let run: StagedRun | null = null;
  const decisionsMs: number[] = [];
  return {
    name: 'flush of a staged save',
    description: `${formatBytes(LARGE_BYTES)} in one file in memory (tmpfs), handed over by a trainer under \`holdfast run\` right before SIGTERM: copy, checksums, syncs, commit. The reference copies a file of that size from memory to the same disk with \`dd\` in blocks of 8 MiB, through the page cache or past it, and syncs it; the quicker of both counts. Everything is synced before each round.`,
    rounds: roundsOr(9),
    reference: RAW,
    bytes: LARGE_BYTES,
    variants: [
      raw(RAW, []),
      raw(DIRECT, ['oflag=direct']),
      {
        name: SEALED,
        prepare: async () => {
          rmSync(join(folder, 'raw'), { force: true });
          run = await StagedRun.start(LARGE_BYTES);
          spawnSync('sync');
        },
        run: async () => {
          if (run === null) throw new Error('not prepared');
          try {
            await run.save();
            const started = performance.now();
            run.signal('SIGTERM');
            await run.line(/sealed step 2 /);
            const seconds = (performance.now() - started) / 1000;
            decisionsMs.push(decisionTime(run.dir));
            return { seconds };
          } finally {
            await run.dispose();
            run = null;
          }
        },
      },
    ],
    bounds: [
      {
        text: `"${SEALED}" takes at most 1.05 × the quicker of "${RAW}" and "${DIRECT}"`,
        isMet: (results) =>
          (results.get(SEALED)?.seconds.median ?? Number.NaN) <=
          1.05 * Math.min(...[RAW, DIRECT].map((name) => results.get(name)?.seconds.median ?? 0)),
      },
      {
        get text() {
          const sorted = decisionsMs.toSorted((a, b) => a - b);
          return `from the notice to the decision, the notice written down in between, at most 5 ms (median ${summarise(decisionsMs).median} ms; all: ${sorted.join(', ')})`;
        },
        isMet: () => Math.max(...decisionsMs) <= 5,
      },
    ],
    dispose: () => {
      for (const path of [folder, image]) rmSync(path, { recursive: true });
    },
  };
}

/** The time from the notice in the ledger to the decision. */
function decisionTime(dir: string): number {
  const { events } = readLedger(dir);
  const at = (kind: string): number => events.find(({ event }) => event.kind === kind)?.atMs ?? Number.NaN;
  return at('decision') - at('notice');
}
