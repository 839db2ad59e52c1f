import { type Launch, LAUNCHES, type RunOptions, StruckRun } from './struck-run.ts';
import { weightsIn } from './weights.ts';

type Weights = ReturnType<typeof weightsIn>;

/** Runs without interruptions, each made once, by torchrun as users start it. */
export class Twins {
  readonly #launch: Launch = LAUNCHES.programs;
  readonly #known = new Map<string, Promise<Weights>>();

  weights(options: Pick<RunOptions, 'torchrun' | 'steps' | 'world'>): Promise<Weights> {
    const key = `${options.world} ranks, ${options.steps} steps`;
    const known = this.#known.get(key) ?? this.#train(options);
    this.#known.set(key, known);
    return known;
  }

  async #train(options: Pick<RunOptions, 'torchrun' | 'steps' | 'world'>): Promise<Weights> {
    const run = new StruckRun({ ...options, launch: this.#launch });
    try {
      const { code, stdout, stderr } = await run.start().ended;
      if (code === 0) return weightsIn(stdout, options.world);
      return { fault: `the run that nobody interrupts ended with ${code}:\n${stderr.slice(-2000)}` };
    } finally {
      run.remove();
    }
  }
}
