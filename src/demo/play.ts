import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { readLedger } from '../ledger/reader.ts';
import { flipBit } from './flip-bit.ts';
import { type Keeper, lastKept, type Life, UNBORN } from './life.ts';
import { Program } from './demo-process.ts';
import { INTERRUPT, type Scene } from './scenes.ts';
import { trainerCommand } from './trainer-commands.ts';

/** One keeper's part of a scene: the interrupted run of the trainer and the one after it. */
export interface Lane {
  readonly keeper: Keeper;
  readonly lives: readonly Life[];
  /** The supervisor's reason for making the flush or not; null without one. */
  readonly decision: string | null;
  /** The last words of a trainer that failed. */
  readonly complaint: string | null;
}

/** The place and the tools for playing a scene. */
export interface Stage {
  readonly python: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A folder of the demo's own. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onChange: (lane: Lane) => void;
}

/** Longer than any run of a trainer on the slowest machine: a longer one hangs. */
const PATIENCE_MS = 180_000;

/** Plays a scene with one keeper: trains, interrupts, starts the same command line again. */
export async function playLane(keeper: Keeper, scene: Scene, stage: Stage): Promise<Lane> {
  const dir = join(stage.folder, `${scene.id}-${keeper}`);
  mkdirSync(dir, { recursive: true });
  const actor: Actor = { keeper, scene, stage, dir };
  const lane: Lane = { keeper, lives: [], decision: null, complaint: null };
  const first = await live(actor, (life) => stage.onChange({ ...lane, lives: [life] }), true);
  if (scene.flipsBit) flipNewest(actor, first.life);
  const decision = decisionOf(actor);
  const lives = [first.life];
  const second = await live(actor, (life) => stage.onChange({ ...lane, decision, lives: [...lives, life] }), false);
  return { ...lane, decision, lives: [...lives, second.life], complaint: second.words.at(-1) ?? null };
}

interface Actor {
  readonly keeper: Keeper;
  readonly scene: Scene;
  readonly stage: Stage;
  readonly dir: string;
}

async function live(actor: Actor, onChange: (life: Life) => void, isInterrupted: boolean): Promise<Program> {
  const { keeper, scene, stage, dir } = actor;
  stage.signal.throwIfAborted();
  const isDiskFull = isInterrupted && scene.interruption === 'full-disk';
  const command = trainerCommand(keeper, scene, { python: stage.python, dir, isDiskFull });
  onChange(UNBORN);
  const program = new Program({ command, env: stage.env, keeper, onChange });
  const over = new AbortController();
  const stop = (): void => end(actor, program);
  stage.signal.addEventListener('abort', stop, { once: true });
  stage.clock.sleep(PATIENCE_MS, { signal: over.signal }).then(stop, () => {});
  try {
    if (isInterrupted) await interrupt(actor, program);
    await program.ended;
  } finally {
    over.abort();
    stage.signal.removeEventListener('abort', stop);
  }
  stage.signal.throwIfAborted();
  return program;
}

function interrupt(actor: Actor, program: Program): Promise<void> {
  switch (actor.scene.interruption) {
    case 'terminate':
      return terminate(actor, program);
    case 'kill-in-save':
      return killInSave(actor, program);
    case 'full-disk':
      return Promise.resolve();
  }
}

async function terminate({ keeper, scene, stage }: Actor, program: Program): Promise<void> {
  const { afterSave, atStep } = INTERRUPT;
  if (!(await program.until((life) => (lastKept(life) ?? 0) >= afterSave && life.at >= atStep))) return;
  program.signal('SIGTERM');
  // The supervisor keeps to the grace; a bare trainer needs a kill.
  if (keeper === 'holdfast') return;
  const over = new AbortController();
  const isOver = stage.clock.sleep(scene.graceMs, { signal: over.signal }).catch(() => {});
  await Promise.race([isOver, program.ended]);
  over.abort();
  program.signal('SIGKILL');
}

/** On a busy machine the save may end before the kill arrives. The kill then hits the next save. */
async function killInSave(actor: Actor, program: Program): Promise<void> {
  let from: number = INTERRUPT.inSaveFrom;
  const isSaving = ({ saves }: Life): boolean => saves.some(({ step, state }) => step >= from && state === 'writing');
  while (await program.until(isSaving)) {
    from = program.life.at + 1;
    const pid = trainerPid(actor, program);
    if (pid !== null) killProcess(pid);
  }
}

/** Ends a program whose output is no longer needed; the supervisor cleans up behind its trainer. */
function end(actor: Actor, program: Program): void {
  const pid = trainerPid(actor, program);
  if (pid !== null) killProcess(pid);
  program.signal('SIGTERM');
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** The process that trains; null when the supervisor has not started it yet, or has seen it end. */
function trainerPid({ keeper, dir }: Actor, program: Program): number | null {
  if (program.life.code !== null) return null;
  if (keeper === 'bare') return program.pid;
  const last = readLedger(dir).events.findLast(({ event }) => event.kind === 'trainer-started' || event.kind === 'trainer-ended');
  return last?.event.kind === 'trainer-started' ? last.event.pid : null;
}

function decisionOf({ keeper, dir }: Actor): string | null {
  if (keeper === 'bare') return null;
  const sentences = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'decision' ? [event.sentence] : []));
  return sentences.at(-1) ?? null;
}

function flipNewest({ keeper, dir }: Actor, life: Life): void {
  const step = lastKept(life);
  if (step === null) return;
  flipBit(keeper === 'bare' ? join(dir, `step-${step}.json`) : join(dir, `step-${step}`, 'state.json'));
}
