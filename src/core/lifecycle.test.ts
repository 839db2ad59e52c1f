import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from './errors.ts';
import { exitCodeOf, Lifecycle } from './lifecycle.ts';

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

/** Work that ends only when it is aborted. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gave up'))));

describe('Lifecycle', () => {
  it.each([
    ['SIGINT', 130, 'INTERRUPTED'],
    ['SIGTERM', 143, 'TERMINATED'],
  ])('turns the first %s into an orderly stop with exit code %i', async (name, code, errorCode) => {
    const source = new FakeProcess();
    using life = new Lifecycle(source);
    const running = life.run(untilAborted);
    source.emit(name);
    await expect(running).rejects.toMatchObject({ code: errorCode, exitCode: code });
    expect(source.exits).toEqual([]);
  });

  it('ends at once at the second signal, with the code of that signal', async () => {
    const source = new FakeProcess();
    using life = new Lifecycle(source);
    const running = life.run(untilAborted);
    source.emit('SIGINT');
    source.emit('SIGTERM');
    expect(source.exits).toEqual([143]);
    await expect(running).rejects.toThrow('stopped by Ctrl-C');
  });

  it('keeps the first error, and the later ones beside it', async () => {
    using life = new Lifecycle(new FakeProcess());
    const running = life.run(untilAborted);
    life.fail(new Error('disk on fire'));
    life.fail(new Error('and the log is gone'));
    await expect(running).rejects.toThrow('disk on fire');
    expect(life.later.map(({ message }) => message)).toEqual(['and the log is gone', 'gave up']);
  });

  it('does not call work a success that finished after a signal', async () => {
    const source = new FakeProcess();
    using life = new Lifecycle(source);
    const running = life.run(async () => {
      source.emit('SIGTERM');
      return 'done';
    });
    await expect(running).rejects.toThrow('stopped by SIGTERM');
  });

  it('passes results and errors of the work through', async () => {
    using life = new Lifecycle(new FakeProcess());
    await expect(life.run(async () => 7)).resolves.toBe(7);
    await expect(life.run(async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('passes signals to a new listener, including the one that came before it', async () => {
    const source = new FakeProcess();
    using life = new Lifecycle(source);
    source.emit('SIGTERM');
    expect([life.handOver(), life.reason, source.eventNames()]).toEqual(['SIGTERM', null, []]);
    await expect(life.run(async () => 7)).resolves.toBe(7);
    using quiet = new Lifecycle(source);
    expect(quiet.handOver()).toBeNull();
    using broken = new Lifecycle(source);
    broken.fail(new Error('disk on fire'));
    expect([broken.handOver(), broken.reason]).toEqual([null, new Error('disk on fire')]);
  });

  it('leaves no listener behind', () => {
    const source = new FakeProcess();
    {
      using life = new Lifecycle(source);
      expect(life.signal.aborted).toBe(false);
    }
    expect(source.eventNames()).toEqual([]);
  });
});

describe('exitCodeOf', () => {
  it('knows the code of every Holdfast error and treats any other error as a defect', () => {
    expect(exitCodeOf(new HoldfastError('USAGE', { message: 'x' }))).toBe(64);
    expect(exitCodeOf(new TypeError('x'))).toBe(70);
  });

  it('leaves signals their default effect while work holds the thread, and hears them again after it', async () => {
    const source = new FakeProcess();
    using life = new Lifecycle(source);
    expect(await life.whileBusy(() => source.eventNames())).toEqual([]);
    expect(source.eventNames()).toEqual(['SIGINT', 'SIGTERM']);
    await expect(
      life.whileBusy(() => {
        throw new Error('no such thing');
      }),
    ).rejects.toThrow('no such thing');
    expect(source.eventNames()).toEqual(['SIGINT', 'SIGTERM']);
  });

  it('keeps the signals of a first process, which the kernel would discard', async () => {
    const source = Object.assign(new FakeProcess(), { isFirst: true });
    using life = new Lifecycle(source);
    expect(await life.whileBusy(() => source.eventNames())).toEqual(['SIGINT', 'SIGTERM']);
  });

  it('starts no work that holds the thread after a signal', async () => {
    const source = new FakeProcess();
    using life = new Lifecycle(source);
    const busy = life.whileBusy(() => 'done');
    source.emit('SIGTERM');
    await expect(busy).rejects.toMatchObject({ code: 'TERMINATED' });
  });

  it('does not take back signals that another listener has taken over', async () => {
    const source = new FakeProcess();
    const life = new Lifecycle(source);
    life.handOver();
    await life.whileBusy(() => null);
    expect(source.eventNames()).toEqual([]);
  });
});
