import { describe, expect, it } from 'vitest';
import { trainerEnvironment, withResumeArgument } from './environment.ts';

const FACTS = {
  socket: '/s/sdk',
  run: 'r',
  dir: '/run',
  attempt: 3,
  resume: null,
  graceMs: 45_500,
  supervisor: 's',
  sdk: '/holdfast/python',
} as const;

describe('the environment of the trainer', () => {
  it('keeps what was there and adds what the trainer may want to know', () => {
    const env = trainerEnvironment({ PATH: '/bin', HOLDFAST_RESUME_PATH: '/old', HOLDFAST_IGNORED_SIGNALS: '1' }, FACTS);
    expect(env).toMatchObject({ PATH: '/bin', HOLDFAST_SOCKET: '/s/sdk', HOLDFAST_ATTEMPT: '3', TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '46' });
    for (const name of ['RESUME_PATH', 'RESUME_STEP', 'IGNORED_SIGNALS']) expect(env[`HOLDFAST_${name}`]).toBeUndefined();
  });

  it('finds the Python package behind everything that was told before', () => {
    expect(trainerEnvironment({}, FACTS)['PYTHONPATH']).toBe('/holdfast/python');
    expect(trainerEnvironment({ PYTHONPATH: '/mine' }, FACTS)['PYTHONPATH']).toBe('/mine:/holdfast/python');
  });

  it('names the checkpoint to resume from, and respects a time-out of torchrun that was set', () => {
    const env = trainerEnvironment(
      { TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '7' },
      { ...FACTS, resume: { path: '/run/step-5', step: 5, save: 'a' } },
    );
    expect(env).toMatchObject({
      HOLDFAST_RESUME_PATH: '/run/step-5',
      HOLDFAST_RESUME_STEP: '5',
      HOLDFAST_RESUME_SAVE: 'a',
      TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '7',
    });
  });
});

describe('the resume argument', () => {
  it.each([
    ['--resume', '/c', ['train', '--resume', '/c']],
    ['--ckpt={}', '/c', ['train', '--ckpt=/c']],
    ['--resume', null, ['train']],
    [null, '/c', ['train']],
  ])('%s with the checkpoint %s', (argument, path, command) => {
    expect(withResumeArgument(['train'], argument, path)).toEqual(command);
  });
});
