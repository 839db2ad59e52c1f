import type { Clock } from '../../../core/clock.ts';
import { playDemo } from '../../../demo/demo.ts';
import { SCENES } from '../../../demo/scenes.ts';
import type { Output } from '../../output/output.ts';
import { demoData } from './demo-data.ts';
import { closingLines, openingLines, sceneLines } from './render-demo.ts';

interface ShowOptions {
  readonly output: Output;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly keeps: boolean;
}

/** Plays the demo on the terminal; true when every claim held. */
export async function showDemo({ output, clock, env, signal, keeps }: ShowOptions): Promise<boolean> {
  const look = { style: output.style, columns: output.columns };
  const isShown = !output.json && !output.quiet;
  let twin = '';
  const numberOf = (id: string): number => SCENES.findIndex((scene) => scene.id === id) + 1;
  const report = await playDemo({
    scenes: SCENES,
    env,
    clock,
    signal,
    keeps,
    audience: {
      begins(python, learned) {
        twin = learned;
        if (isShown) output.print(...openingLines(python, look));
      },
      changes(scene, lanes) {
        if (isShown) output.block.draw(sceneLines(numberOf(scene.id), { scene, lanes, twin }, look));
      },
      ends({ scene, ...lanes }) {
        if (isShown) output.block.settle(sceneLines(numberOf(scene.id), { scene, lanes, twin }, look));
      },
    },
  });
  if (output.json) output.printJson(demoData(report));
  else output.print(...closingLines(report, look));
  return report.scenes.every(({ claims }) => claims.every(({ held }) => held));
}
