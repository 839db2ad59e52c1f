import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { exitOfRefusal, exitOfRun, POD_FAILURE_POLICY, type RunEnd } from './exit-contract.ts';

const END: RunEnd = { saidFinished: false, wasEnded: false, isTerminating: false, peer: null, trainer: { code: 0 }, failure: null };
const PEER = { node: 'node-1', cause: 'sigterm', saidFinished: true } as const;
const CUT_OFF = { ...PEER, saidFinished: false };

describe('the exit code of a run', () => {
  it.each<[string, Partial<RunEnd>, number, string]>([
    ['exits 0 by itself', {}, 0, 'finished'],
    ['says finished and exits 0', { saidFinished: true }, 0, 'finished'],
    [
      'says finished while SIGTERM is pending, and torchrun makes 1 of it',
      { saidFinished: true, isTerminating: true, trainer: { code: 1 } },
      0,
      'finished',
    ],
    ['traps SIGTERM and exits 0', { isTerminating: true }, 143, 'interrupted'],
    ['dies of SIGTERM', { isTerminating: true, trainer: { signal: 'SIGTERM' } }, 143, 'interrupted'],
    ['is killed at the deadline', { isTerminating: true, trainer: { signal: 'SIGKILL' } }, 143, 'interrupted'],
    ['ends with 1 after SIGTERM, as torchrun does', { isTerminating: true, trainer: { code: 1 } }, 143, 'interrupted'],
    ['ends with 1 because another node was told to end', { peer: PEER, trainer: { code: 1 } }, 143, 'interrupted'],
    ['exits 0 after another node was told to end', { peer: PEER }, 143, 'interrupted'],
    ['says finished and fails while another node ends', { saidFinished: true, peer: PEER, trainer: { code: 1 } }, 0, 'finished'],
    ['says finished while another node is cut off before it', { saidFinished: true, peer: CUT_OFF }, 143, 'interrupted'],
    ['is replaced while another node ends', { peer: PEER, trainer: { signal: 'SIGTERM' }, failure: 5 }, 5, 'refused'],
    ['was not even started when SIGTERM came', { isTerminating: true, trainer: null }, 143, 'interrupted'],
    ['fails with its own code', { trainer: { code: 7 } }, 7, 'failed'],
    ['says finished and then fails unasked', { saidFinished: true, trainer: { code: 7 } }, 7, 'failed'],
    ['says finished and is then killed unasked', { saidFinished: true, trainer: { signal: 'SIGKILL' } }, 137, 'killed'],
    ['says finished, hangs and is ended for it', { saidFinished: true, wasEnded: true, trainer: { signal: 'SIGKILL' } }, 0, 'finished'],
    ['runs out of memory', { trainer: { signal: 'SIGKILL' } }, 137, 'killed'],
    ['crashes', { trainer: { signal: 'SIGSEGV' } }, 139, 'killed'],
    ['dies of a real-time signal', { trainer: { signal: 'SIG40' } }, 168, 'killed'],
    ['dies of a SIGTERM that was not ours', { trainer: { signal: 'SIGTERM' } }, 143, 'killed'],
    ['does not exist', { trainer: null, failure: 127 }, 127, 'refused'],
    ['fails after a newer attempt has taken over', { trainer: { code: 1 }, failure: 5 }, 5, 'refused'],
    ['says finished after a newer attempt has taken over', { saidFinished: true, failure: 5 }, 5, 'refused'],
    ['is ended because a newer attempt has taken over', { trainer: { signal: 'SIGTERM' }, failure: 5 }, 5, 'refused'],
  ])('when the trainer %s', (_, end, code, kind) => {
    expect(exitOfRun({ ...END, ...end })).toMatchObject({ code, kind });
  });

  it('reports the real code beside 143', () => {
    expect(exitOfRun({ ...END, isTerminating: true }).sentence).toBe('interrupted, resumable; the trainer’s own exit code was 0');
  });

  const trainer = fc.option(
    fc.oneof(
      fc.record({ code: fc.nat(255) }),
      fc.record({ signal: fc.constantFrom<NodeJS.Signals>('SIGTERM', 'SIGKILL', 'SIGSEGV', 'SIGABRT') }),
    ),
  );

  it('is 0 only for a finished run, and 143 for any other end after a notice', () => {
    fc.assert(
      fc.property(
        fc.record({ saidFinished: fc.boolean(), wasEnded: fc.boolean(), isTerminating: fc.boolean() }),
        trainer,
        fc.option(fc.constantFrom(5, 64, 70, 73, 127)),
        fc.constantFrom(null, PEER),
        (said, how, failure, peer) => {
          const { saidFinished, isTerminating } = said;
          const { code, kind } = exitOfRun({ ...said, peer, trainer: how, failure });
          expect(code === 0).toBe(kind === 'finished');
          if (isTerminating) expect(code).toBe(saidFinished && failure !== 5 ? 0 : 143);
          if (code === 0 && !saidFinished) expect([isTerminating, peer, how]).toEqual([false, null, { code: 0 }]);
        },
      ),
    );
  });

  it.each([
    ['none of its checkpoints is good', 'NO_LAST_GOOD', 65],
    ['the copies are of another run', 'REMOTE_CONFLICT', 65],
    ['the copies cannot be understood, or what lies on the way to them answers in their place', 'REMOTE_INVALID', 75],
    ['the clock is wrong on this node', 'CLOCK_SKEWED', 75],
    ['the store cannot be reached', 'REMOTE_UNAVAILABLE', 75],
    ['the command line is wrong', 'USAGE', 64],
    ['a newer attempt has taken over', 'ATTEMPT_FENCED', 5],
  ] as const)('when no trainer is started because %s', (_, error, code) => {
    expect(exitOfRefusal(new HoldfastError(error, { message: '' }))).toBe(code);
  });

  it('never equals the code of a Python exception for an error of Holdfast, and fails a Job when no retry can help', () => {
    const refusals = Object.keys(ERROR_CODES).map((code) => exitOfRefusal(new HoldfastError(code as ErrorCode, { message: '' })));
    expect(refusals).not.toContain(1);
    expect(POD_FAILURE_POLICY).toContain('[64, 65, 126, 127]');
  });

  it('is matched by rules in which a disruption comes first', () => {
    expect(POD_FAILURE_POLICY.indexOf('DisruptionTarget')).toBeLessThan(POD_FAILURE_POLICY.indexOf('onExitCodes'));
  });
});
