import { describe, expect, it } from 'vitest';
import { createRng } from '../../src/core/rng.ts';
import { findStrace } from '../crash/injection/strace.ts';
import { injectSyscall, planSyscalls } from './syscalls.ts';

const tracer = findStrace();
const strace = 'path' in tracer ? tracer.path : '';
/** The faults of each kind at writes, and as many at syncs. */
const SLICE = 3;

describe.skipIf('missing' in tracer)(
  `faults at the writes and syncs of a server${'missing' in tracer ? ` (skipped: ${tracer.missing})` : ''}`,
  () => {
    it('lose nothing that was acknowledged, and the server goes on or is followed by one that does', async () => {
      const possible = await planSyscalls(strace);
      expect(possible.length).toBeGreaterThan(50);
      const syncs = possible.filter(({ call }) => call !== 'pwrite64');
      expect(syncs.length).toBeGreaterThan(10);
      const writes = possible.filter((one) => !syncs.includes(one));
      const rng = createRng(5);
      const kinds = (['SIGKILL', 'ENOSPC', 'EIO'] as const).flatMap((fault) =>
        [writes, syncs].map((of) => of.filter((one) => one.fault === fault)),
      );
      for (const given of kinds.filter(({ length }) => length > 0))
        for (let i = 0; i < SLICE; i++) expect((await injectSyscall(strace, rng.pick(given))).faults).toEqual([]);
    });
  },
);
