import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { VirtualClock } from '../../src/core/clock.ts';
import { decideFlush } from '../../src/domain/grace/flush-decision.ts';
import { effectiveDeadline } from '../../src/domain/grace/effective-grace.ts';
import { makeNotice, type Notice } from '../../src/domain/grace/notice.ts';
import type { LedgerEvent } from '../../src/ledger/events.ts';
import { type LedgerWriter, openLedger } from '../../src/ledger/writer.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const STEP_MS = 500;
const GIB = 2 ** 30;

/**
 * Writes the ledger of an eventful run: a Spot reclaim with a flush, a crash, an eviction, and an
 * attempt that still runs.
 */
export async function makeLedger(run: string, start = Date.UTC(2026, 10, 15, 9, 0, 0)): Promise<void> {
  mkdirSync(join(run, '.holdfast'), { recursive: true });
  const clock = new VirtualClock(start);
  const first = new Story(run, clock, { attempt: 1, nodes: ['gpu-a', 'gpu-b'], from: null });
  await spotReclaim(first);
  await clock.advance(4 * MINUTE);
  const second = new Story(run, clock, { attempt: 2, nodes: ['gpu-a', 'gpu-b'], from: first.lastGood });
  await crash(second);
  await clock.advance(20 * SECOND);
  const third = new Story(run, clock, { attempt: 3, nodes: ['gpu-c'], from: second.lastGood });
  await eviction(third);
  await clock.advance(3 * MINUTE);
  await running(new Story(run, clock, { attempt: 4, nodes: ['gpu-c'], from: third.lastGood }));
}

async function spotReclaim(story: Story): Promise<void> {
  await story.train({ minutes: 42, everyMinutes: 5 });
  const { clock } = story;
  story.tell(noticeEvent(makeNotice({ cause: 'aws-rebalance', atMs: clock.now(), source: 'metadata' })));
  await clock.advance(40 * SECOND);
  const spot = makeNotice({
    cause: 'aws-spot',
    atMs: clock.now(),
    deadlineMs: clock.now() + 117 * SECOND,
    source: 'metadata',
    detail: 'instance-action terminate',
  });
  await story.end([spot], { saveMs: 4200, flush: true, end: 'interrupted', exitCode: 143 });
}

async function crash(story: Story): Promise<void> {
  await story.train({ minutes: 23, everyMinutes: 5 });
  await story.end([], { saveMs: 0, flush: false, end: 'failed', exitCode: 1 });
}

async function eviction(story: Story): Promise<void> {
  await story.train({ minutes: 17, everyMinutes: 5 });
  await story.end([makeNotice({ cause: 'sigterm', atMs: story.clock.now(), source: 'signal' })], {
    saveMs: 4200,
    flush: false,
    end: 'interrupted',
    exitCode: 143,
  });
}

async function running(story: Story): Promise<void> {
  await story.train({ minutes: 17, everyMinutes: 5 });
  await story.close();
}

interface Ending {
  readonly saveMs: number;
  readonly flush: boolean;
  readonly end: 'interrupted' | 'failed';
  readonly exitCode: number;
}

interface Beginning {
  readonly attempt: number;
  readonly nodes: readonly string[];
  /** The step it resumes from. */
  readonly from: number | null;
}

class Story {
  readonly clock: VirtualClock;
  readonly #ledgers: readonly LedgerWriter[];
  /** The newest step that is sealed. */
  lastGood: number | null;
  #step: number;

