import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRng } from '../../src/core/rng.ts';
import { readFixtures } from '../support/fixtures.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { loadVictim, tryMutant } from './mutant.ts';

/** A slice of what `npm run fuzz` does at length; another seed may be given to look elsewhere. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20261115);
const MUTANTS = Number(process.env['FUZZ_MUTANTS'] ?? 25);

it.each(readFixtures())(
  `no mutant of $id crashes a reader, hangs it, or is called RESUMABLE with changed bytes (seed ${SEED})`,
  async (fixture) => {
    using folder = tempFolder();
    const victim = loadVictim(fixture);
    const rng = createRng(SEED).fork(fixture.id);
    for (let index = 0; index < MUTANTS; index++) {
      const { what, fault } = await tryMutant(victim, rng.fork(String(index)), join(folder.path, 'mutant'));
      expect(fault, `mutant ${index}: ${what}`).toBeNull();
    }
  },
);
