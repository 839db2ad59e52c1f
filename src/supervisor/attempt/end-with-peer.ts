import type { Clock } from '../../core/clock.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import type { RunLog } from '../base/run-log.ts';
import { nextInterruptedPeer } from '../nodes/follow-peers.ts';
import type { Trainer } from '../process/trainer.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { RunOptions } from '../settings/run-options.ts';

const LOOK_MS = 50;

interface Following {
  readonly options: Pick<RunOptions, 'gang' | 'grace'>;
  readonly store: Pick<OpenStore, 'path' | 'clock'>;
  readonly log: RunLog;
  readonly session: TrainerSession;
  readonly trainer: Trainer;
  readonly attempt: number;
  /** Aborted when the trainer has ended, or has a notice of its own. */
  readonly signal: AbortSignal;
}

/**
 * Ends the trainer when another node of the gang has a notice and the ranks here cannot notice that
 * themselves. Ranks that agree with each other (torch.distributed) save together and miss the ranks
 * that leave. Other ranks would train on alone, and no save of theirs could ever be whole.
 */
export function endWithPeer(following: Following): void {
  if (following.options.gang === null) return;
  follow(following).catch((thrown: unknown) => {
    if (!following.signal.aborted) following.log.complain(thrown);
  });
}

async function follow({ options, store, log, session, trainer, attempt, signal }: Following): Promise<void> {
  const { clock } = store;
  const isWanted = (): boolean => session.ranks.count > 0 && !session.ranks.canAgree && !session.saidFinished && !session.isDiskSilent;
  const peer = await nextInterruptedPeer({ run: store.path, attempt, node: log.node }, { clock, signal, isWanted });
  const sentence = `${peer.node} was told to end, and the trainer here cannot continue alone, so Holdfast tells it to end too`;
  log.say(sentence);
  log.record({ kind: 'note', level: 'info', code: null, sentence });
  await untilWritten(session, { clock, signal, boundMs: options.grace.graceMs });
  trainer.tell('SIGTERM');
  await clock.sleep(options.grace.graceMs, { signal });
  await trainer.killAll(clock);
}

interface Bounds {
  readonly clock: Clock;
  readonly boundMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits while the ranks here write a save. The node with the notice takes that save for its last
 * one, and it needs the part of this node.
 */
async function untilWritten({ coordinator }: TrainerSession, { clock, boundMs, signal }: Bounds): Promise<void> {
  const untilMs = clock.monotonic() + boundMs;
  while ((coordinator.phase === 'gathering' || coordinator.phase === 'writing') && clock.monotonic() < untilMs)
    await clock.sleep(LOOK_MS, { signal });
}
