import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { makeNotice, type Notice } from '../../domain/grace/notice.ts';
import { Notices } from './notices.ts';
import { NodeFacts } from './node-facts.ts';

function make(graceMs = 30_000): { notices: Notices; clock: VirtualClock; told: Notice[]; withdrawn: Notice[]; around: NodeFacts } {
  const clock = new VirtualClock();
  const [told, withdrawn]: Notice[][] = [[], []];
  const around = new NodeFacts();
  const listener = {
    onNotice: (notice: Notice) => void told?.push(notice),
    onWithdrawn: (notice: Notice) => void withdrawn?.push(notice),
  };
  const notices = new Notices(clock, { graceMs, from: 'option' }, listener, () => around.now());
  return { notices, clock, told: told ?? [], withdrawn: withdrawn ?? [], around };
}

const OPEN = new AbortController().signal;

describe('notices', () => {
  it('a SIGTERM ends the attempt after the grace; a second changes nothing', async () => {
    const { notices, clock, told } = make();
    notices.hear('SIGTERM');
    const { deadlineMs } = notices.deadline ?? { deadlineMs: 0 };
    await clock.advance(5000);
    notices.hear('SIGTERM');
    expect([notices.deadline?.deadlineMs, notices.first?.cause, told.length]).toEqual([deadlineMs, 'sigterm', 1]);
    expect(deadlineMs).toBe(clock.now() + 25_000);
  });

  it('an end that is far ahead asks for a save at once, and ends the attempt ten minutes before it', async () => {
    const { notices, clock, told } = make();
    const deadlineMs = clock.now() + 3 * 3600_000;
    const notice = makeNotice({ cause: 'drain', atMs: clock.now(), source: 'watched-file', deadlineMs });
    notices.add(notice);
    notices.add(notice);
    expect([notices.first, notices.deadline, told.map(({ terminating }) => terminating)]).toEqual([null, null, [false]]);
    await clock.advance(170 * 60_000 - 1000);
    expect(notices.first).toBeNull();
    await clock.advance(2000);
    expect([notices.first?.cause, notices.deadline?.deadlineMs]).toEqual(['drain', deadlineMs]);
    expect(told.map(({ terminating }) => terminating)).toEqual([false, true]);
    await expect(notices.terminating).resolves.toMatchObject({ cause: 'drain' });
  });

  it('an end that is far ahead can be withdrawn or moved nearer, and SIGTERM can come before it', async () => {
    const { notices, clock, withdrawn } = make();
    const far = (cause: 'drain' | 'suspend', ms: number): Notice =>
      makeNotice({ cause, atMs: clock.now(), source: 'watched-file', deadlineMs: clock.now() + ms });
    notices.add(far('drain', 3600_000));
    notices.withdraw(far('drain', 0));
    notices.add(far('suspend', 900_000));
    notices.add(far('suspend', 1800_000));
    await clock.advance(19 * 60_000);
    expect(notices.first).toBeNull();
    await clock.advance(2 * 60_000);
    expect(notices.deadline?.deadlineMs).toBe(clock.now() + 9 * 60_000);
    expect([notices.first?.cause, withdrawn.map(({ cause }) => cause)]).toEqual(['suspend', ['drain']]);
    const other = make();
    other.notices.add(far('drain', 3600_000));
    other.notices.hear('SIGTERM');
    expect(other.notices.deadline?.deadlineMs).toBe(other.clock.now() + 30_000);
    for (const one of [notices, other.notices]) one.close();
  });

  it('each SIGUSR1 asks for a save, and none ends the attempt', () => {
    const { notices, told } = make();
    notices.hear('SIGUSR1');
    notices.hear('SIGUSR1');
    expect([notices.first, notices.deadline, told.length]).toEqual([null, null, 2]);
  });

  it('a second Ctrl-C ends the wait, and an echo of the first does not', async () => {
    const { notices, clock, told } = make();
    notices.hear('SIGINT');
    notices.hear('SIGINT');
    expect([notices.deadline?.deadlineMs, told.length]).toEqual([clock.now() + 30_000, 1]);
    await clock.advance(500);
    notices.hear('SIGINT');
    expect(notices.deadline?.deadlineMs).toBe(clock.now());
  });

  it('SIGTERM or SIGHUP before or after one Ctrl-C does not shorten the grace', async () => {
    const { notices, clock } = make();
    notices.hear('SIGTERM');
    const { deadlineMs } = notices.deadline ?? { deadlineMs: 0 };
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
      await clock.advance(1000);
      notices.hear(signal);
    }
    expect([notices.deadline?.deadlineMs, notices.first?.cause]).toEqual([deadlineMs, 'sigterm']);
    notices.hear('SIGINT');
    expect(notices.deadline?.deadlineMs).toBe(clock.now());
  });

  it('a wait for the deadline ends earlier when the deadline comes nearer', async () => {
    const { notices, clock } = make(600_000);
    notices.hear('SIGTERM');
    let isOver = false;
    void notices.untilDeadline(1000, OPEN).then(() => (isOver = true));
    await clock.advance(60_000);
    notices.add(makeNotice({ cause: 'gcp-preempted', atMs: clock.now(), source: 'metadata' }));
    await clock.advance(28_900);
    expect(isOver).toBe(false);
    await clock.advance(200);
    expect(isOver).toBe(true);
  });

  it('a follower of the deadline is called whenever it comes nearer, and not after its signal is aborted', async () => {
    const { notices, clock } = make(120_000);
    notices.hear('SIGTERM');
    const over = new AbortController();
    const heard: (number | undefined)[] = [];
    notices.follow(() => heard.push(notices.deadline?.deadlineMs), over.signal);
    await clock.advance(1000);
    notices.hear('SIGTERM');
    notices.add(makeNotice({ cause: 'gcp-preempted', atMs: clock.now(), source: 'metadata' }));
    expect(heard).toEqual([clock.now() + 30_000]);
    notices.add(makeNotice({ cause: 'aws-spot', atMs: clock.now(), source: 'metadata', deadlineMs: clock.now() + 5000 }));
    expect(heard).toEqual([clock.now() + 30_000, clock.now() + 5000]);
    over.abort();
    notices.hear('SIGINT');
    await clock.advance(1000);
    notices.hear('SIGINT');
    expect(notices.deadline?.deadlineMs).toBe(clock.now());
    expect(heard).toHaveLength(2);
  });

  it('an advice can be withdrawn once, and a notice that ends the attempt cannot', () => {
    const { notices, withdrawn } = make();
    const [advice, end] = [{ cause: 'aws-rebalance', source: 'metadata' } as const, { cause: 'aws-spot', source: 'metadata' } as const];
    for (const facts of [advice, end]) notices.add(makeNotice({ ...facts, atMs: 0 }));
    for (const facts of [advice, advice, end]) notices.withdraw(facts);
    expect(withdrawn.map(({ cause }) => cause)).toEqual(['aws-rebalance']);
    expect([notices.first?.cause, notices.all.length]).toEqual(['aws-spot', 1]);
  });

  it('the node, an annotation and pressure shorten the grace to the shortest of them, and an advice reads none of them', () => {
    const { notices, around } = make(600_000);
    let looks = 0;
    around.notePressure(() => [{ resource: 'disk', seen: `look ${++looks}` }]);
    around.noteNode('metadata', 'gce-spot');
    around.noteNode('watched-file', 'gke-spot');
    around.noteLimits([{ graceMs: 120_000, reason: 'an annotation' }]);
    notices.hear('SIGUSR1');
    expect(looks).toBe(0);
    notices.hear('SIGTERM');
    expect([notices.deadline?.graceMs, looks]).toEqual([2000, 1]);
    expect(notices.deadline?.reasons).toHaveLength(4);
  });

  it('an aborted signal ends the wait for a deadline', async () => {
    const { notices } = make();
    const over = new AbortController();
    const waiting = notices.untilDeadline(0, over.signal);
    over.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
