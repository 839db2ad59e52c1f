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
  it('keeps the existing variables and adds the facts of the run', () => {
    const env = trainerEnvironment({ PATH: '/bin', HOLDFAST_RESUME_PATH: '/old', HOLDFAST_IGNORED_SIGNALS: '1' }, FACTS);
    expect(env).toMatchObject({ PATH: '/bin', HOLDFAST_SOCKET: '/s/sdk', HOLDFAST_ATTEMPT: '3', TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '46' });
    for (const name of ['RESUME_PATH', 'RESUME_STEP', 'IGNORED_SIGNALS']) expect(env[`HOLDFAST_${name}`]).toBeUndefined();
  });

  it('puts the Python package at the end of PYTHONPATH', () => {
    expect(trainerEnvironment({}, FACTS)['PYTHONPATH']).toBe('/holdfast/python');
    expect(trainerEnvironment({ PYTHONPATH: '/mine' }, FACTS)['PYTHONPATH']).toBe('/mine:/holdfast/python');
  });

  it('names the checkpoint to resume from, and keeps a torchrun timeout that was set', () => {
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
