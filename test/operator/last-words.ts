import { renderTerminationMessage, type TerminationMessage } from '../../src/domain/exit/termination-message.ts';

/** What a supervisor leaves after an interruption: by default, its last save was made at once. */
export function lastWords(more: Partial<TerminationMessage>): string {
  return renderTerminationMessage({
    provisional: false,
    run: 'r',
    attempt: 1,
    node: 'node-1',
    atMs: 0,
    cause: 'SIGTERM',
    deadlineMs: null,
    exitCode: 143,
    end: 'interrupted',
    trainer: { code: 0 },
    step: 103,
    lastGoodStep: 103,
    flush: 'made',
    lostMs: 0,
    lostSteps: 0,
    accelerators: 4,
    sentence: '',
    ...more,
  });
}