  constructor(run: string, clock: VirtualClock, { attempt, nodes, from }: Beginning) {
    this.clock = clock;
    this.lastGood = from;
    this.#step = from ?? 0;
    this.#ledgers = nodes.map((node) =>
      openLedger(run, {
        attempt,
        node,
        clock,
        onFailure(error) {
          throw error;
        },
      }),
    );
  }

  /** The first node records events of the run; every node records events that concern all. */
  tell(event: LedgerEvent, isEverywhere = false): void {
    for (const ledger of isEverywhere ? this.#ledgers : this.#ledgers.slice(0, 1)) ledger.append(event);
  }

  async train({ minutes, everyMinutes }: { readonly minutes: number; readonly everyMinutes: number }): Promise<void> {
    const command = ['python', 'train.py', '--config', 'base.yaml'];
    this.tell(
      {
        kind: 'attempt-started',
        run: '5d1c',
        gang: 'g',
        version: '0.1.0',
        command,
        resumeStep: this.lastGood,
        worldSize: 16,
        accelerators: 16,
        cadence: 'auto',
        graceMs: 30_000,
        graceFrom: 'default',
      },
      true,
    );
    this.tell({ kind: 'trainer-started', pid: 4242, restart: 0 });
    for (let minute = 1; minute <= minutes; minute++) {
      await this.clock.advance(MINUTE);
      this.#step += MINUTE / STEP_MS;
      this.tell({ kind: 'progress', step: this.#step, stepMs: STEP_MS, loss: 3 / Math.sqrt(1 + this.#step / 100), unsavedMs: null });
      if (minute % everyMinutes === 0) await this.#save('cadence', 4000 + (minute % 7) * 150);
    }
  }

  async end(notices: readonly Notice[], { saveMs, flush, end, exitCode }: Ending): Promise<void> {
    const { clock } = this;
    for (const notice of notices) this.tell(noticeEvent(notice), true);
    const lostSteps = this.#step - (this.lastGood ?? 0);
    if (notices.length > 0) {
      const deadline = effectiveDeadline({
        nominal: { graceMs: 30_000, from: 'default' },
        notices,
        node: null,
        pressure: flush ? [] : [{ resource: 'disk', seen: '8 % free, eviction begins at 10 %' }],
        limits: [],
      });
      if (deadline === null) throw new Error('a notice that ends the attempt has a deadline');
      this.tell({ kind: 'deadline', ...deadline });
      const takes = { medianMs: saveMs / 2, p95Ms: saveMs * 0.8, samples: 8 };
      const decision = decideFlush({
        nowMs: clock.now(),
        deadlineMs: deadline.deadlineMs,
        confidence: deadline.confidence,
        step: this.#step,
        lastGoodStep: this.lastGood,
        unsavedMs: lostSteps * STEP_MS,
        stepRest: { medianMs: 250, p95Ms: 480, samples: 64 },
        busyMs: null,
        save: takes,
        seal: takes,
        agreementMs: 100,
        staged: null,
        refusal: null,
      });
      const { outcome, sentence, numbers } = decision;
      this.tell({ kind: 'decision', outcome, sentence, numbers });
      if (flush) {
        const started = clock.now();
        await this.#save('flush', saveMs);
        const tookMs = clock.now() - started;
        const leftMs = deadline.deadlineMs - clock.now();
        this.tell({
          kind: 'flush-ended',
          outcome: 'made',
          step: this.#step,
          tookMs,
          predictedMs: numbers.needMs,
          leftMs,
          sentence: 'made',
        });
      } else {
        this.tell({ kind: 'flush-ended', outcome: 'refused', step: null, tookMs: 0, predictedMs: numbers.needMs, leftMs: null, sentence });
      }
    }
    await clock.advance(800);
    this.tell(
      { kind: 'trainer-ended', code: end === 'failed' ? 1 : null, signal: end === 'failed' ? null : 'SIGTERM', saidFinished: false },
      true,
    );
    const steps = this.#step - (this.lastGood ?? 0);
    this.tell(
      {
        kind: 'attempt-ended',
        exitCode,
        end,
        cause: notices[0]?.cause ?? null,
        step: this.#step,
        lastGoodStep: this.lastGood,
        lostMs: steps * STEP_MS,
        lostSteps: steps,
        accelerators: 16,
        sentence: end === 'failed' ? 'the trainer failed with exit code 1' : 'interrupted, resumable; the trainer ended by SIGTERM',
      },
      true,
    );
    await this.close();
  }

  async close(): Promise<void> {
    for (const ledger of this.#ledgers) await ledger.close();
  }

  async #save(reason: 'cadence' | 'flush', totalMs: number): Promise<void> {
    const save = `s${this.#step}`;
    this.tell({ kind: 'save-started', save, step: this.#step, reason, predicted: null });
    await this.clock.advance(totalMs);
    this.lastGood = this.#step;
    const phases = { stallMs: 310, writeMs: 900, copyMs: 1200, checksumMs: 800, commitMs: 60 };
    this.tell({ kind: 'save-ended', save, step: this.#step, outcome: 'sealed', bytes: 2.4 * GIB, totalMs, ...phases, problem: null });
  }
}

function noticeEvent({ atMs, ...notice }: Notice): LedgerEvent {
  return { kind: 'notice', noticedMs: atMs, ...notice };
}
