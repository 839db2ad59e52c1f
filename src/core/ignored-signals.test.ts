import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IGNORED_VARIABLE, ignoredSignals, withoutSignals } from './ignored-signals.ts';

describe('the signals that a process was started to ignore', () => {
  it.each([
    ['0000000000000000', []],
    ['0000000000000001', ['SIGHUP']],
    ['0000000000000006', ['SIGINT', 'SIGQUIT']],
    // SIGTERM and SIGPIPE too.
    ['0000000000005007', ['SIGHUP', 'SIGINT', 'SIGQUIT']],
    ['0000000000004000', []],
    ['', []],
    ['SIGHUP', []],
  ])('%j: %j', (mask, names) => {
    expect(ignoredSignals({ [IGNORED_VARIABLE]: mask })).toEqual(names);
  });

  it('are none without the launcher’s mask, and never others than these', () => {
    expect(ignoredSignals({})).toEqual([]);
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => ignoredSignals({ [IGNORED_VARIABLE]: text }).length <= 3));
  });

  it('reach no listener, while other signals do', () => {
    const hub = new EventEmitter();
    const heard: string[] = [];
    const left = withoutSignals(hub, ['SIGHUP']);
    const [onHangup, onTerm] = [() => heard.push('SIGHUP'), () => heard.push('SIGTERM')];
    left.on('SIGHUP', onHangup);
    left.on('SIGTERM', onTerm);
    for (const name of ['SIGHUP', 'SIGTERM']) hub.emit(name);
    left.off('SIGHUP', onHangup);
    left.off('SIGTERM', onTerm);
    expect([heard, hub.listenerCount('SIGHUP'), hub.listenerCount('SIGTERM')]).toEqual([['SIGTERM'], 0, 0]);
  });
});
