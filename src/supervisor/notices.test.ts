import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../core/clock.ts';
import { makeNotice, type Notice } from '../domain/notice.ts';
import { Notices } from './notices.ts';

function make(graceMs = 30_000): { notices: Notices; clock: VirtualClock; told: Notice[] } {
  const clock = new VirtualClock();
  const told: Notice[] = [];
  return { notices: new Notices(clock, { graceMs, from: 'option' }, (notice) => told.push(notice)), clock, told };
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

  it('who presses Ctrl-C twice does not wait', () => {
    const { notices, clock } = make();
    notices.hear('SIGINT');
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

  it('waiting ends when it is cut short', async () => {
    const { notices } = make();
    const over = new AbortController();
    const waiting = notices.untilDeadline(0, over.signal);
    over.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
