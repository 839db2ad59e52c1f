import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Life, UNBORN } from '../../../demo/life.ts';
import type { Lane } from '../../../demo/play.ts';
import { SCENES } from '../../../demo/scenes.ts';
import { createStyle } from '../../output/style.ts';
import { displayWidth } from '../../output/width.ts';
import { closingLines, sceneLines } from './render-demo.ts';

const TWIN = 'slope 3.0 offset 1.0';
const LOOK = { style: createStyle({ stream: { isTTY: true }, env: {}, noColor: false }), columns: 100 };
const kept = (...steps: readonly number[]): Life['saves'] => steps.map((step) => ({ step, state: 'kept' }));
const laneOf = (keeper: Lane['keeper'], ...lives: readonly Partial<Life>[]): Lane => ({
  keeper,
  lives: lives.map((life) => ({ ...UNBORN, ...life })),
  decision: null,
  complaint: null,
});
const [scene] = SCENES;
if (scene === undefined) throw new Error('no scene');
const BARE = laneOf('bare', { from: 0, at: 240, saves: [...kept(100, 200), { step: 240, state: 'writing' }], code: 137 }, { code: 1 });
const HELD = laneOf(
  'holdfast',
  { from: 0, at: 240, saves: kept(100, 200), code: 143 },
  { from: 201, at: 490, saves: kept(300, 400), code: 0, result: TWIN },
);

describe('a scene', () => {
  it('shows every life on the axis of steps, and its result', () => {
    const lines = sceneLines(1, { scene, lanes: { bare: BARE, holdfast: HELD }, twin: TWIN }, LOOK).map(stripVTControlCharacters);
    expect(lines.slice(3)).toMatchInlineSnapshot(`
      [
        "   bare      ━━━━━━━●━━━━━━━●━━◐✕                      exit 137, half of step 240 is on disk",
        "             ✕                                         exit 1: step 240 cannot be loaded, ever",
        "   holdfast  ━━━━━━━●━━━━━━━●━━━✕                      exit 143, no save: the time is too short",
        "                            ━━━━━━━━●━━━━━━━●━━━━━━━✔  exit 0, equal, bit for bit",
      ]
    `);
  });

  it('keeps to the columns, before anything has begun and while it runs', () => {
    for (const columns of [80, 100, 110]) {
      for (const lanes of [
        { bare: null, holdfast: null },
        { bare: BARE, holdfast: laneOf('holdfast', { from: 0, at: 90 }) },
      ]) {
        const lines = sceneLines(3, { scene, lanes, twin: TWIN }, { ...LOOK, columns });
        expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns);
        expect(lines).toHaveLength(7);
      }
    }
  });
});

describe('the end', () => {
  const report = (isHeld: boolean) => ({
    python: '3.12.1',
    twin: TWIN,
    scenes: [{ scene, bare: BARE, holdfast: HELD, claims: [{ claim: 'the run was finished', held: isHeld }] }],
    folder: null,
    elapsedMs: 30_000,
  });

  it('shows both runs beside each other', () => {
    const text = stripVTControlCharacters(closingLines(report(true), LOOK).join('\n'));
    expect(text).toContain('ended like the twin, bit for bit    0 of 1                1 of 1');
    expect(text).toContain('all of it             at most 40 steps each');
    expect(text).toContain('Holdfast kept every promise');
  });

  it('names the claims that did not hold', () => {
    expect(stripVTControlCharacters(closingLines(report(false), LOOK).join('\n'))).toContain('✗ short-grace: the run was finished');
  });
});
