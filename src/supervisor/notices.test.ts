import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../core/clock.ts';
import { makeNotice, type Notice } from '../domain/notice.ts';
import { Notices } from './notices.ts';
import { Surroundings } from './surroundings.ts';

function make(graceMs = 30_000): { notices: Notices; clock: VirtualClock; told: Notice[]; withdrawn: Notice[]; around: Surroundings } {
  const clock = new VirtualClock();
  const [told, withdrawn]: Notice[][] = [[], []];
  const around = new Surroundings();
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

  it('SIGUSR1 is a wish each time, and no end', () => {
    const { notices, told } = make();
    notices.hear('SIGUSR1');
    notices.hear('SIGUSR1');
    expect([notices.first, notices.deadline, told.length]).toEqual([null, null, 2]);
  });

  it('who presses Ctrl-C twice does not wait; once that is told twice is once', async () => {
    const { notices, clock, told } = make();
    notices.hear('SIGINT');
    notices.hear('SIGINT');
    expect([notices.deadline?.deadlineMs, told.length]).toEqual([clock.now() + 30_000, 1]);
    await clock.advance(500);
    notices.hear('SIGINT');
    expect(notices.deadline?.deadlineMs).toBe(clock.now());
  });

  it('SIGTERM or a closed terminal beside one Ctrl-C, before it or after it, takes nothing of the grace', async () => {
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

  it('who waits for the deadline is woken when it comes nearer', async () => {
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

  it('who follows the deadline hears whenever it comes nearer, and nothing after that', async () => {
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

  it('an advice can be taken back, once; what ends the attempt cannot', () => {
    const { notices, withdrawn } = make();
    const [advice, end] = [{ cause: 'aws-rebalance', source: 'metadata' } as const, { cause: 'aws-spot', source: 'metadata' } as const];
    for (const facts of [advice, end]) notices.add(makeNotice({ ...facts, atMs: 0 }));
    for (const facts of [advice, advice, end]) notices.withdraw(facts);
    expect(withdrawn.map(({ cause }) => cause)).toEqual(['aws-rebalance']);
    expect([notices.first?.cause, notices.all.length]).toEqual(['aws-spot', 1]);
  });

  it('the kind of node, an annotation and pressure shorten the grace, of several the shortest; an advice looks at none of them', () => {
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

  it('waiting ends when it is cut short', async () => {
    const { notices } = make();
    const over = new AbortController();
    const waiting = notices.untilDeadline(0, over.signal);
    over.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
