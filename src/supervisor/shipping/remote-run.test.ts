import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { openCopies } from '../../../test/support/start-over.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { openLedger } from '../../ledger/writer.ts';
import type { ObjectStore } from '../../remote/backends/backend.ts';
import { parseLocation } from '../../remote/backends/location.ts';
import { takeAttemptNumber } from '../../remote/pointer/attempt-numbers.ts';
import { newestTaken } from '../../remote/pointer/attempt-record.ts';
import { RunLog } from '../base/run-log.ts';
import { takeRemoteNumber } from './remote-run.ts';
import { DEFAULT_PATIENCE_MS, StartPatience } from './start-patience.ts';

/** How often the store fails to give a number, and with which error. */
interface Failing {
  readonly times: number;
  readonly code?: ErrorCode;
  /** This folder moved the pointer, and no other node has since, as far as it knows. */
  readonly isLastMoveOurs?: boolean;
}

/** Starts in a folder with attempt 1, while another node has taken number 2. */
async function numberOf({ times, code = 'REMOTE_UNAVAILABLE', isLastMoveOurs = false }: Failing) {
  using run = testRun();
  const url = `file://${join(run.path, 'copies')}`;
  const clock = new VirtualClock();
  await using remote = openCopies({ url });
  await sealSteps(run.store, 'here', 10);
  await takeAttemptNumber(remote, { gang: 'other', run: run.store.run, above: 1 });
  const ledger = openLedger(run.path, { attempt: 1, node: 'n', clock, onFailure: () => {} });
  ledger.append({ kind: isLastMoveOurs ? 'shipped' : 'fetched', step: 10, url, bytes: 1, totalMs: 1 });
  await ledger.close();
  let failures = 0;
  const create = (...wanted: Parameters<ObjectStore['create']>): ReturnType<ObjectStore['create']> => {
    if (failures === times) return remote.create(...wanted);
    failures += 1;
    // The start pauses now, before it asks again.
    setImmediate(() => void clock.advance(5000));
    throw new HoldfastError(code, { message: 'not now' });
  };
  const failing = new Proxy(remote, { get: (store, name) => (name === 'create' ? create : bound(store, name)) });
  const location = parseLocation(url);
  if (!location.ok) throw new Error(location.reason);
  const quiet = (): void => {};
  await using log = new ClosedLog({ dir: run.path, node: 'n', clock, terminationLog: join(run.path, 'words'), say: quiet, shout: quiet });
  const patience = new StartPatience({ url, clock, patienceMs: DEFAULT_PATIENCE_MS, onWait: quiet });
  const { signal } = new AbortController();
  const ship = { location: location.value, limit: null };
  const taking = takeRemoteNumber(run.store, 'here', { ship, clock, env: {}, log, signal, patience, open: () => failing });
  const number = await taking.catch((thrown: unknown) => thrown);
  return { number, failures, taken: await newestTaken(remote), waitedMs: clock.monotonic() };
}

class ClosedLog extends RunLog {
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function bound(store: ObjectStore, name: string | symbol): unknown {
  if (name === Symbol.asyncDispose) return async () => {};
  const value: unknown = Reflect.get(store, name);
  return typeof value === 'function' ? (value.bind(store) as unknown) : value;
}

describe('the attempt number of a run that ships', () => {
  it('is asked for again while the store fails, so that no other node has it', async () => {
    expect(await numberOf({ times: 0 })).toMatchObject({ number: 3, taken: 3 });
    expect(await numberOf({ times: 4 })).toMatchObject({ number: 3, failures: 4, taken: 3 });
  });

  it('is never the folder’s own while another node may have it: the run does not start', async () => {
    const { number, waitedMs } = await numberOf({ times: Infinity });
    expect(number).toMatchObject({ code: 'REMOTE_UNAVAILABLE', exitCode: EXIT.unavailable });
    expect(String(number)).toContain('another node may have the next attempt number');
    expect(waitedMs).toBeGreaterThan(DEFAULT_PATIENCE_MS - 10_000);
    expect(waitedMs).toBeLessThanOrEqual(DEFAULT_PATIENCE_MS);
  });

  it('is refused at once where no wait helps', async () => {
    const { number, failures } = await numberOf({ times: Infinity, code: 'REMOTE_ACCESS_DENIED' });
    expect([number, failures]).toEqual([expect.objectContaining({ code: 'REMOTE_ACCESS_DENIED' }), 1]);
    expect((await numberOf({ times: 1, code: 'STORE_NOT_WRITABLE' })).number).toMatchObject({ exitCode: EXIT.unavailable });
  });

  it('is the folder’s own where its own move of the pointer was the last', async () => {
    expect(await numberOf({ times: Infinity, isLastMoveOurs: true })).toMatchObject({ number: null, failures: 1, taken: 2 });
  });
});
