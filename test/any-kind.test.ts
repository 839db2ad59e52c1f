import { describe, expect, it } from 'vitest';
import { EXIT } from '../src/core/exit-codes.ts';
import { playLines } from './support/kinds/play-lines.ts';
import { PLACES, THINGS } from './support/kinds/things.ts';
import { sliceOfCommit } from './support/slice.ts';

/**
 * Of all places, which take two minutes; a few commits have them all, and `HOLDFAST_WHOLE=1` too.
 */
const PLACES_EACH = 6;

interface Line {
  readonly place: string;
  readonly starts?: string;
  readonly skipped?: string;
  readonly command?: string;
  readonly code?: number;
  readonly stderr?: string;
  readonly isSecretTold?: boolean;
  readonly isOutsideChanged?: boolean;
}

const CODES: ReadonlySet<number> = new Set(Object.values(EXIT).filter((code) => code !== EXIT.internal));

describe.each(Object.keys(THINGS))('where %s lies in any place of a run', (kind) => {
  it('every command ends within its deadline, with a documented code, and prints and changes nothing outside the folder', async ({
    skip,
  }) => {
    const places = [...sliceOfCommit(PLACES, PLACES_EACH)];
    const { lines, isWhole } = await playLines('play.ts', [kind, ...places]);
    const ends = lines as readonly Line[];
    const refused = ends.filter(({ skipped }) => skipped !== undefined);
    if (refused.length === places.length) skip(`it cannot be made here: ${refused[0]?.skipped ?? ''}`);
    expect(isWhole, `did not end: ${JSON.stringify(lines.at(-1))}`).toBe(true);
    const wrong = ends.filter(
      ({ code, isSecretTold, isOutsideChanged }) =>
        code !== undefined && (!CODES.has(code) || isSecretTold === true || isOutsideChanged === true),
    );
    expect(wrong).toEqual([]);
  });
});
