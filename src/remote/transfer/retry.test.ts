import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { createRng } from '../../core/rng.ts';
import { Redactor } from '../../core/secrets.ts';
import { RequestFailure } from './failure.ts';
import { DEFAULT_RETRIES, retryDelay, withRetries } from './retry.ts';

const failure = (isTransient: boolean, retryAfter: number | null = null): RequestFailure =>
  new RequestFailure({ message: 'no', reason: 'SlowDown', status: 503, isTransient, retryAfter });

function setUp() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  return { clock, stop, retrying: { clock, rng: createRng(1), policy: DEFAULT_RETRIES, signal: stop.signal, redactor: new Redactor() } };
}

describe('withRetries', () => {
  it('retries temporary failures until it succeeds', async () => {
    const { clock, retrying } = setUp();
    const result = withRetries(retrying, (attempt) => (attempt < 4 ? Promise.reject(failure(true)) : Promise.resolve(attempt)));
    await clock.advance(60_000);
    expect(await result).toBe(4);
  });

  it('does not retry permanent failures', async () => {
    const { retrying } = setUp();
    let tries = 0;
    await expect(withRetries(retrying, () => (tries++, Promise.reject(failure(false))))).rejects.toThrow('no');
    expect(tries).toBe(1);
  });

  it('masks the credentials in use in the answers of a store', async () => {
    const { retrying } = setUp();
    retrying.redactor.know('the/session+token==');
    const message = 'The provided token the/session+token== is malformed';
    const once = (): Promise<never> => Promise.reject(new RequestFailure({ message, reason: 'InvalidToken', isTransient: false }));
    await expect(withRetries(retrying, once)).rejects.toMatchObject({
      message: 'The provided token [redacted] is malformed',
      reason: 'InvalidToken',
    });
  });

  it('gives up after its last try, within two minutes', async () => {
    const { clock, retrying } = setUp();
    let tries = 0;
    const result = withRetries(retrying, () => (tries++, Promise.reject(failure(true))));
    const settled = expect(result).rejects.toThrow('no');
    await clock.advance(120_000);
    await settled;
    expect(tries).toBe(DEFAULT_RETRIES.attempts);
  });

  it('reports each failure and its try before every wait, and the number of tries at the end', async () => {
    const { clock, retrying } = setUp();
    const told: number[] = [];
    const policy = { ...DEFAULT_RETRIES, attempts: 3 };
    const onRetry = (_: RequestFailure, tries: number, most: number): void => void told.push(tries, most);
    const result = withRetries({ ...retrying, policy, onRetry }, () => Promise.reject(failure(true)));
    const settled = expect(result).rejects.toMatchObject({ message: 'no', reason: 'SlowDown', status: 503, tries: 3 });
    await clock.advance(60_000);
    await settled;
    expect(told).toEqual([1, 3, 2, 3]);
  });

  it('stops waiting when the signal aborts', async () => {
    const { clock, stop, retrying } = setUp();
    const result = withRetries(retrying, () => Promise.reject(failure(true, 50)));
    const settled = expect(result).rejects.toThrow('ctrl-c');
    await clock.advance(1000);
    stop.abort(new Error('ctrl-c'));
    await settled;
  });
});

describe('retryDelay', () => {
  it('grows, is randomised, and stays below its limit', () => {
    const rng = createRng(7);
    for (let attempt = 1; attempt < 20; attempt++) {
      const delays = Array.from({ length: 50 }, () => retryDelay(DEFAULT_RETRIES, attempt, rng, null));
      expect(Math.max(...delays)).toBeLessThanOrEqual(DEFAULT_RETRIES.longestDelayMs);
      expect(new Set(delays).size).toBeGreaterThan(40);
    }
  });

  it('follows the wait that the store asks for, up to a limit', () => {
    expect(retryDelay(DEFAULT_RETRIES, 1, createRng(1), 5)).toBe(5000);
    expect(retryDelay(DEFAULT_RETRIES, 1, createRng(1), 86_400)).toBe(60_000);
  });
});
