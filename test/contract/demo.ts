import { demoData } from '../../src/cli/commands/demo/demo-data.ts';
import type { DemoReport } from '../../src/demo/demo.ts';
import type { Lane } from '../../src/demo/play.ts';
import { SCENES } from '../../src/demo/scenes.ts';

const TWIN = 'slope 3.0 offset 1.0';

function lane(keeper: Lane['keeper'], decision: string | null, refused: string | null): Lane {
  const first = {
    from: 0,
    at: 240,
    saves: [
      { step: 100, state: 'kept' },
      { step: 240, state: 'writing' },
    ],
    result: null,
    code: 143,
    refused: null,
  } as const;
  const second = { from: 101, at: 500, saves: [], result: TWIN, code: 0, refused };
  return { keeper, lives: [first, second], decision, complaint: refused };
}

/**
 * The output of `demo --json`, built from the possible results, because playing a demo takes half a
 * minute.
 */
export function demoDocuments(): readonly unknown[] {
  const scenes = SCENES.map((scene) => ({
    scene,
    bare: lane('bare', null, null),
    holdfast: lane('holdfast', 'flush', 'step-240'),
    claims: [{ claim: 'the run was finished', held: true }],
  }));
  const report: DemoReport = { python: 'python3', twin: TWIN, scenes, folder: null, elapsedMs: 1 };
  const stuck = scenes.map((played) => ({ ...played, bare: { ...played.bare, lives: [], complaint: 'it cannot be loaded' } }));
  return [demoData(report), demoData({ ...report, scenes: stuck, folder: '/tmp/demo' })].map(
    (data) => JSON.parse(JSON.stringify(data)) as unknown,
  );
}
