import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureProcess } from './support/process.ts';
import { roundsOr } from './support/size.ts';
import type { Suite } from './support/suite.ts';

const ROOT = join(import.meta.dirname, '..');
const LOOP = join(import.meta.dirname, 'support', 'steps.py');
const STEPS = 1000;
const STEP_SECONDS = 0.01;
const MOST_SHARE = 0.001;

/** The cost of an SDK call in every step of a loop with steps of ten milliseconds. */
export async function runSteps(): Promise<Suite> {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const holdfast = [join(ROOT, 'bin/holdfast'), 'run', `--dir=${join(scratch, 'run')}`, '--every=1h', '--metadata=off', '--'];
  const spentIn = async (command: readonly string[]): Promise<{ readonly seconds: number }> => {
    const { stdout } = await measureProcess(command);
    return { seconds: Number(stdout.trim().split('\n').at(-1)) };
  };
  return {
    name: 'run: steps',
    description: `What ${STEPS} calls of \`run.step(step, loss=…)\` cost in a loop of ${STEP_SECONDS * 1000} ms steps under \`holdfast run\`, beside the same loop whose calls do nothing. In seconds for all calls together.`,
    rounds: roundsOr(9),
    reference: 'bare',
    bytes: 0,
    variants: [
      { name: 'bare', run: () => spentIn(['env', `PYTHONPATH=${join(ROOT, 'python')}`, 'python3', LOOP, 'bare', String(STEPS)]) },
      { name: 'holdfast', run: () => spentIn([...holdfast, 'python3', LOOP, 'sdk', String(STEPS)]) },
    ],
    bounds: [
      {
        text: `the calls take at most ${MOST_SHARE * 100} % of the steps’ time, ${(STEPS * STEP_SECONDS * MOST_SHARE * 1000).toFixed(0)} ms, more than those that do nothing`,
        isMet: (results) =>
          (results.get('holdfast')?.seconds.median ?? 1) - (results.get('bare')?.seconds.median ?? 0) <= STEPS * STEP_SECONDS * MOST_SHARE,
      },
    ],
    dispose: () => rmSync(scratch, { recursive: true, force: true }),
  };
}
