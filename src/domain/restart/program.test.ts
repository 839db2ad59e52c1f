import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { otherProgramSentence, programOf } from './program.ts';

describe('what a command line runs', () => {
  it.each<[string, string]>([
    ['python train.py --lr=1', 'train.py'],
    ['python3 -u /srv/a/train.py', '/srv/a/train.py'],
    ['torchrun --nproc-per-node 2 --rdzv-conf=x.py train.py', 'train.py'],
    ['python -m torch.distributed.run --nproc-per-node=2 train.py', 'train.py'],
    ['python -m torch.distributed.run -m pkg.train --config conf.py', 'pkg.train'],
    ['python -m pkg.train --config conf.py', 'pkg.train'],
    ['accelerate launch --num_processes 2 train.py', 'train.py'],
    ['env CONFIG=conf.py python train.py', 'train.py'],
    ['./train', './train'],
    ['/usr/bin/trainer --steps 5', '/usr/bin/trainer'],
    ['', ''],
  ])('%s: %s', (line, program) => {
    expect(programOf(line.split(' '))).toBe(program);
  });

  it('is found in a line for a shell', () => {
    expect(programOf(['sh', '-c', 'cd a && exec python "train.py"; true'])).toBe('train.py');
    expect(programOf(['sh', '-c', 'sleep 1'])).toBe('sh');
  });

  it('is found in any words, or is their first', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (command) => {
        expect(command.join(' ')).toContain(programOf(command));
      }),
    );
  });
});

describe('another program in the folder of a run', () => {
  const told = (now: string, before: string): string | null =>
    otherProgramSentence(now.split(' '), { attempt: 3, command: before.split(' ') }, 40);

  it('is reported, with the way out', () => {
    expect(told('python b.py', 'python a.py --x')).toBe(
      'attempt 3 in this folder ran a.py, but this one runs b.py and resumes from step 40 of that run; give a different run its own folder: --dir=FOLDER',
    );
    expect(told('python /srv/b/train.py', 'python /srv/a/train.py')).toContain('/srv/a/train.py');
    expect(told('python mytrain.py', 'python train.py')).not.toBeNull();
  });

  it.each([
    ['python train.py --lr=1', 'python train.py --lr=2'],
    ['torchrun --nnodes=2 train.py', 'python3.11 -u train.py'],
    ['python ./train.py', 'python /srv/a/train.py'],
    ['/usr/bin/python3', 'python3'],
  ])('is not reported: %s after %s', (now, before) => {
    expect(told(now, before)).toBeNull();
    expect(told(before, now)).toBeNull();
  });

  it('is shown in one line that a terminal can print', () => {
    const sentence = told(`python ${'x'.repeat(5000)}.py`, 'python a\u001b[31m.py') ?? '';
    expect(sentence.length).toBeLessThan(400);
    expect(sentence).not.toContain('\u001b');
  });
});
