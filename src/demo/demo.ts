import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { installedFile } from '../core/installation.ts';
import { HoldfastError } from '../core/errors.ts';
import { type Claim, judgeScene } from './claims.ts';
import { type Lane, playLane } from './play.ts';
import { Program } from './demo-process.ts';
import { findPython } from './python.ts';
import type { Scene } from './scenes.ts';
import { twinCommand } from './trainer-commands.ts';

/** A scene that was played. */
export interface ScenePlayed {
  readonly scene: Scene;
  readonly bare: Lane;
  readonly holdfast: Lane;
  readonly claims: readonly Claim[];
}

/** The result of the demo. */
export interface DemoReport {
  readonly python: string;
  /** The result of the twin that was not interrupted. */
  readonly twin: string;
  readonly scenes: readonly ScenePlayed[];
  /** The folder of all output; null when it was removed. */
  readonly folder: string | null;
  readonly elapsedMs: number;
}

/** Called while the demo runs. */
export interface Audience {
  begins(python: string, twin: string): void;
  /** A scene as it stands now; a lane is null before its trainer has started. */
  changes(scene: Scene, lanes: { readonly bare: Lane | null; readonly holdfast: Lane | null }): void;
  ends(played: ScenePlayed): void;
}

/** The options of the demo. */
export interface DemoOptions {
  readonly scenes: readonly Scene[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Keeps the folders of the runs. */
  readonly keeps: boolean;
  readonly audience: Audience;
}

/**
 * Interrupts a trainer in every scene, bare and under Holdfast, and compares the result with a
 * twin.
 */
export async function playDemo({ scenes, env, clock, signal, keeps, audience }: DemoOptions): Promise<DemoReport> {
  const started = clock.monotonic();
  const { program: python, version } = await findPython(env);
  const own = { ...env, PYTHONPATH: installedFile('python'), PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' };
  const twin = await trainTwin(python, own);
  audience.begins(version, twin);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  try {
    const played: ScenePlayed[] = [];
    for (const scene of scenes) {
      const lanes: { bare: Lane | null; holdfast: Lane | null } = { bare: null, holdfast: null };
      const onChange = (lane: Lane): void => {
        lanes[lane.keeper] = lane;
        audience.changes(scene, lanes);
      };
      const stage = { python, env: own, folder, clock, signal, onChange };
      // Waits for both, so that no program outlives the failure of the other.
      const [bare, holdfast] = await Promise.allSettled([playLane('bare', scene, stage), playLane('holdfast', scene, stage)]);
      const ended = { scene, bare: valueOf(bare), holdfast: valueOf(holdfast) };
      const whole = { ...ended, claims: judgeScene(scene, ended.holdfast, twin) };
      played.push(whole);
      audience.ends(whole);
    }
    return { python: version, twin, scenes: played, folder: keeps ? folder : null, elapsedMs: clock.monotonic() - started };
  } finally {
    if (!keeps) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'fulfilled') return settled.value;
  throw settled.reason;
}

async function trainTwin(python: string, env: DemoOptions['env']): Promise<string> {
  const program = new Program({ command: twinCommand(python), env, keeper: 'bare', onChange: () => {} });
  const { result, code } = await program.ended;
  if (result !== null) return result;
  throw new HoldfastError('DEMO_FAILED', {
    message: `the example trainer ended with ${code} even without an interruption: ${program.words.at(-1) ?? 'it printed nothing'}`,
    hint: `Try it by itself: ${twinCommand(python).join(' ')}`,
  });
}
