import { outcomeOf, stepsLost } from '../../../demo/claims.ts';
import type { DemoReport } from '../../../demo/demo.ts';
import type { Lane } from '../../../demo/play.ts';

/** The document that `demo --json` prints. */
export function demoData({ python, twin, scenes, folder, elapsedMs }: DemoReport) {
  return {
    schema: 'holdfast.demo/1',
    python,
    twin,
    elapsedMs: Math.round(elapsedMs),
    folder,
    scenes: scenes.map(({ scene, bare, holdfast, claims }) => ({
      id: scene.id,
      title: scene.title,
      claims,
      bare: laneData(bare, twin),
      holdfast: laneData(holdfast, twin),
    })),
    held: scenes.every(({ claims }) => claims.every(({ held }) => held)),
  };
}

function laneData(lane: Lane, twin: string) {
  return {
    outcome: outcomeOf(lane, twin),
    stepsLost: stepsLost(lane),
    decision: lane.decision,
    complaint: lane.complaint,
    lives: lane.lives.map(({ from, at, code, result, saves, refused }) => ({ from, reached: at, exitCode: code, result, saves, refused })),
  };
}
